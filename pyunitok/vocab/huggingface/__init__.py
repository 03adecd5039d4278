"""Reads and writes tokenizer.json. C encodes texts if its ids are provably equal to those of Hugging Face `tokenizers`;
otherwise, `tokenizers` encodes the texts.

    text ─▶ split at added tokens ─▶ C ─▶ ids     byte_rules.py: byte-level models, with any pattern
                                                  direct.py: spaces become U+2581
    text ─▶ tokenizers ─▶ ids                     delegate.py: every other file; requires the `huggingface` extra

file.py and byte_file.py read a tokenizer.json, and writer.py writes one. rules.py chooses between the three paths.
About.prepare stores the settings that these paths need in addition to the C model.
"""
