"""rules_of() returns the object that encodes and decodes texts for a model whose About.prepare contains "format"."""

from __future__ import annotations

from pyunitok._c import model as c_model
from pyunitok.vocab import ranks
from pyunitok.vocab.huggingface import rules as huggingface_rules
from pyunitok.vocab.huggingface.scratch import TextRules
from pyunitok.vocab.vocabulary import About


def rules_of(about: About, model: c_model.Model) -> TextRules:
    """The rules for a model. Raises VocabularyError if its settings are damaged, or require a package that is not
    installed."""
    return ranks.RankRules(about, model) if ranks.is_ranks(about) else huggingface_rules.rules_of(about, model)
