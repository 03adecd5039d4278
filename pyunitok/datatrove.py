"""Defines a datatrove pipeline step that writes a token file for each rank and passes the documents on.

    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from pyunitok.datatrove import Tokenize

    LocalPipelineExecutor([ParquetReader("corpus/"), Tokenize("tokens/", model="m.model")], tasks=8).run()

Then join the files: `pyunitok merge tokens/*.u16 -o ids.u16`.

datatrove supplies one document at a time, not files, so this step calls the tokenizer directly and cannot resume.
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

BATCH_BYTES = 1 << 20  # bytes of text per batch


class Tokenize(PipelineStep):  # type: ignore[misc]
    """Writes the token file FOLDER/RANK.u16 (.u32 if ids take four bytes) and passes the documents on.

    model  a model file, or None for the vocabulary unitok-v1; opened once per rank
    eod    the id after each document; None: no id; "model": the model's eod

    A rank that is run again starts from the beginning. Raises OutputError if the file cannot be written.
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
    """Encodes documents in batches and writes them to a token file."""

    def __init__(self, output: Output, tokenizer: Tokenizer, eod: Any) -> None:
        self._output, self._tokenizer, self._eod = output, tokenizer, eod
        self._batch: list[bytes] = []
        self._batch_bytes = self._n_bytes = self._n_tokens = self._n_documents = 0

    def append(self, text: bytes) -> None:
        self._batch.append(text)
        self._batch_bytes += len(text)
        if self._batch_bytes >= BATCH_BYTES:
            self._flush()

    def finish(self, name: str) -> Manifest:
        """Write the last batch. Returns the manifest, which lists all documents as one input called `name`."""
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
        packed = self._tokenizer.encode_batch(self._batch, threads=1)
        eods = np.array([] if self._eod is None else [self._eod], packed.data.dtype)
        for ids in packed:
            ids = np.concatenate((ids, eods))
            self._n_tokens += len(ids)
            self._output.ids.write(ids.view(np.uint8).data)
            self._output.ends.write(np.array([self._n_tokens], "<u8").view(np.uint8).data)
        self._n_documents += len(self._batch)
        self._n_bytes += self._batch_bytes
        self._batch, self._batch_bytes = [], 0
