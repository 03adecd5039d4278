"""Lists sets of spm_train's options, and trains models with them in sentencepiece and in this package."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyunitok.errors import TrainingError
from pyunitok.train import lines
from pyunitok.train.sentencepiece import SentencePieceJob
from pyunitok.train.sources import SuppliedBatches
from pyunitok.train.specs import Specs
from pyunitok.vocab import sentencepiece_proto

# Every option that changes the trained model, and some combinations.
SETS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "coverage": {"character_coverage": 0.98},
    "no scripts": {"character_coverage": 1.0, "split_by_unicode_script": False},
    "numbers join": {"split_by_number": False},
    "digits": {"split_digits": True},
    "symbols": {"user_defined_symbols": ["<a>", "the", "<b>"], "control_symbols": ["<c>", "<d>"]},
    "bytes": {"byte_fallback": True},
    "suffix": {"treat_whitespace_as_suffix": True},
    "no prefix": {"add_dummy_prefix": False},
    "identity": {"normalization_rule_name": "identity"},
    "case folded": {"normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": False},
    "crossing spaces": {"split_by_whitespace": False},
    "spaces only": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    "spaces only, suffix": {
        "treat_whitespace_as_suffix": True, "allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False,
    },
    "short pieces": {"max_sentencepiece_length": 4},
    "required": {"required_chars": "éü漢xyz☃"},
    "short lines": {"max_sentence_length": 300},
    "special ids": {"unk_id": 3, "bos_id": 0, "eos_id": 1, "pad_id": 2, "unk_piece": "[UNK]"},
    "no bos": {"bos_id": -1, "eos_id": -1},
    "delimiter": {"pretokenization_delimiter": "e"},
    "more than there is": {"hard_vocab_limit": False, "vocab_size": 30000},
    "crossing, suffix": {"split_by_whitespace": False, "treat_whitespace_as_suffix": True},
    "symbols of spaces": {"user_defined_symbols": ["<s>", " ", "\t", "."], "max_sentencepiece_length": 30},
    "first lines": {"input_sentence_size": 1500, "shuffle_input_sentence": False},
    "everything joins": {"split_digits": False, "split_by_unicode_script": False, "split_by_number": False},
    "few seeds": {"seed_sentencepiece_size": 20000},
    "fewer rounds": {"shrinking_factor": 0.6, "num_sub_iterations": 3},
    "long pieces": {"split_by_whitespace": False, "max_sentencepiece_length": 40},
}  # fmt: skip
# Only for BPE.
AUTOMATIC = {"byte_fallback": True, "auto_character_coverage": True}


def reference(options: Mapping[str, Any], **source: Any) -> Any:
    """The model that sentencepiece trains with one thread, or its error message."""
    import sentencepiece

    out = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            model_writer=out, minloglevel=2, **{"num_threads": 1, **options}, **source
        )
    except (RuntimeError, ValueError) as error:
        return str(error)
    return sentencepiece_proto.message("ModelProto").FromString(out.getvalue())


def trained(options: Mapping[str, Any], source: Path | Sequence[str], **more: Any) -> Any:
    """The model that this package trains in its compatible mode."""
    given = {"num_threads": 1, **options}
    if isinstance(source, Path):
        specs = Specs.parse({**given, "input": [str(source)]})
        return SentencePieceJob(specs, **more).run(SuppliedBatches(lines.from_files(specs.trainer.input), whole=False))
    return SentencePieceJob(Specs.parse(given), **more).run(SuppliedBatches(lines.from_iterator(source), whole=True))


def check_same(options: Mapping[str, Any], corpus: Sequence[str], *, may_fail: bool = False, **more: Any) -> None:
    """Assert that both train the same model or, with may_fail, that both reject the options."""
    expected = reference(options, sentence_iterator=iter(corpus), **more)
    if may_fail and isinstance(expected, str):
        with pytest.raises(TrainingError):
            trained(options, corpus, **more)
    else:
        assert trained(options, corpus, **more).SerializeToString() == expected.SerializeToString()


def pieces(proto: Any) -> list[tuple[bytes, float, int]]:
    return [(piece.piece, piece.score, piece.type) for piece in proto.pieces]
