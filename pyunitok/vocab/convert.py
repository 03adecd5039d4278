"""Converts a vocabulary to another format. Errors say what the target format cannot represent.

    from            to native   sentencepiece             bytepiece               rwkv
    native          copied      SentencePiece kinds       BytePiece models        greedy longest prefix
    sentencepiece   yes         copied                    -                       -
    bytepiece       yes         lossy: see NOTES          yes                     -
    rwkv            yes         -                         -                       text form

The target huggingface accepts a tokenizer.json (copied), native files made from a tokenizer.json, and byte-level
models. The targets tiktoken and vocab-merges (a folder) accept byte-level BPE (byte_convert.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c import library
from pyunitok._c.kinds import KINDS
from pyunitok.disk.outfile import check_target, make_folder, write_whole
from pyunitok.errors import OutputError, VocabularyError
from pyunitok.vocab import (
    byte_convert,
    byte_level,
    bytepiece,
    known,
    native,
    open_model,
    rwkv,
    sentencepiece,
    sentencepiece_proto,
    tiktoken,
)
from pyunitok.vocab.huggingface import file, writer
from pyunitok.vocab.patterns import ReadOptions
from pyunitok.vocab.vocabulary import BYTE, CONTROL, UNKNOWN, UNUSED, Vocabulary

# Differences between a BytePiece model and its conversion that no SentencePiece model can avoid.
NOTES = (
    "texts must already be in Unicode form NFC: the SentencePiece model does not normalize them",
    "SentencePiece sums scores in float32 over the entire text, BytePiece in float64, restarting at newlines: if two"
    " segmentations have nearly or exactly equal scores, SentencePiece may choose the other one",
    "invalid UTF-8 becomes U+FFFD",
)


class ModelWriter(NamedTuple):
    """Functions that write a format.

    write       returns the bytes of the file or, for a folder, {file name: bytes}; VocabularyError if the format
                cannot represent the vocabulary
    notes       returns notes on what the conversion loses
    recognises  returns whether a file already has this format; such a file is copied
    """

    write: Callable[[Vocabulary], bytes | dict[str, bytes]]
    notes: Callable[[Vocabulary], Sequence[str]] = lambda vocabulary: ()
    recognises: Callable[[bytes], bool] = lambda data: False


_SENTENCEPIECE_FLAGS = (
    "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix", "byte_fallback",
    "merge_unknown",
)  # fmt: skip
_SPACE = "\u2581"


def convert(
    source: str | os.PathLike[str], target: str | os.PathLike[str], to: str, *, overwrite: bool = False,
    pattern: str | None = None,
) -> list[str]:  # fmt: skip
    """Write the model file `source` as `target`, in one of FORMATS; returns notes on what the conversion loses.

    source     a model file or a folder that contains one, or "unitok-v1" or "rwkv-world"
    target     a file; a folder for vocab-merges
    overwrite  replace existing files, but never the source
    pattern    as in Tokenizer.from_file

    Raises ModelFormatError if the source does not exist; VocabularyError if the format cannot represent the vocabulary;
    OutputError if the target cannot be written. The target appears only when complete.
    """
    if to not in FORMATS:
        raise ValueError(f"the format must be one of {', '.join(FORMATS)}, not {to!r}")
    path = known.locate(source)
    if to not in FOLDERS:
        check_target(Path(target), overwrite=overwrite)
    if Path(target).exists() and path.samefile(target):
        raise OutputError(f"{os.fspath(target)} is also the source; name another file")
    model, about = open_model(path, options=ReadOptions(pattern))
    if to == "native":
        native.save(target, model, replace(about, name=os.fspath(source)) if source in known.NAMES else about)
        return []
    data = path.read_bytes() if path.is_file() else b""
    if WRITERS[to].recognises(data):  # copy the file, because it may contain more than the model
        write(target, data)
        return []
    vocabulary = Vocabulary.of(model, about)
    written = WRITERS[to].write(vocabulary)
    if isinstance(written, dict):
        _write_folder(Path(target), written, overwrite=overwrite)
    else:
        write(target, written)
    return list(WRITERS[to].notes(vocabulary))


def write(target: str | os.PathLike[str], data: bytes) -> None:
    path = Path(target)
    check_target(path, overwrite=True)
    write_whole(path, data)


def _write_folder(folder: Path, files: dict[str, bytes], *, overwrite: bool) -> None:
    """Write files into a folder, which is created if necessary. All targets are checked before any is written."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder")
    for name in files:
        check_target(folder / name, overwrite=overwrite)
    make_folder(folder, parents=True)
    for name, data in files.items():
        write_whole(folder / name, data)


def huggingface_json(vocabulary: Vocabulary) -> bytes:
    """The contents of a tokenizer.json. Raises VocabularyError if the model is not byte-level and was not read from a
    tokenizer.json."""
    if byte_convert.has_ranks(vocabulary):
        return byte_convert.huggingface_json(vocabulary)
    if not byte_level.is_byte_level(vocabulary) and not (vocabulary.prepare or {}).get("format"):
        raise VocabularyError(
            f"cannot convert {vocabulary.name} to a tokenizer.json: the model must be byte-level; train one with"
            " `pyunitok train --byte-level`"
        )
    return writer.write(vocabulary)


# ----------------------------------------------------------------------------------- as a SentencePiece model ----


def _sentencepiece(vocabulary: Vocabulary) -> bytes:
    is_bytepiece = bytepiece.is_bytepiece(vocabulary)
    proto = sentencepiece_from_bytepiece(vocabulary) if is_bytepiece else sentencepiece_of(vocabulary)
    data: bytes = proto.SerializeToString()
    return data


def sentencepiece_of(vocabulary: Vocabulary) -> Any:
    """The ModelProto of a model that encodes as SentencePiece does, built from the contents of the model."""
    name = f"cannot convert {vocabulary.name} to a SentencePiece model"
    _check_sentencepiece(vocabulary, name)
    order = np.argsort(vocabulary.ids)
    if not np.array_equal(vocabulary.ids[order], np.arange(len(order))):
        raise VocabularyError(f"{name}: the ids must be 0, 1, 2, … without gaps")
    assert vocabulary.scores is not None
    assert vocabulary.types is not None
    scores = vocabulary.scores[order]
    if not np.array_equal(scores.astype(np.float32).astype(np.float64), scores):
        raise VocabularyError(f"{name}: float32 cannot represent the scores exactly")
    unordered = vocabulary.pieces
    pieces = [unordered[k] for k in order.tolist()]
    proto = sentencepiece_proto.message("ModelProto")()
    for piece, score, type_ in zip(pieces, scores.tolist(), vocabulary.types[order].tolist(), strict=True):
        proto.pieces.add(piece=piece, score=score, type=type_)
    trainer = proto.trainer_spec
    trainer.model_type, trainer.vocab_size = KINDS[vocabulary.kind].model_type, len(pieces)
    trainer.byte_fallback = _has(vocabulary.flags, "byte_fallback")
    trainer.treat_whitespace_as_suffix = _has(vocabulary.flags, "whitespace_as_suffix")
    trainer.unk_surface = vocabulary.unknown_surface
    for role, usual in (("unk", b"<unk>"), ("bos", b"<s>"), ("eos", b"</s>"), ("pad", b"<pad>")):
        id_ = vocabulary.special.get(role, -1)
        setattr(trainer, f"{role}_id", id_)
        setattr(trainer, f"{role}_piece", pieces[id_] if id_ >= 0 else _unused_name(usual, pieces))
    _fill_normalizer(proto.normalizer_spec, vocabulary.charsmap, vocabulary.flags)
    if vocabulary.denormalization:
        _fill_normalizer(proto.denormalizer_spec, *vocabulary.denormalization)
    return proto


def _check_sentencepiece(vocabulary: Vocabulary, name: str) -> None:
    if not KINDS[vocabulary.kind].model_type:
        raise VocabularyError(f"{name}: SentencePiece cannot encode by greedy longest prefix")
    for flag in library.MODEL_FLAGS:
        if flag not in _SENTENCEPIECE_FLAGS and _has(vocabulary.flags, flag):
            raise VocabularyError(f"{name}: SentencePiece has no equivalent of {flag}")
    if not _has(vocabulary.flags, "merge_unknown"):
        raise VocabularyError(f"{name}: SentencePiece always merges adjacent unknown characters into one id")
    if vocabulary.prepare:
        raise VocabularyError(f"{name}: SentencePiece has no equivalent of the rules of a tokenizer.json")


def _has(flags: int, name: str) -> bool:
    return bool(flags & library.MODEL_FLAGS[name])


def _unused_name(usual: bytes, pieces: list[bytes]) -> bytes:
    """A name that no piece has, for a role without a piece. If the role had no name, sentencepiece would use `usual`,
    which may be an ordinary piece."""
    name = usual
    while name in pieces:
        name = b"no " + name
    return name


def _fill_normalizer(spec: Any, charsmap: bytes, flags: int) -> None:
    spec.name = b"user_defined" if charsmap else b"identity"
    spec.precompiled_charsmap = charsmap
    for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
        setattr(spec, flag, _has(flags, flag))


def sentencepiece_from_bytepiece(vocabulary: Vocabulary) -> Any:
    """The ModelProto that bytepiece's convert_to_sentencepiece writes, byte for byte; NOTES lists the differences.

    SentencePiece needs byte pieces for printable ASCII too; they follow the last id. All other ids are unchanged.
    """
    name = f"cannot convert {vocabulary.name} to a SentencePiece model"
    assert vocabulary.scores is not None
    assert vocabulary.types is not None
    by_id = dict(zip(vocabulary.ids.tolist(), range(len(vocabulary.ids)), strict=True))
    if sorted(by_id) != list(range(len(by_id))):
        raise VocabularyError(f"{name}: the ids must be 3, 4, 5, … without gaps")
    proto = sentencepiece_proto.message("ModelProto")()
    for piece, type_ in ((b"<unk>", UNKNOWN), (b"<s>", CONTROL), (b"</s>", CONTROL)):
        proto.pieces.add(piece=piece, score=0, type=type_)
    pieces, more = vocabulary.pieces, []
    for id_ in range(len(bytepiece.SPECIAL_PIECES), len(by_id)):
        k = by_id[id_]
        piece, score = pieces[k], vocabulary.scores[k]
        byte_piece = b"<0x%02X>" % piece[0]
        if len(piece) == 1 and len(repr(piece)) != 4:  # not printable ASCII, or a backslash
            proto.pieces.add(piece=byte_piece, score=score, type=BYTE)
            continue
        if len(piece) == 1:
            more.append(byte_piece)
        text = _escaped(piece, id_, name)
        if vocabulary.types[k] == UNUSED:
            proto.pieces.add(piece=text, score=0, type=UNUSED)
        else:
            proto.pieces.add(piece=text, score=score)
    for byte_piece in more:
        proto.pieces.add(piece=byte_piece, score=-100, type=BYTE)
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    trainer.model_type, trainer.vocab_size = KINDS[vocabulary.kind].model_type, len(proto.pieces)
    trainer.split_by_unicode_script, trainer.byte_fallback = False, True
    normalizer.name, normalizer.precompiled_charsmap = b"identity", b""
    normalizer.add_dummy_prefix = normalizer.remove_extra_whitespaces = False
    sentencepiece.read(proto.SerializeToString(), name)  # rejects pieces that differ only in space and U+2581
    return proto


def _escaped(piece: bytes, id_: int, name: str) -> bytes:
    try:
        return re.sub(" ", _SPACE, piece.decode()).encode()
    except UnicodeDecodeError:
        raise VocabularyError(
            f"{name}: piece {piece[:64]!r} (id {id_}) is not valid UTF-8, as SentencePiece requires"
        ) from None


WRITERS = {
    "sentencepiece": ModelWriter(
        _sentencepiece, lambda vocabulary: NOTES if bytepiece.is_bytepiece(vocabulary) else (),
        sentencepiece_proto.looks_like_model,
    ),
    "bytepiece": ModelWriter(lambda vocabulary: bytepiece.write(bytepiece.counted(vocabulary))),
    "rwkv": ModelWriter(rwkv.write_text),
    "huggingface": ModelWriter(huggingface_json, byte_convert.huggingface_notes, file.looks_like_json),
    "tiktoken": ModelWriter(byte_convert.tiktoken_ranks, byte_convert.tiktoken_notes, tiktoken.looks_like_ranks),
    "vocab-merges": ModelWriter(byte_convert.vocab_merges, byte_convert.vocab_merges_notes),
}  # fmt: skip
FORMATS = ("native", *WRITERS)
FOLDERS = ("vocab-merges",)  # formats that consist of several files
