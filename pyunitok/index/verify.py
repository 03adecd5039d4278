"""verify() checks whether a token file or an index is intact. It reads every file once, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyunitok.corpus.inputs import find
from pyunitok.errors import ModelFormatError, OutputError, VocabularyError, count
from pyunitok.index.compact import CompactShard, StoredIds, first_problem
from pyunitok.index.fields import field_problems
from pyunitok.index.manifest import ShardRecord, shard_name
from pyunitok.index.opening import OpenIndex, StoredTokens, open_shards
from pyunitok.index.shard import CHUNK, TOP_STEP, IndexShard, Shard, top_of
from pyunitok.index.suffix import first_mismatch
from pyunitok.index.word_shard import columns_problems
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.tokens.array import TokenArray
from pyunitok.tokens.manifest import StrPath, sidecars
from pyunitok.tokens.model import Model, given_model
from pyunitok.tokens.opening import open as open_tokens
from pyunitok.tokens.verify import hash_checks
from pyunitok.tokens.verify import verify as verify_tokens
from pyunitok.tokens.verify_text import sources_of, verify_text

MAX_PROBLEMS = 20
LOCATED = 100_000  # the number of rows of a compact index whose positions are checked


def verify(
    path: StrPath, inputs: StrPath | Sequence[StrPath] | bool = False, *, model: Model = None,
    threads: int | None = None,
) -> list[str]:  # fmt: skip
    """Check a token file or an index, as `pyunitok verify` does. Returns a sentence for each problem; [] if intact.

    path     a token file, whose hashes, document ends, ids and counts are checked; or the folder of an index, whose
             hashes, order and tables are checked
    inputs   also decode every document and compare it with its input: the tokenized files in the same order, or True
             for those that the manifest names, which must be local files. Inputs abridged by duplicates(drop=True) are
             skipped
    model    replaces the model that the manifest names; if there is neither, ids are not checked
    threads  all cores by default

    Raises OutputError if the file or its manifest is missing, and InputError if an input cannot be read.

        if problems := pyunitok.verify("ids.u16", inputs=True):
            raise SystemExit("\\n".join(problems))
    """
    for check in checks(path, inputs, model=model, threads=threads):
        if problems := check.run(lambda _: None):
            return problems
    return []


class Check(NamedTuple):
    """A step of a verification.

    label    names the step, for a progress bar
    n_bytes  the sum of the arguments of all calls to on_bytes
    run      run(on_bytes) returns a sentence for each problem
    summary  what was checked, with the fields {bytes} and {rate} (MB/s)
    note     what was not checked; may be empty
    """

    label: str
    n_bytes: int
    run: Callable[[Callable[[int], None]], list[str]]
    summary: str
    note: str = ""


def checks(
    path: StrPath, inputs: StrPath | Sequence[StrPath] | bool, *, model: Model, threads: int | None
) -> Iterator[Check]:
    """The steps of verify(). Each step requires that the earlier ones found no problems."""
    if Path(path).is_dir():
        if inputs:
            raise OutputError(f"{path} is an index, which has no inputs to compare; verify its token files instead")
        index = open_shards(Path(path), model=given_model(model))
        n_bytes = sum(array.nbytes for arrays in _all_arrays(index) for array in arrays.values())
        shards = f"{count(len(index.shards), 'shard')}, {n_bytes:,} bytes, {index.manifest.tokens:,} tokens checked"
        yield Check("checking", n_bytes, lambda on_bytes: verify_index(index, on_bytes=on_bytes), shards)
        return
    array = open_tokens(path, model=model)
    tokenizer: Tokenizer | None = None
    note = ""
    try:
        tokenizer = array.tokenizer
    except (ModelFormatError, VocabularyError) as error:
        if inputs or model is not None:
            raise
        note = f"ids are not checked: {error}"
    yield Check(
        "checking", array.ids.nbytes + array.ends.nbytes,
        lambda on_bytes: verify_tokens(array, tokenizer, threads=threads, on_bytes=on_bytes),
        "{bytes:,} bytes of tokens checked, {rate:,.0f} MB/s", note,
    )  # fmt: skip
    if not inputs or tokenizer is None or array.manifest is None:
        return
    names = None if inputs is True else [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    # The format here is a placeholder: sources_of takes the formats from the manifest.
    found = None if names is None else find([os.fspath(name) for name in names], input_format="text")
    sources = sources_of(array.manifest.inputs, found)

    def compare(on_bytes: Callable[[int], None]) -> list[str]:
        problem = verify_text(array, tokenizer, sources, threads=threads, on_bytes=on_bytes)
        return [problem] if problem else []

    n_abridged = sum(record.abridged for record in array.manifest.inputs)
    yield Check(
        "comparing", array.manifest.bytes, compare, "{bytes:,} bytes of text compared, {rate:,.0f} MB/s",
        f"skipped {count(n_abridged, 'input')} from which `duplicates --drop` removed text" if n_abridged else "",
    )  # fmt: skip


def verify_index(index: OpenIndex, *, on_bytes: Callable[[int], None] = lambda _: None) -> list[str]:
    """One sentence for each problem of an open index, at most MAX_PROBLEMS; an empty list if the index is intact.

    Each suffix array is checked completely. The check reads the tokens in random order, so if they are not in memory,
    it takes as long as sorting.
    """
    problems = [problem for array in index.arrays for problem in _stored_problems(array)]
    for shard, record, arrays in zip(index.shards, index.manifest.shards, _all_arrays(index), strict=True):
        for problem in _problems(index.folder, shard, record, arrays, on_bytes):
            problems.append(problem)
            if len(problems) == MAX_PROBLEMS:
                return problems
    return (problems + columns_problems(index.folder, index.manifest) + field_problems(index.folder))[:MAX_PROBLEMS]


def _stored_problems(array: TokenArray) -> list[str]:
    """The problems with the document ends of a token file that is stored in the index."""
    if not isinstance(array, StoredTokens) or array.manifest is None:
        return []
    tasks = hash_checks(str(sidecars(array.path)[0]), array.ends, array.manifest.hash.get("ends"))
    return [problem for task in tasks for problem in task.check()]


def _arrays(shard: Shard, array: TokenArray) -> dict[str, np.ndarray[Any, Any]]:
    if isinstance(shard, CompactShard):
        compact = {".compact": shard.compact.image}
        if isinstance(array.ids, StoredIds):
            return compact
        return {"ids": array.ids[shard.begin : shard.begin + len(shard)], **compact}
    assert isinstance(shard, IndexShard)
    ret: dict[str, np.ndarray[Any, Any]] = {"ids": shard.ids, ".sa": shard.sa, ".first": shard.first, ".top": shard.top}
    return ret if shard.left is None else ret | {".left": shard.left}


def _all_arrays(index: OpenIndex) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    return (_arrays(shard, index.arrays[shard.file]) for shard in index.shards)


def _problems(
    folder: Path, shard: Shard, record: ShardRecord, arrays: dict[str, np.ndarray[Any, Any]],
    on_bytes: Callable[[int], None],
) -> Iterator[str]:  # fmt: skip
    hashes_agree = True
    for suffix, array in arrays.items():
        for task in hash_checks(_name(folder, shard, suffix), array, record.hash.get(suffix)):
            for problem in task.check():
                hashes_agree = False
                yield problem
            on_bytes(task.n_bytes)
    if not hashes_agree:
        return  # checking the order in damaged files would reveal nothing more
    if isinstance(shard, CompactShard):
        yield from _compact_problems(_name(folder, shard, ".compact"), shard, arrays.get("ids"), record)
        return
    assert isinstance(shard, IndexShard)
    entry = first_mismatch(shard.ids, shard.rank, shard.sa, np.array(shard.first))
    if entry is not None:
        yield f"{_name(folder, shard, '.sa')}: not the suffix array of its tokens (entry {entry} is wrong)"
        return
    if not np.array_equal(top_of(shard.ids, shard.sa, shard.rank), shard.top):
        yield f"{_name(folder, shard, '.top')}: not the table of every {TOP_STEP}th suffix of its shard"
    if shard.left is not None:
        yield from _left_problems(_name(folder, shard, ".left"), shard, shard.left)


def _name(folder: Path, shard: Shard, suffix: str) -> str:
    return f"the tokens of shard {shard.number}" if suffix == "ids" else str(folder / shard_name(shard.number, suffix))


def _compact_problems(
    name: str, shard: CompactShard, ids: np.ndarray[Any, Any] | None, record: ShardRecord
) -> Iterator[str]:
    """Restores the tokens and the suffix array in memory, and locates a sample of rows."""
    if problem := first_problem(shard.compact.image):
        yield f"{name}: {problem}"
        return
    restored = shard.restored()
    if ids is None:  # only the index has the tokens; compare their hash
        ids = restored.ids
        found = [task.check() for task in hash_checks(f"the tokens in {name}", ids, record.hash.get("ids"))]
        problems = [problem for part in found for problem in part]
        if problems:
            yield from problems
            return
    if not np.array_equal(restored.ids, ids):
        yield f"{name}: not an index of its tokens"
        return
    if first_mismatch(restored.ids, restored.rank, restored.sa, np.array(restored.first)) is not None:
        yield f"{name}: its rows are not sorted"
        return
    if not shard.compact.locate_every:
        return
    rows = np.random.default_rng(0).integers(0, len(shard), min(len(shard), LOCATED))
    if not np.array_equal(shard.compact.locate(rows), restored.sa[rows]):
        yield f"{name}: the samples of positions are wrong"
    found = shard.own_ids()
    for at in range(0, len(shard), CHUNK):
        if not np.array_equal(found[at : at + CHUNK], ids[at : at + CHUNK]):
            yield f"{name}: the samples of text are wrong"
            return


def _left_problems(name: str, shard: IndexShard, left: np.ndarray[Any, Any]) -> Iterator[str]:
    for at in range(0, len(left), CHUNK):
        before = shard.ids[shard.sa[at : at + CHUNK].astype(np.int64) - 1]
        wrong = np.flatnonzero(before != left[at : at + CHUNK])
        if len(wrong):
            yield f"{name}: entry {at + int(wrong[0])} is not the token before its suffix"
            return
