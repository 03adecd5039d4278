"""tokenizer.json: C encodes texts if it provably gives the ids of Hugging Face `tokenizers`, else that library does.

    text ─▶ split at added tokens ─▶ C ─▶ ids     direct.py: spaces become U+2581, or the symbols are bytes
    text ─▶ tokenizers ─▶ ids                     delegate.py: every other file; requires the extra `huggingface`

file.py reads a tokenizer.json and chooses between them; writer.py writes one. About.prepare stores the settings that
direct.py needs in addition to the C model.
"""
