"""Lists the libraries that pyunitok is compared with: what to install, and how to open, call and train with each.

Opening a peer returns an Encoder, a function that sorts suffixes, the engine of infini-gram, or a Pipeline.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench_processes import command, run
from bench_timing import fail

import pyunitok
from pyunitok import vocab
from pyunitok.errors import UnitokError
from pyunitok.vocab import byte_convert
from pyunitok.vocab.patterns import ReadOptions
from pyunitok.vocab.tiktoken import parse
from pyunitok.vocab.vocabulary import Vocabulary

Ids = np.ndarray[Any, np.dtype[np.uint16]]
EOS, EOS_ID = "</s>", 2  # of Llama 2


@dataclass(frozen=True)
class Encoder:
    """A peer with an open model.

    calls    its ways to encode a list of texts; the fastest counts
    renew    for a peer with a cache: empties the cache, untimed; the peer then warms up with the same texts as ours
    is_slow  only a share of the documents is timed
    sample   if the peer can sample: a function of (texts, alpha) that returns the ids of a sample of each text
    """

    calls: Mapping[str, Callable[[list[str]], Any]]
    renew: Callable[[], object] | None = None
    is_slow: bool = True
    sample: Callable[[list[str], float], Any] | None = None


@dataclass(frozen=True)
class Pipeline:
    """A script that tokenizes FOLDER/*.jsonl.zst; its arguments are FOLDER OUT MODEL PROCESSES."""

    script: str
    needs: str  # the modules it imports
    ids: str  # the glob pattern of the files in OUT that contain uint16 ids


def each(encode: Callable[[str], Any], texts: Iterable[str]) -> list[Any]:
    return [encode(text) for text in texts]


def sentencepiece(module: Any, path: Path) -> Encoder:
    encode = partial(module.SentencePieceProcessor(model_file=str(path)).encode, num_threads=1)
    return Encoder(
        {"encode(list)": encode, "encode": partial(each, encode)},
        sample=lambda texts, alpha: encode(texts, alpha=alpha, enable_sampling=True, nbest_size=-1),
    )


def tokenizers(module: Any, path: Path) -> Encoder:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    encode = partial(module.Tokenizer.from_file(str(path)).encode_batch_fast, add_special_tokens=False)
    return Encoder({"encode_batch_fast": lambda texts: [encoding.ids for encoding in encode(texts)]})


def gigatoken(module: Any, path: Path) -> Encoder:
    """Opens a tokenizer.json, or a .model of BPE with byte fallback."""
    tokenizers = [module.Tokenizer(str(path))]

    def renew() -> None:
        tokenizers[0] = module.Tokenizer(str(path))

    calls = {
        "encode_batch": lambda texts: tokenizers[0].encode_batch(texts, parallel=False),
        "encode": lambda texts: each(tokenizers[0].encode, texts),
    }
    return Encoder(calls, renew=renew, is_slow=False)


def tiktoken(module: Any, path: Path, pattern: str | None = None) -> Encoder:
    """Encodes with the ranks and the pattern of our model, if tiktoken can represent them; ignores special tokens."""
    try:
        vocabulary = Vocabulary.of(*vocab.open_model(path, options=ReadOptions(pattern)))
        ranks = parse(byte_convert.tiktoken_ranks(vocabulary), path.name)
    except UnitokError as error:
        raise click.ClickException(f"tiktoken cannot express this model: {error}") from None
    if b"\0" in vocabulary.pattern:
        raise click.ClickException(f"tiktoken cannot express this model: {path} has several patterns")
    regex = vocabulary.pattern[1:].decode()
    encoding = module.Encoding(path.name, pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    return Encoder({"encode_ordinary": partial(each, encoding.encode_ordinary)})


def bytepiece(module: Any, path: Path) -> Encoder:
    if importlib.import_module("ahocorasick").unicode:
        raise click.ClickException("bytepiece needs a pyahocorasick compiled with AHOCORASICK_BYTES=1")
    encode = module.Tokenizer(str(path)).encode
    return Encoder(
        {"encode": partial(each, encode)}, sample=lambda texts, alpha: each(partial(encode, alpha=alpha), texts)
    )


def pyrwkv(module: Any, _: Path) -> Encoder:
    """The model is part of the package."""
    tokenizer = module.RWKVTokenizer()
    calls = {"encode_batch": tokenizer.encode_batch, "encode": partial(each, tokenizer.encode)}
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


def infini_gram(_: Any, tokens: Path, folder: Path) -> Any:
    """An engine over a token file; infini-gram builds the index."""
    run(infini_gram_indexing(folder, tokens))
    engine = importlib.import_module("infini_gram.engine").InfiniGramEngine
    eod = pyunitok.open(tokens).eod_id
    return engine(str(folder), eos_token_id=eod, vocab_size=65535, version=4, token_dtype="u16")


def infini_gram_indexing(folder: Path, tokens: Path) -> list[str]:
    """Export a token file to a new folder; return the command that indexes it."""
    folder.mkdir()
    run([*command(), "export", str(tokens), "--to", "infini-gram", "-o", str(folder)])
    argv = ["-m", "infini_gram.indexing", "--data_dir", str(folder), "--save_dir", str(folder), "--mem", "8"]
    files = str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    return [sys.executable, *argv, "--token_dtype", "u16", "--shards", "1", "--cpus", "1", "--ulimit", files]


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
# Templates with the fields path, kind, size, threads, out (a .model file) and options.
TRAIN_SENTENCEPIECE = """
import sentencepiece
sentencepiece.SentencePieceTrainer.train(input={path!r}, model_prefix={out!r}.removesuffix(".model"),
    model_type={kind!r}, vocab_size={size}, num_threads={threads}, minloglevel=2, **{options!r})
"""
TRAIN_TOKENIZERS = """
import os
os.environ["RAYON_NUM_THREADS"] = "{threads}"
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
tokenizer.normalizer = normalizers.NFKC()
tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
tokenizer.train([{path!r}], trainers.BpeTrainer(vocab_size={size}, special_tokens=["<unk>"], show_progress=False,
                max_token_length=16))
tokenizer.save({out!r})
"""
TRAIN_BYTEPIECE = """
import re
import bytepiece
with open({path!r}, encoding="utf-8", newline="") as file:
    documents = re.findall(r"(?:[^\\n]*\\n+){{1,100}}|[^\\n]+", file.read())
trainer = bytepiece.Trainer(max_vocab_size={size})
trainer.train(documents)
trainer.save({out!r})
"""


@dataclass(frozen=True)
class Peer:
    """A pip requirement, the module to import (if any), a function that opens the peer, and its training script."""

    requirement: str
    module: str | None
    open: Callable[..., Any]
    train: str = ""


PEERS = {
    "sentencepiece": Peer("sentencepiece==0.2.3", "sentencepiece", sentencepiece, TRAIN_SENTENCEPIECE),
    "tokenizers": Peer("tokenizers==0.23.3", "tokenizers", tokenizers, TRAIN_TOKENIZERS),
    "tiktoken": Peer("tiktoken==0.14.0", "tiktoken", tiktoken),
    "gigatoken": Peer("gigatoken==0.10.0", "gigatoken", gigatoken),
    "bytepiece": Peer("bytepiece==0.6.3", "bytepiece", bytepiece, TRAIN_BYTEPIECE),
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
    """The peers that can be opened; a note is printed for each of the others."""
    for name in names:
        try:
            yield name, opened(name, *arguments)
        except click.ClickException as absent:
            notes.append(f"left out: {absent.message}")
