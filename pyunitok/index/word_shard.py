"""WordShard: the words of one shard and their suffix array; word_build.py shows the layout of the files."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from pyunitok._c.words import count_words, narrowed
from pyunitok.errors import InputError
from pyunitok.index.columns import Columns
from pyunitok.index.hits import Int64s
from pyunitok.index.lexicon import WordLexicon
from pyunitok.index.manifest import IndexManifest, shard_name

LEXICON_NAME = "lexicon.words"
LEXICON, SHARD = "words of an index", "words of a shard"

Array = np.ndarray[Any, Any]


def state_of(manifest: IndexManifest) -> str:
    """A digest of the shards of an index and their tokens."""
    shards = [[shard.file, shard.begin, shard.tokens, shard.hash.get("ids")] for shard in manifest.shards]
    files = [[file.tokens, file.documents, file.digest] for file in manifest.files]
    return xxhash.xxh64_hexdigest(json.dumps([files, shards]).encode())


def open_words(folder: Path, manifest: IndexManifest) -> tuple[WordLexicon, list[WordShard], bool]:
    """Returns (lexicon, shards, whether the words belong to the current state of the index). If they do not, there are
    no shards. Raises InputError if a file is damaged."""
    columns = Columns(folder / LEXICON_NAME, LEXICON)
    offsets = columns.column("offsets", "<u8").astype(np.int64)
    counts = columns.column("counts", "<u8").astype(np.int64)
    lexicon = WordLexicon(columns.column("text", "|u1"), offsets, counts, str(columns.path))
    if columns.about.get("version") != 1:
        raise InputError(f"{columns.path}: written by a newer release; upgrade pyunitok")
    digests = columns.about.get("shards")
    if columns.about.get("index") != state_of(manifest) or not isinstance(digests, list):
        return lexicon, [], False
    shards = []
    for number, shard in enumerate(manifest.shards):
        found = Columns(folder / shard_name(number, ".words"), SHARD)
        if digests[number : number + 1] != [found.digest]:
            raise InputError(
                f"{found.path} belongs to a different set of words; remove {LEXICON_NAME}, and repeat --words"
            )
        shards.append(WordShard(found, len(lexicon), shard.documents))
    return lexicon, shards, True


def columns_problems(folder: Path, manifest: IndexManifest) -> list[str]:
    """One sentence for each damaged file of columns in an index."""
    problems = []
    kinds = {path: SHARD if path.name[0].isdigit() else LEXICON for path in sorted(folder.glob("*.words"))}
    for path, kind in kinds.items():
        try:
            problems += Columns(path, kind).problems()
        except InputError as error:
            problems.append(str(error))
    if kinds and not problems:
        try:
            open_words(folder, manifest)
        except InputError as error:
            problems.append(str(error))
    return problems


class WordShard:
    """The words of a shard, and their suffix array. Arrays are memory maps; methods check the values that they read.

    words   uint32[n]: the words, and a 0 after each document
    sa      uint32[n]: the suffix array of `words`
    starts  uint32[words + 2]: suffixes starts[w] to starts[w + 1] - 1 begin with word w
    ends    uint32[documents]: the position of the 0 after each document
    """

    def __init__(self, columns: Columns, n_words: int, n_documents: int) -> None:
        self.name, self.n_words = str(columns.path), n_words
        self.words = columns.column("words", "<u4")
        self.sa = columns.column("sa", "<u4", len(self.words))
        self.starts = columns.column("starts", "<u4", n_words + 1)
        self.ends = columns.column("ends", "<u4", n_documents)
        self.marks = columns.column("marks", "<u4")
        self.mark_tokens = columns.column("mark_tokens", "<u4", len(self.marks))
        self.mark_skips = columns.column("mark_skips", "<u4", len(self.marks))
        starts, ends = self.starts, self.ends
        is_valid = starts[0] == 0 and starts[-1] == len(self.words) and not bool((starts[1:] < starts[:-1]).any())
        if not is_valid or bool((ends[1:] <= ends[:-1]).any()) or (len(ends) and ends[-1] + 1 != len(self.words)):
            raise self.damaged()

    def __len__(self) -> int:
        return len(self.words)

    def damaged(self) -> InputError:
        return InputError(f"{self.name} is damaged; run `pyunitok verify` for details")

    @cached_property
    def sizes(self) -> Int64s:
        """int64[documents]: the number of words in each document."""
        ends: Int64s = self.ends.astype(np.int64)
        sizes: Int64s = ends - np.append(-1, ends[:-1]) - 1
        return sizes

    def at(self, places: Int64s) -> Int64s:
        """The words at these places; 0 for a place that is out of range."""
        inside = (places >= 0) & (places < len(self.words))
        found: Int64s = np.zeros(len(places), np.int64)
        if len(self.words):
            found = self.words[np.where(inside, places, 0)].astype(np.int64)
        found[~inside] = 0
        if len(found) and int(found.max()) >= self.n_words:
            raise self.damaged()
        return found

    def add_counts(self, begins: Int64s, ends: Int64s, counts: Int64s) -> None:
        """Adds to `counts` how often each id occurs among the words begins[k]:ends[k]."""
        if not count_words(self.words, begins, ends, counts):
            raise self.damaged()

    def positions(self, ranks: Int64s) -> Int64s:
        """The places at which the suffixes of these ranks begin."""
        found: Int64s = self.sa[ranks].astype(np.int64)
        if len(found) and int(found.max()) >= len(self.words):
            raise self.damaged()
        return found

    def interval(self, ids: Int64s) -> tuple[Int64s, Int64s]:
        """(lo, hi): suffixes lo[k]:hi[k] begin with ids[k]."""
        lo: Int64s = self.starts[ids].astype(np.int64)
        hi: Int64s = self.starts[ids + 1].astype(np.int64)
        return lo, hi

    def documents(self, places: Int64s) -> Int64s:
        """The document, numbered within the shard, of each place."""
        found: Int64s = np.searchsorted(self.ends, places.astype(np.uint32), "left").astype(np.int64)
        return found

    def narrowed(
        self, lo: Int64s, hi: Int64s, depth: int, ids: Int64s, last: Int64s | None = None
    ) -> tuple[Int64s, Int64s]:
        """(lo, hi): the suffixes among lo[k]:hi[k], whose first `depth` words are equal, that continue with ids[k] or,
        if `last` is given, with an id from ids[k] to last[k]."""
        found = narrowed(self.words, self.sa, lo, hi, depth, ids, ids if last is None else last)
        if found is None:
            raise self.damaged()
        return found
