"""What a text goes through before the C side sees it, for models of Hugging Face: exactly what tokenizers does.

    text ─▶ added tokens ─▶ normalizer ─▶ added tokens ─▶ pre-tokenizer ─▶ pieces ─▶ C ─▶ ids
            found in the     normalizers    found in the    pretokenizers
            text itself      charsmap       normalized      splits
            (added)          patterns       text (added)

preparation.py puts it together; shortcut.py says for which texts the C side alone does all of it. Everything is made
from the parts of a tokenizer.json, as JSON (`About.prepare`), by readers that refuse what they do not support
(fields.py).
"""
