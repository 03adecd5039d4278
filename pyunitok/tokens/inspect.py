"""Describes a model or a token file as (name, value) rows, for `pyunitok inspect`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyunitok
from pyunitok._c import library
from pyunitok.disk.url import is_url
from pyunitok.errors import MissingFileError, ModelFormatError, VocabularyError, count, printable
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.manifest import is_token_file
from pyunitok.tokens.model import is_model_path
from pyunitok.vocab import ranks

Rows = list[tuple[str, str]]
TOKEN_SUFFIXES = {".u16", ".u32", ".bin"}  # usual suffixes of token files


def rows(path: str | os.PathLike[str]) -> Rows:
    """Describes a model or a token file. Raises MissingFileError if the file is missing. If it is neither a model nor a
    token file, raises the error from opening it."""
    name = os.fspath(path)
    if is_token_file(path) or is_url(name):
        return token_rows(path)
    if not is_model_path(Path(path)):
        raise MissingFileError(f"{name}: no such model or token file")
    try:
        return model_rows(Tokenizer.from_file(path))
    except (ModelFormatError, VocabularyError):
        if Path(path).suffix in TOKEN_SUFFIXES:
            return token_rows(path)  # the error names the missing sidecar
        raise


def _lossless(tokenizer: Tokenizer) -> str:
    if tokenizer.lossless:
        return "yes: decoding restores all bytes exactly"
    if ranks.is_ranks(tokenizer.codec.about):
        return "no: decoding returns the text, in Unicode NFC if the model requires it, without special tokens"
    if (tokenizer.codec.about.prepare or {}).get("format"):
        return "no: decoding returns normalized text, except for changes that the file's decoders reverse"
    if tokenizer.codec.about.prepare:
        return "no: decoding returns text in Unicode NFC"
    if not tokenizer.codec.normalizes:
        is_greedy = not tokenizer.codec.model.kind.has_spec
        return f"no: bytes without a piece become id {tokenizer.fallback_id}" if is_greedy else "no"
    if tokenizer.codec.model.info.flags & library.MODEL_FLAGS["byte_fallback"]:
        return "no: decoding returns normalized text, with U+2581 as a space and invalid UTF-8 as U+FFFD"
    return f"no: decoding returns normalized text, and unknown characters become id {tokenizer.unk_id}"


def _rules(tokenizer: Tokenizer) -> str:
    """The normalization and pre-tokenization of a text before encoding."""
    prepare, flags = tokenizer.codec.about.prepare or {}, int(tokenizer.codec.model.info.flags)
    if "json" in prepare:
        prepare, flags = json.loads(prepare["json"]), 0
    parts = [str(prepare[key]["type"]) for key in ("normalizer", "pre_tokenizer") if prepare.get(key)]
    names = parts + [name for name, bit in library.MODEL_FLAGS.items() if flags & bit]
    return ", ".join(names).replace("_", " ") or "none"


def model_rows(tokenizer: Tokenizer) -> Rows:
    """Describes a model."""
    pieces = tokenizer.pieces()
    eod = "none" if tokenizer.eod_id is None else f"{tokenizer.eod_id} ({tokenizer.id_to_piece(tokenizer.eod_id)})"
    rows = [
        ("model", tokenizer.name),
        ("file", tokenizer.path or "-"),
        ("kind", (tokenizer.codec.rules or tokenizer.codec.model.kind).summary),
        ("pieces", f"{sum(1 for piece in pieces if len(piece)):,}, the longest of {tokenizer.max_piece_bytes} bytes"),
        ("ids", f"0..{tokenizer.vocab_size - 1} ({tokenizer.dtype})"),
        ("eod", eod),
    ]
    if tokenizer.codec.model.kind.has_spec:
        special = ", ".join(f"{role} {id_}" for role, id_ in tokenizer.codec.about.special.items())
        rows += [("special", special or "none"), ("rules", _rules(tokenizer))]
    return [
        *rows,
        ("lossless", _lossless(tokenizer)),
        ("engine", f"{tokenizer.engine}, {tokenizer.cpu}"),
        ("memory", f"{tokenizer.memory_bytes:,} bytes"),
        ("sha256", tokenizer.sha256),
    ]


def token_rows(path: str | os.PathLike[str]) -> Rows:
    """Describes a token file: its counts, its model and its inputs."""
    array = pyunitok.open(path)
    manifest = array.manifest
    assert manifest is not None  # open() without dtype
    ratio = manifest.bytes_per_token
    per_token = "" if ratio is None else f", {ratio:.3f} bytes/token"
    model = manifest.model
    rows = [
        ("tokens", f"{manifest.tokens:,} ({manifest.dtype}{per_token})"),
        ("documents", f"{manifest.documents:,}"),
        ("text", f"{manifest.text_bytes:,} bytes, from {manifest.input_bytes:,} bytes of input"),
        ("eod", "none" if manifest.eod is None else f"{manifest.eod}, after each document"),
        ("model", f"{model.get('name') or 'unnamed'} ({model.get('path') or 'no file'})"),
        ("model sha256", model.get("sha256") or "unknown"),
        ("made", f"{manifest.created} by pyunitok {manifest.pyunitok}, {manifest.algorithm}"),
    ]
    if manifest.sample:
        rows.append(("sampled", ", ".join(f"{k}={v}" for k, v in manifest.sample.items() if v is not None)))
    if manifest.shard:
        rows.append(("shard", f"{manifest.shard['index']}/{manifest.shard['count']}"))
    shown = manifest.inputs[:10]
    for r in shown:
        sizes = f"{count(r.documents, 'document')}, {count(r.bytes, 'byte')}"
        rows.append(("input", f"{r.path} ({r.format}, {sizes})"))
    if len(manifest.inputs) > len(shown):
        rows.append(("", f"and {len(manifest.inputs) - len(shown):,} more inputs"))
    return [(name, printable(value)) for name, value in rows]
