"""tokenizer.json: encoded by C where C provably gives the ids of Hugging Face `tokenizers`, else by that library.

    text ─▶ added tokens cut out ─▶ C ─▶ ids      direct.py: spaces become U+2581, or the symbols are bytes
    text ─▶ tokenizers ─▶ ids                     delegate.py: every other file; needs the extra `huggingface`

file.py reads a tokenizer.json and decides; writer.py writes one. What direct.py needs to know besides the C model is
kept as JSON in About.prepare.
"""
