"""One table of the libraries measured beside ours: what pip installs, and how to open and call each.

Encoders give an Encoder, suffix sorters a function, infini-gram an engine, and pipelines the script that runs them.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_processes import command, run
from bench_timing import fail

Texts = Sequence[str]
Ids = np.ndarray[Any, np.dtype[np.uint16]]
EOS, EOS_ID = "</s>", 2  # of Llama 2


@dataclass(frozen=True)
class Encoder:
    """A peer with an open model.

    calls    its ways to encode many texts; the fastest counts
    renew    for a peer with a cache: empties it, untimed; the peer then encodes the same texts as ours to warm up
    is_slow  times only a share of the documents
    sample   (texts, alpha) to the ids of a sample of each, if the peer can sample
    """

    calls: Mapping[str, Callable[[Texts], Any]]
    renew: Callable[[], object] | None = None
    is_slow: bool = True
    sample: Callable[[Texts, float], Any] | None = None


@dataclass(frozen=True)
class Pipeline:
    """A script with the arguments FOLDER OUT MODEL PROCESSES that reads FOLDER/*.jsonl.zst."""

    script: str
    needs: str  # modules
    ids: str  # pattern of the files of uint16 ids in OUT


def sentencepiece(module: Any, path: Path) -> Encoder:
    processor = module.SentencePieceProcessor(model_file=str(path))
    sampling = {"enable_sampling": True, "nbest_size": -1, "num_threads": 1}
    return Encoder(
        {"encode(list)": lambda texts: processor.encode(list(texts), out_type=int, num_threads=1),
         "encode": lambda texts: [processor.encode(text, out_type=int) for text in texts]},
        sample=lambda texts, alpha: processor.encode(list(texts), alpha=alpha, **sampling),
    )  # fmt: skip


def tokenizers(module: Any, path: Path) -> Encoder:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = module.Tokenizer.from_file(str(path))

    def batch(texts: Texts) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    return Encoder({"encode_batch_fast": batch})


def gigatoken(module: Any, path: Path) -> Encoder:
    """Opens a tokenizer.json, or a .model of BPE with byte fallback."""
    tokenizers = [module.Tokenizer(str(path))]

    def renew() -> None:
        tokenizers[0] = module.Tokenizer(str(path))

    calls = {"encode_batch": lambda texts: tokenizers[0].encode_batch(list(texts), parallel=False)}
    return Encoder(calls, renew=renew, is_slow=False)


def bytepiece(module: Any, path: Path) -> Encoder:
    if importlib.import_module("ahocorasick").unicode:
        raise click.ClickException("bytepiece needs a pyahocorasick compiled with AHOCORASICK_BYTES=1")
    tokenizer = module.Tokenizer(str(path))
    return Encoder(
        {"encode": lambda texts: [tokenizer.encode(text) for text in texts]},
        sample=lambda texts, alpha: [tokenizer.encode(text, alpha=alpha) for text in texts],
    )


def pyrwkv(module: Any, _: Path) -> Encoder:
    """Has the model built in."""
    tokenizer = module.RWKVTokenizer()
    calls = {"encode_batch": lambda texts: tokenizer.encode_batch(list(texts)),
             "encode": lambda texts: [tokenizer.encode(text) for text in texts]}  # fmt: skip
    return Encoder(calls, renew=lambda: None, is_slow=False)


def libsais(_: Any, path: Path) -> Callable[[Ids], Any]:
    function = ctypes.CDLL(str(path)).libsais16

    def sort(text: Ids) -> Any:
        sa = np.empty(len(text), np.int32)
        pointers = (text.ctypes.data_as(ctypes.c_void_p), sa.ctypes.data_as(ctypes.c_void_p))
        if function(*pointers, ctypes.c_int32(len(text)), ctypes.c_int32(0), None):
            raise fail("libsais16 returned an error")
        return sa

    return sort


def infini_gram(_: Any, ids: Ids, eod: int, folder: Path) -> Any:
    """An engine over the ids, which infini-gram indexes itself."""
    stream = ids.copy()
    stream[stream == eod] = 0xFFFF  # its separator
    np.concatenate((np.array([0xFFFF], np.uint16), stream[:-1])).tofile(folder / "tokenized.0")
    starts = np.concatenate(([0], np.flatnonzero(stream[:-1] == 0xFFFF) + 1))
    (starts.astype("<u8") * 2).tofile(folder / "offset.0")
    run([*infini_gram_indexing(folder), "--token_dtype", "u16"])
    engine = importlib.import_module("infini_gram.engine").InfiniGramEngine
    return engine(str(folder), eos_token_id=eod, vocab_size=65535, version=4, token_dtype="u16")


def infini_gram_indexing(folder: Path, tokens: Path | None = None) -> list[str]:
    """The command that indexes what is in the folder; `tokens` are exported to it first."""
    if tokens:
        folder.mkdir()
        run([*command(), "export", str(tokens), "--to", "infini-gram", "-o", str(folder)])
    argv = ["-m", "infini_gram.indexing", "--data_dir", str(folder), "--save_dir", str(folder), "--mem", "8"]
    files = str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    return [sys.executable, *argv, "--shards", "1", "--cpus", "1", "--ulimit", files]


DATATROVE = f"""
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
folder, out, model, processes = sys.argv[1:]
if __name__ == "__main__":
    steps = [JsonlReader(folder), DocumentTokenizer(out, model, eos_token="{EOS}", shuffle_documents=False)]
    LocalPipelineExecutor(steps, tasks=int(processes), workers=int(processes), logging_dir=out + "/logs").run()
"""
DOLMA = f"""
import sys
from dolma.cli.__main__ import main
folder, out, model, processes = sys.argv[1:]
if __name__ == "__main__":
    main(["tokens", "--documents", folder + "/*.jsonl.zst", "--destination", out, "--tokenizer.name_or_path", model,
        "--tokenizer.eos_token_id", "{EOS_ID}", "--tokenizer.pad_token_id", "{EOS_ID}", "--dtype", "uint16",
        "--processes", processes, "--work_dir.output", out + "/work"])
"""


@dataclass(frozen=True)
class Peer:
    """A library: what to install; the module to import, if it runs in this process; and what opens it."""

    requirement: str
    module: str | None
    open: Callable[..., Any]


PEERS = {
    "sentencepiece": Peer("sentencepiece==0.2.3", "sentencepiece", sentencepiece),
    "tokenizers": Peer("tokenizers==0.23.3", "tokenizers", tokenizers),
    "gigatoken": Peer("gigatoken==0.10.0", "gigatoken", gigatoken),
    "bytepiece": Peer("bytepiece==0.6.3", "bytepiece", bytepiece),
    "pyrwkv-tokenizer": Peer("pyrwkv-tokenizer==0.9.1", "pyrwkv_tokenizer", pyrwkv),
    "libsais": Peer("", None, libsais),
    "pydivsufsort": Peer("pydivsufsort", "pydivsufsort", lambda module: module.divsufsort),
    "infini-gram": Peer("infini-gram", "infini_gram", infini_gram),
    "datatrove": Peer("datatrove", None, lambda _: Pipeline(DATATROVE, "datatrove, tokenizers, orjson", "*.ds")),
    "dolma": Peer("dolma", None, lambda _: Pipeline(DOLMA, "dolma, backports.zstd", "*.npy")),
}


def module_of(name: str) -> Any:
    """The module of a peer; ClickException, with what to install, if it is missing."""
    os.environ.setdefault("RAYON_NUM_THREADS", "1")  # for peers that start threads
    peer = PEERS[name]
    try:
        return peer.module and importlib.import_module(peer.module)
    except ImportError:
        raise click.ClickException(f"{name} is not installed; pip install {peer.requirement}") from None


def opened(name: str, *arguments: Any) -> Any:
    return PEERS[name].open(module_of(name), *arguments)


def available(notes: list[str], names: Sequence[str], *arguments: Any) -> Iterator[tuple[str, Any]]:
    """The peers that can be opened; the others get a note."""
    for name in names:
        try:
            yield name, opened(name, *arguments)
        except click.ClickException as absent:
            notes.append(f"left out: {absent.message}")
