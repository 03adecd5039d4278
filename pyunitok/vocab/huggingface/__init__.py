"""tokenizer.json: C encodes text if its ids are provably those of Hugging Face `tokenizers`; else `tokenizers` is used.

    text ─▶ split at added tokens ─▶ C ─▶ ids     direct.py: spaces become U+2581, or the symbols are bytes
    text ─▶ tokenizers ─▶ ids                     delegate.py: every other file; requires the extra `huggingface`

file.py reads a tokenizer.json and chooses between them; writer.py writes one. About.prepare stores the settings that
direct.py needs in addition to the C model.
"""
