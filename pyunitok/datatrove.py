"""A step for datatrove's pipelines: documents in, a token file for each rank out, the documents passed on.

    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from pyunitok.datatrove import Tokenize

    LocalPipelineExecutor([ParquetReader("corpus/"), Tokenize("tokens/", model="m.model")], tasks=8).run()

Then `pyunitok merge tokens/*.u16 -o ids.u16`.

tokenize() reads files and knows where each document is in them. datatrove hands over documents one at a time, so this
step encodes them itself, into the same Output.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep

from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.identity import Identity
from pyunitok.run.output import Output
from pyunitok.run.plan import describe_model
from pyunitok.tokens.manifest import InputRecord, Manifest

BATCH_BYTES = 1 << 20  # of text, encoded at a time


class Tokenize(PipelineStep):  # type: ignore[misc]
    """Writes FOLDER/RANK.u16 (.u32 where ids are of four bytes), a token file, and passes the documents on.

    model  a model file, or None for the vocabulary unitok-v1; opened once per rank
    eod    the id after each document, None for none, "model" for the model's own

    A rank that runs again starts over. OutputError if the file cannot be written.
    """

    name = "pyunitok"
    type = "tokenizer"

    def __init__(
        self, folder: str | os.PathLike[str], model: str | os.PathLike[str] | None = None,
        eod: int | str | None = "model",
    ) -> None:  # fmt: skip
        super().__init__()
        self._folder, self._model, self._eod = Path(folder), model, eod

    def run(self, data: Iterable[Document], rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        tokenizer = Tokenizer.default() if self._model is None else Tokenizer.from_file(self._model)
        eod = tokenizer.eod_id if self._eod == "model" else self._eod
        self._folder.mkdir(parents=True, exist_ok=True)
        out = self._folder / f"{rank:0{len(str(world_size - 1))}}.u{8 * tokenizer.dtype.itemsize}"
        with Output(out, Identity.of({"command": "datatrove"}, []), overwrite=True) as output:
            writer = _Writer(output, tokenizer, eod)
            for document in data:
                with self.track_time():
                    writer.append(document.text.encode())
                    self.update_doc_stats(document)
                yield document
            output.commit(writer.finish(f"datatrove, rank {rank} of {world_size}"))


class _Writer:
    """Documents into a token file, some at a time."""

    def __init__(self, output: Output, tokenizer: Tokenizer, eod: Any) -> None:
        self._output, self._tokenizer, self._eod = output, tokenizer, eod
        self._waiting: list[bytes] = []
        self._n_waiting = self._n_bytes = self._n_tokens = self._n_documents = 0

    def append(self, text: bytes) -> None:
        self._waiting.append(text)
        self._n_waiting += len(text)
        if self._n_waiting >= BATCH_BYTES:
            self._flush()

    def finish(self, name: str) -> Manifest:
        """Write what waits; the manifest, with all documents as one input called `name`."""
        self._flush()
        record = InputRecord(
            name, "documents", "none", bytes=self._n_bytes, text_bytes=self._n_bytes, documents=self._n_documents,
            tokens=self._n_tokens,
        )  # fmt: skip
        tokenizer = self._tokenizer
        dtype = tokenizer.dtype.newbyteorder("<").str
        return Manifest.of(
            [record], model=describe_model(tokenizer), eod=self._eod, dtype=dtype, algorithm=tokenizer.algorithm
        )

    def _flush(self) -> None:
        packed = self._tokenizer.encode_batch(self._waiting, threads=1)
        eods = np.array([] if self._eod is None else [self._eod], packed.data.dtype)
        for ids in packed:
            ids = np.concatenate((ids, eods))
            self._n_tokens += len(ids)
            self._output.ids.write(ids.view(np.uint8).data)
            self._output.ends.write(np.array([self._n_tokens], "<u8").view(np.uint8).data)
        self._n_documents += len(self._waiting)
        self._n_bytes += self._n_waiting
        self._waiting, self._n_waiting = [], 0
