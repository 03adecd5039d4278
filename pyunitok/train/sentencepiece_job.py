"""The trainers of SentencePiece models: options, files and statistics.

Byte-level models have different formats: see byte_level.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyunitok.errors import OptionError
from pyunitok.model.tokenizer import Tokenizer, from_vocabulary
from pyunitok.train import byte_level, modelfile, normalization, options, pattern_bpe
from pyunitok.train.options import Option
from pyunitok.train.sentencepiece import SentencePieceJob
from pyunitok.train.sources import TextSource
from pyunitok.train.specs import MODEL_TYPES, Specs
from pyunitok.train.trained import Rows, Trained
from pyunitok.train.trainer import Trainer, Training
from pyunitok.train.unigram import UnigramOptions
from pyunitok.vocab import sentencepiece
from pyunitok.vocab.vocabulary import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED

TYPES = {
    NORMAL: "learned", UNKNOWN: "unknown", CONTROL: "control", USER_DEFINED: "user-defined", UNUSED: "unused",
    BYTE: "byte",
}  # fmt: skip


def _yes_no(name: str, default: str, help: str, section: str) -> Option:
    return Option(name, f"{help} Default: {default}.", bool, section=section, is_pair=True)


OPTIONS = [
    Option("compat", "Produce exactly the same model as sentencepiece 0.2.3.", ("sentencepiece",)),
    Option("normalization_rule_name", "nmt_nfkc (the default), nfkc, *_cf or identity.", section="Text"),
    Option("normalization_rule_tsv", "A file of normalization rules instead.", section="Text"),
    _yes_no("add_dummy_prefix", "yes", "Put a space before each text.", "Text"),
    _yes_no("remove_extra_whitespaces", "yes", "Collapse consecutive spaces into one.", "Text"),
    Option("max_sentence_length", "Skip lines with more bytes. Default: no limit.", int, section="Text"),
    Option("input_sentence_size", "Train on a sample of this many lines.", int, section="Text"),
    Option("seed", "Seed of the sample.", int, 0, "Text"),
    Option("character_coverage", "Share of the characters to keep. Default: 0.9995.", float, section="Characters"),
    Option("auto_character_coverage", "Choose the characters automatically (BPE, or --prune sparse).", bool,
           section="Characters"),
    Option("required_chars", "Characters that always become pieces.", section="Characters"),
    Option("initial_alphabet", "Same as --required-chars.", section="Characters"),
    _yes_no("byte_fallback", "no", "Encode unknown characters as their bytes.", "Characters"),
    Option(
        "byte_level", "The symbols are the 256 bytes, as in GPT-2; texts are not normalized. NAME is .json (Hugging"
        " Face's tokenizer.json) or .utk (native).", bool, False, "Characters",
    ),
    Option("split_by", "none: pieces may contain several words.", ("space", "none"), "space", "Pieces"),
    _yes_no("split_by_unicode_script", "yes", "Pieces do not cross scripts.", "Pieces"),
    _yes_no("split_by_number", "yes", "Treat digits as a separate script.", "Pieces"),
    _yes_no("split_digits", "no", "Make every digit a separate piece.", "Pieces"),
    _yes_no("treat_whitespace_as_suffix", "no", "A space ends a word instead of beginning one.", "Pieces"),
    _yes_no("allow_whitespace_only_pieces", "no", "Allow pieces of several spaces.", "Pieces"),
    Option("pretokenization_delimiter", "No piece crosses this string.", section="Pieces"),
    Option("max_sentencepiece_length", "Maximum characters in a piece. Default: 16.", int, section="Pieces"),
    Option("min_frequency", "Leave out words with a lower count.", int, 1, "Pieces"),
    Option("user_defined_symbols", "Pieces that are matched before all others: a,b,c.", section="Pieces"),
    Option("control_symbols", "Pieces that encoding never produces from text: a,b,c.", section="Pieces"),
    _yes_no("hard_vocab_limit", "no", "Fail if the text yields fewer pieces.", "Pieces"),
]  # fmt: skip
_FOR_SUBWORDS = {  # no effect on models of words and characters
    "auto_character_coverage", "byte_level", "split_by", "split_by_unicode_script", "split_by_number", "split_digits",
    "pretokenization_delimiter", "max_sentencepiece_length",
}  # fmt: skip
WORDS = [item._replace(is_hidden=item.name in _FOR_SUBWORDS) for item in OPTIONS]
OWN = [
    item._replace(default=None, section="Unigram", help=f"{item.help} Default: {item.default}.")
    for item in options.options_of(UnigramOptions)
]
BPE = [*OPTIONS, *pattern_bpe.OPTIONS]
UNIGRAM = [
    *OPTIONS, *OWN,
    Option("shrinking_factor", "Share of the pieces that a round keeps. Default: 0.75.", float, section="Unigram"),
    Option("seed_sentencepiece_size", "Number of initial candidate pieces. Default: 1000000.", int, section="Unigram"),
]  # fmt: skip


def _files(out: Path, sizes: tuple[int, ...], given: Mapping[str, Any]) -> list[Path]:
    is_single = given.get("byte_level") or given.get("pattern") is not None
    return [out] if is_single else [out, out.with_suffix(".vocab")]


def _run(kind: str, training: Training, given: dict[str, Any]) -> Trained:
    if pattern_bpe.is_wanted(any(item.has_merges for item in MODEL_TYPES if item.name == kind), given):
        chosen = pattern_bpe.read(given, BPE, training.sizes[0])
        return pattern_bpe.run(training, chosen, given.get("to"))
    to = given.pop("to", None)
    job = _job(kind, training, **given)
    if to is not None and not job.byte_level:
        raise OptionError("to= (--to) requires byte_level: all other models are SentencePiece files")
    source = training.source(hold=not job.compat)
    if job.byte_level:
        return _train_byte_level(job, source, training, to)
    proto = job.run(source)
    data: bytes = proto.SerializeToString()
    if training.out is None:
        tokenizer = _tokenizer(data)
    else:
        vocabulary = modelfile.vocabulary_text(proto)
        tokenizer = training.write({training.out.with_suffix(".vocab"): vocabulary, training.out: data})
    normalizer = normalization.normalizer(job.specs)
    learned = [piece.piece for piece in proto.pieces if piece.type in (NORMAL, USER_DEFINED)]
    of_type = Counter(piece.type for piece in proto.pieces)
    types = {name: of_type[number] for number, name in TYPES.items()}
    return training.trained(
        tokenizer, learned, types, _notes(job), job.sizes, job.stats.n_bytes, source, proto=proto, job=job,
        normalize=normalizer.normalize, n_merges=sum(map(_is_merge, proto.pieces)),
        first_merges=partial(_first_merges, proto) if job.specs.kind.has_merges else None,
    )  # fmt: skip


def _train_byte_level(job: SentencePieceJob, source: TextSource, training: Training, to: str | None) -> Trained:
    if training.out is not None:
        byte_level.format_of(training.out, to)  # raises an error before training starts
    vocabulary = job.run_byte_level(source)
    tokenizer = byte_level.save(vocabulary, training, to)
    n_control = len(byte_level.controls(job.specs))
    learned = vocabulary.pieces[n_control + 256 :]
    types = {"learned": len(learned), "byte": 256, "control": n_control}
    first_merges = partial(byte_level.first_merges, vocabulary, n_control) if job.specs.kind.has_merges else None
    return training.trained(
        tokenizer, learned, types, _notes(job), job.sizes, job.stats.n_bytes, source, job=job, n_merges=len(learned),
        first_merges=first_merges,
    )  # fmt: skip


def _job(
    kind: str, training: Training, *, compat: str | None = None, min_frequency: int = 1, initial_alphabet: str = "",
    split_by: str = "space", seed: int = 0, byte_level: bool = False, **given: Any,
) -> SentencePieceJob:  # fmt: skip
    options.check(UNIGRAM, {"compat": compat, "split_by": split_by, **given})
    if byte_level and compat:
        raise OptionError("byte_level cannot be combined with compat: sentencepiece has no such models")
    own = {item.name: given.pop(item.name) for item in OWN if item.name in given}
    threads = training.reading.options.n_threads
    specs = Specs.parse({"num_threads": threads, **given, "model_type": kind, "vocab_size": training.sizes[0]})
    if own and (compat is not None or not specs.kind.has_scores):
        raise OptionError(f"{min(own)} is only for unigram models without compat")
    if split_by == "none":
        specs.trainer.split_by_whitespace = False
    if initial_alphabet:
        specs.trainer.required_chars += initial_alphabet.encode()
    own.setdefault("em_iterations", specs.trainer.num_sub_iterations)
    return SentencePieceJob(
        specs, compat=compat is not None, seed=seed, max_memory=training.max_memory, min_frequency=min_frequency,
        own=UnigramOptions(**own, shrinking_factor=specs.trainer.shrinking_factor, threads=threads),
        byte_level=byte_level, checkpoint=training.checkpoint, progress=training.clock,
    )  # fmt: skip


def _notes(job: SentencePieceJob) -> Rows:
    """The size of the text, and what was left out."""
    stats = job.stats
    ret = [("text", f"{stats.n_bytes:,} bytes, {stats.n_lines:,} lines")]
    if stats.n_too_long:
        ret.append(("too long", f"{stats.n_too_long:,} lines with {stats.n_too_long_bytes:,} bytes were left out"))
    if stats.n_reserved:
        ret.append(("reserved", f"{stats.n_reserved:,} lines contain U+2585 and were left out"))
    if job.left_out[0]:
        units, n, least = job.left_out
        rare = f"{units:,} words seen fewer than {least} times ({n:,} in total)"
        ret.append(("rare", f"{rare} were left out to stay within --max-memory"))
    return ret


def _is_merge(piece: Any) -> bool:
    return piece.type == NORMAL and len(piece.piece.decode()) > 1


def _first_merges(proto: Any, n_merges: int) -> Tokenizer:
    """The BPE model after its first n_merges merges."""
    smaller = type(proto)()
    smaller.CopyFrom(proto)
    later = [k for k, piece in enumerate(proto.pieces) if _is_merge(piece)][n_merges:]
    for k in reversed(later):
        del smaller.pieces[k]
    return _tokenizer(smaller.SerializeToString())


def _tokenizer(data: bytes) -> Tokenizer:
    return from_vocabulary(sentencepiece.read_vocabulary(data, "trained"))


def _trainer(name: str, help: str, options: list[Option]) -> Trainer:
    return Trainer(
        name, help, options, partial(_run, name), _files, out_help="The model; NAME.vocab is written next to it.",
        takes_settings=True,
    )  # fmt: skip


TRAINERS = [
    _trainer("unigram", """Train a Unigram model (SentencePiece).

    \b
    Example:
      pyunitok train unigram corpus.jsonl.zst -o en.model --vocab-size 32000
      pyunitok train unigram wiki/ -o wiki.model --vocab-size 64000 --objective tokens --split-by none
    """, UNIGRAM),
    _trainer("bpe", """Train BPE: SentencePiece, or byte-level with --byte-level or --pattern.

    \b
    Example:
      pyunitok train bpe books/ -o books.model --vocab-size 16000 --byte-fallback
      pyunitok train bpe books/ -o books.json --vocab-size 50000 --pattern gpt2 --special-tokens "<|endoftext|>,<|pad|>"
    """, BPE),
    _trainer("word", """Train a word model (SentencePiece).

    \b
    Example:
      pyunitok train word corpus.txt -o words.model --vocab-size 50000
    """, WORDS),
    _trainer("char", """Train a character model (SentencePiece).

    \b
    Example:
      pyunitok train char corpus.txt -o chars.model --vocab-size 5000
    """, WORDS),
]  # fmt: skip
