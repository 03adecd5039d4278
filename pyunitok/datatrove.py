"""A step for datatrove's pipelines: documents in, a token file for each rank out, the documents passed on.

    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from pyunitok.datatrove import Tokenize

    LocalPipelineExecutor([ParquetReader("corpus/"), Tokenize("tokens/", model="m.model")], tasks=8).run()

Then `pyunitok merge tokens/*.u16 -o ids.u16`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep

import pyunitok
from pyunitok.disk.journal import Identity
from pyunitok.disk.output import Output
from pyunitok.run.pipeline import describe_model
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.manifest import InputRecord, Manifest

BATCH_BYTES = 1 << 20  # of text, encoded at a time


class Tokenize(PipelineStep):  # type: ignore[misc]
    """Writes FOLDER/RANK.u16 (.u32 where ids are of four bytes), a token file, and passes the documents on.

    model  a model file, or None for the RWKV World vocabulary; opened once a rank
    eod    the id after each document, None for none, "model" for the model's own

    A rank that is run again begins anew. OutputError where the file cannot be written.
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
        record = InputRecord(f"datatrove, rank {rank} of {world_size}", "documents", "none")
        with Output(out, Identity({"command": "datatrove"}, []), overwrite=True) as output:
            waiting, n_waiting = list[bytes](), 0
            for document in data:
                with self.track_time():
                    waiting.append(document.text.encode())
                    n_waiting += len(waiting[-1])
                    self.update_doc_stats(document)
                    if n_waiting >= BATCH_BYTES:
                        _write(output, tokenizer, eod, waiting, record)
                        waiting, n_waiting = [], 0
                yield document
            _write(output, tokenizer, eod, waiting, record)
            output.commit(_manifest(tokenizer, eod, record))


def _write(output: Output, tokenizer: Tokenizer, eod: Any, documents: list[bytes], record: InputRecord) -> None:
    packed = tokenizer.encode_batch(documents, threads=1)
    eods = np.array([] if eod is None else [eod], packed.data.dtype)
    for ids in packed:
        ids = np.concatenate((ids, eods))
        record.tokens += len(ids)
        output.ids.write(ids.view(np.uint8).data)
        output.ends.write(np.array([record.tokens], "<u8").view(np.uint8).data)
    record.documents += len(documents)
    record.bytes += sum(map(len, documents))


def _manifest(tokenizer: Tokenizer, eod: Any, record: InputRecord) -> Manifest:
    return Manifest(
        model=describe_model(tokenizer),
        eod=eod,
        tokens=record.tokens,
        documents=record.documents,
        bytes=record.bytes,
        inputs=[record],
        hash={},
        dtype=tokenizer.dtype.newbyteorder("<").str,
        algorithm=tokenizer.algorithm,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        pyunitok=pyunitok.__version__,
    )
