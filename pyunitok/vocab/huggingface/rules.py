"""Chooses the rules for a tokenizer.json: rules that use C if the ids are exact, otherwise DelegatedRules."""

from __future__ import annotations

from pyunitok._c import model as c_model
from pyunitok.errors import VocabularyError
from pyunitok.vocab.huggingface import pre_tokenizers
from pyunitok.vocab.huggingface.byte_rules import ByteRules
from pyunitok.vocab.huggingface.delegate import FORMAT as DELEGATED
from pyunitok.vocab.huggingface.delegate import DelegatedRules, delegated
from pyunitok.vocab.huggingface.direct import DirectRules
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.scratch import TextRules
from pyunitok.vocab.vocabulary import About

FORMAT = "huggingface 1"


def rules_of(about: About, model: c_model.Model) -> TextRules:
    """The rules in About.prepare. Raises VocabularyError if they are damaged, or if `tokenizers` is required but not
    installed."""
    document = Fields(about.prepare, f"{about.name}: ")
    if document.values.get("format") == DELEGATED:
        why = document.string("reason", "its tokenizer.json requires `tokenizers`")
        reason = f"{about.name}: {why}"
        return DelegatedRules(document.string("json").encode(), about.name, reason, model.dtype)
    if document.values.get("format") != FORMAT:
        document.refuse("not supported by this release", "format")
    try:
        return (ByteRules if pre_tokenizers.is_byte_level(document) else DirectRules)(document, model, about)
    except VocabularyError as reason:
        ret = delegated(model, about, str(reason))
        for token in document.children("added_tokens") if document.has("added_tokens") else ():
            if ret.library.token_to_id(token.string("content")) != token.integer("id"):
                raise
        return ret
