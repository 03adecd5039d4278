"""survey() estimates, from the beginnings of the inputs, what a run would read and write. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from pyunitok.corpus import stream
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.reading import InputBlocks
from pyunitok.corpus.source import Source
from pyunitok.packed import Packed
from pyunitok.run.journal import Journal
from pyunitok.run.output import find
from pyunitok.run.plan import Plan
from pyunitok.tokens.manifest import Manifest

MAX_SAMPLES = 8  # the maximum number of inputs read per format and compression
SAMPLE_BYTES = 4 << 20  # decompressed bytes read from each input
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Survey:
    """An estimate of a run.

    begins      "from the start", "already complete", or "resuming after … bytes of input"
    text_bytes  the size of the documents' text; None if unknown, for example with a pipe
    """

    begins: str
    text_bytes: int | None
    tokens: int | None


def survey(plan: Plan) -> Survey:
    """Survey a plan. Reads the beginnings of a few inputs, but not of pipes.

    Raises OutputError if tokenize() would raise it at the start, InputError if the beginning of an input is invalid.
    """
    found = find(plan.out, plan.identity(), overwrite=plan.options.overwrite)
    begins = "from the start"
    if isinstance(found, Manifest) or (isinstance(found, Journal) and found.manifest is not None):
        begins = "already complete"
    elif isinstance(found, Journal):
        begins = f"resuming after {found.progress['bytes']:,} bytes of input"
    if any(source.size_bytes is None for source in plan.sources):
        return Survey(begins, None, None)
    text_bytes = tokens = 0
    for kind in dict.fromkeys((source.format, source.compression) for source in plan.sources):
        alike = [source for source in plan.sources if (source.format, source.compression) == kind]
        text_share, token_share = _sample(plan, alike)
        n_bytes = sum(source.size_bytes or 0 for source in alike)
        text_bytes += round(n_bytes * text_share)
        tokens += round(n_bytes * token_share)
    return Survey(begins, text_bytes, tokens)


def _sample(plan: Plan, alike: Sequence[Source]) -> tuple[float, float]:
    """(bytes of text, tokens) per byte of the files, which share a format and compression."""
    file_bytes = 0.0
    text_bytes = tokens = 0
    options = replace(plan.options, threads=1)
    for source in alike[:: -(-len(alike) // MAX_SAMPLES)]:
        n_read = 0
        with closing(InputBlocks(replace(plan.reading, sources=[source], options=options))) as inputs:
            for block in inputs.blocks():
                documents = Packed(block.data, block.offsets[: block.n_docs + 1])
                tokens += len(plan.tokenizer.encode_batch(documents, threads=1).data)
                tokens += (block.n_docs - block.open_end) * (plan.eod_id is not None)
                text_bytes += int(block.offsets[block.n_docs])
                n_read += block.source_bytes
                if n_read >= SAMPLE_BYTES:
                    break
            is_seekable = FORMATS[source.format].seekable
            file_bytes += inputs.compressed_position() if is_seekable else n_read / _expansion(source)
    return text_bytes / max(file_bytes, 1), tokens / max(file_bytes, 1)


def _expansion(source: Source) -> float:
    """Decompressed bytes per byte of the file, measured over a complete small file or the beginning of a large one.

    A decompressor reads its file in large chunks. The ratio is taken just before it reads another chunk, when it has
    returned the text of all previous chunks.
    """
    if source.is_plain or source.size_bytes is None:
        return 1.0
    n_bytes, before, at_chunk = 0, 0, (0, 0)
    buffer = memoryview(bytearray(READ_BYTES))
    with closing(stream.open(source)) as opened:
        while n_bytes < 2 * SAMPLE_BYTES or at_chunk[1] == 0:
            n_read = opened.readinto(buffer)
            if n_read == 0:
                return max(n_bytes, 1) / max(source.size_bytes, 1)
            position = opened.compressed_position()
            if position != before:
                at_chunk, before = (n_bytes, before), position
            n_bytes += n_read
    return max(at_chunk[0], 1) / at_chunk[1]
