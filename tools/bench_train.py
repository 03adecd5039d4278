"""bench.py train and density: compares trainers with sentencepiece, tokenizers and bytepiece."""

from __future__ import annotations

import compileall
import io
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import bench_texts
import click
from bench_peers import PEERS, module_of
from bench_processes import Usage, command, environment, usage
from bench_timing import ROOT, Bench, Report, benchmark, fail, verdict

from pyunitok import Tokenizer, train
from pyunitok.cli.arguments import SIZE
from pyunitok.vocab import patterns, sentencepiece_proto
from pyunitok.vocab.convert import convert

TEXTS = {"en": ["en_prose", "en_web"], "mixed": None, "zh": ["zh", "zh_classical"], "ja": ["ja"]}
TARGETS = {  # by kind: how many times as fast as the peer, and the share of the peer's memory
    "unigram": {"sentencepiece": (5.0, 0.5)}, "bpe": {"sentencepiece": (2.0, 0.5), "tokenizers": (3.0, 0.5)},
    "bytepiece": {"bytepiece": (30.0, 0.25)},
}  # fmt: skip
COUNTING_TARGET, THREADS_TARGET, GREEDY_TARGET = 0.5, 1.6, 1.03
PATTERN_TARGETS = 20.0, 1.25  # times faster than BpeTrainer, share of its memory
ALL_TEXTS = TEXTS | {"code": ["code"]}
LONG_LINES = {"max_sentence_length": 1 << 20}
SPM = {"hard_vocab_limit": False, "normalization_rule_name": "nmt_nfkc"}

OURS = """
import json, time
from pyunitok.train.api import run
time.monotonic = time.process_time  # so phases report processor time
trained = run([{path!r}], kind={kind!r}, vocab_size={size}, threads={threads}, out={out!r}, **{options!r})
print(json.dumps([phase.seconds for phase in trained.phases]))
"""
BPE_TRAINER = """
import json, os
os.environ["RAYON_NUM_THREADS"] = "{threads}"
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
tokenizer, byte_level = Tokenizer(models.BPE()), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
splits = [pre_tokenizers.Split(Regex(regex), "isolated") for regex in {options[regexes]!r}]
tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
trainer = trainers.BpeTrainer(vocab_size={size}, special_tokens=["<|endoftext|>"], show_progress=False,
                              initial_alphabet=byte_level.alphabet())
with open({path!r}, encoding="utf-8") as file:
    tokenizer.train_from_iterator((json.loads(line)["text"] for line in file), trainer)
tokenizer.save({out!r})
"""


def trained(script: str, path: Path, kind: str, size: int, threads: int, n: int = 1, **options: Any
            ) -> tuple[Usage, bytes]:  # fmt: skip
    """The fastest of n runs, and the model."""
    out = path.with_name("m.model")
    code = script.format(path=str(path), kind=kind, size=size, threads=threads, out=str(out), options=options)
    # The command sets this, too: otherwise OpenBLAS starts a thread per core, and each spins for 40 ms.
    env = {"OPENBLAS_NUM_THREADS": "1"} | environment()
    runs = [usage([sys.executable, "-c", code], env) for _ in range(n)]
    return min(runs, key=lambda one: one.cpu_seconds), out.read_bytes()


@benchmark(
    1,
    click.option("--part", type=click.Choice(["peers", "greedy", "counting", "threads", "memory", "pattern"]),
                 default="peers", show_default=True),
    click.option("--max-memory", type=SIZE, default="2G", show_default=True, help="memory: the limit."),
    click.option("--kind", "kinds", multiple=True, type=click.Choice(list(TARGETS)), help="Train only this kind."),
    click.option("--text", "texts", multiple=True, type=click.Choice(list(ALL_TEXTS)), help="Train only on this text."),
    click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Train on this text."),
    click.option("--megabytes", type=click.IntRange(1), default=20, show_default=True, help="Maximum text size."),
    click.option("--vocab-size", type=click.IntRange(300), default=32000, show_default=True),
    name="train",
)  # fmt: skip
def train_command(bench: Bench, part: str, max_memory: int, kinds: tuple[str, ...], texts: tuple[str, ...],
                  file: Path | None, megabytes: int, vocab_size: int) -> Report:  # fmt: skip
    """Train models with pyunitok and its peers from the same file.

    peers     processor time with one thread; `compat` models must be identical to the peer's. bytepiece is slow, so
              --kind must name it
    greedy    bytes per token of unseen text, for vocabularies of `longest` and for as many pieces of sentencepiece's
              BPE, all encoded greedily
    counting  processor time of reading and counting compared with that of `tokenize`, on JSON lines whose
              vocabulary keeps growing; two threads must give the same model
    threads   wall time with one thread and with two, which must give the same model
    memory    peak memory with two threads and --max-memory
    pattern   BPE with GPT-2's pattern compared with tokenizers' BpeTrainer; the merges must be identical. Texts shorter
              than --megabytes are repeated
    """
    compileall.compile_dir(ROOT / "pyunitok", quiet=1)  # the installed peers are compiled too
    report, n_bytes = bench.report(f"train --part {part}: {vocab_size} pieces"), megabytes * 1_000_000
    with bench.folder(n_bytes) as folder:
        if part in ("counting", "threads", "memory"):
            path = folder / "mixed.jsonl.zst"
            bench_texts.write_zst(path, bench_texts.growing(bench, n_bytes))
            if part == "counting":
                counting(report, path, vocab_size, bench.n)
            for kind in kinds or tuple(TARGETS) * (part == "threads") or ("unigram",) * (part == "memory"):
                limited(report, part, path, kind, vocab_size, max_memory)
            return report
        for name in texts or ("en", "code", "zh") if part == "pattern" else ():
            text = bench_texts.mixed(bench, defaults=ALL_TEXTS[name])
            beside_bpe_trainer(report, name, text, folder, n_bytes, vocab_size, bench.n)
        for name in () if part == "pattern" else [file.name] if file else texts or TEXTS:
            text = (file.read_bytes() if file else bench_texts.mixed(bench, defaults=ALL_TEXTS[name]))[:n_bytes]
            path = folder / "text.txt"
            path.write_bytes(text[: text.rfind(b"\n") + 1])
            if part == "greedy":
                greedy(report, name, path, vocab_size)
            for kind in () if part == "greedy" else kinds or ("unigram", "bpe"):
                beside_peers(report, name, kind, path, vocab_size, bench.n)
    report.notes.append("s: processor time with one thread; the least of n runs")
    return report


def beside_peers(report: Report, name: str, kind: str, path: Path, size: int, n: int) -> None:
    """Add a row for each of our runs compared with each peer."""
    spm: dict[str, Any] = {} if kind == "bytepiece" else SPM
    exact = spm and spm | LONG_LINES
    one = partial(trained, path=path, kind=kind, size=size, threads=1, n=n)
    peers = {peer: one(PEERS[peer].train, **exact) for peer in TARGETS[kind]}
    original = next(iter(peers))
    ours = {"compat": one(OURS, compat=original, **exact), "own": one(OURS, **spm)}
    if facts(kind, ours["compat"][1]) != facts(kind, peers[original][1]):
        raise fail(f"{name}, {kind}: the compatible model differs from that of {original}")
    for peer, (theirs, _) in peers.items():
        least, most = TARGETS[kind][peer]
        for mode, (run, _) in ours.items():
            faster, memory = theirs.cpu_seconds / run.cpu_seconds, run.peak_bytes / theirs.peak_bytes
            report.add(
                text=name, MB=round(path.stat().st_size / 1e6, 1), kind=kind, mode=mode, peer=peer, s=run.cpu_seconds,
                peer_s=theirs.cpu_seconds, times_faster=faster, peak_MB=run.peak_bytes / 1e6,
                peer_MB=theirs.peak_bytes / 1e6, memory=memory, verdict=verdict(faster >= least and memory <= most),
            )  # fmt: skip


def beside_bpe_trainer(report: Report, name: str, text: bytes, folder: Path, n_bytes: int, size: int, n: int
                       ) -> None:  # fmt: skip
    """A row for a training run with GPT-2's pattern. Documents are slices of 8,192 characters."""
    path, whole = folder / "text.jsonl", text.decode("utf-8", "ignore")
    docs = [json.dumps({"text": whole[at : at + 8192]}) + "\n" for at in range(0, len(whole), 8192)]
    with path.open("w") as file:
        file.writelines(docs[k % len(docs)] for k in range(max(1, len(docs) * n_bytes // len(text))))
    regexes = patterns.tokenizers_regexes(patterns.parts_for_tokenizers("gpt2"))
    theirs, expected = trained(BPE_TRAINER, path, "bpe", size, 1, n, regexes=regexes)
    ours, _ = trained(OURS, path, "bpe", size, 1, n, pattern="gpt2", to="native")
    convert(path.with_name("m.model"), path.with_name("m.json"), "huggingface", overwrite=True)
    model = json.loads(path.with_name("m.json").read_bytes())["model"]
    if any(model[key] != json.loads(expected)["model"][key] for key in ("vocab", "merges")):
        raise fail(f"{name}: the merges are not those of BpeTrainer")
    faster, memory = theirs.cpu_seconds / ours.cpu_seconds, ours.peak_bytes / theirs.peak_bytes
    least, most = PATTERN_TARGETS
    report.add(
        text=name, MB=n_bytes / 1e6, s=ours.cpu_seconds, peer_s=theirs.cpu_seconds,
        times_faster=faster, peak_MB=ours.peak_bytes / 1e6,
        peer_MB=theirs.peak_bytes / 1e6, memory=memory, verdict=verdict(faster >= least and memory <= most),
    )  # fmt: skip


def facts(kind: str, data: bytes) -> Any:
    """The parts of a model that must be equal: the bytes of a BytePiece model, the pieces and scores of others."""
    if kind == "bytepiece":
        return data
    return [(piece.piece, piece.score) for piece in sentencepiece_proto.message("ModelProto").FromString(data).pieces]


def limited(report: Report, part: str, path: Path, kind: str, size: int, max_memory: int) -> None:
    """Compare two threads with one, or measure their peak memory under a limit."""
    more: dict[str, Any] = {} if kind == "bytepiece" else {"num_threads": 1}  # because the model records it
    if part == "memory":
        two, _ = trained(OURS, path, kind, size, 2, max_memory=max_memory, **more)
        share = two.peak_bytes / max_memory
        report.add(kind=kind, limit_MB=max_memory / 1e6, peak_MB=two.peak_bytes / 1e6, share=share, s=two.seconds,
                   cpu_s=two.cpu_seconds, verdict=verdict(share <= 1))  # fmt: skip
        return
    (one, model), (two, other) = (trained(OURS, path, kind, size, k, **more) for k in (1, 2))
    if model != other:
        raise fail(f"{kind}: the model of two threads differs from that of one")
    faster, cpu = one.seconds / two.seconds, two.cpu_seconds / one.cpu_seconds
    report.add(kind=kind, one_s=one.seconds, two_s=two.seconds, times_faster=faster, cpu_two_to_one=cpu,
               verdict=verdict(faster >= THREADS_TARGET))  # fmt: skip


def counting(report: Report, path: Path, size: int, n: int) -> None:
    empty = path.with_name("empty.txt")
    empty.touch()
    argv = ["tokenize", "-m", "rwkv-world", "-o", str(path.with_name("ids")), "--threads", "1", "--overwrite"]
    _, expected = trained(OURS, path, "unigram", size, 2, num_threads=1, hard_vocab_limit=False)
    for _ in range(n):
        runs = [[usage([*command(), *argv, str(text)]) for _ in range(3)] for text in (path, empty)]
        full, start = (min(run.cpu_seconds for run in repeated) for repeated in runs)
        one, model = trained(OURS, path, "unigram", size, 1, num_threads=1, hard_vocab_limit=False)
        if model != expected:
            raise fail("the model of one thread differs from that of two")
        counted = json.loads(one.output.splitlines()[-1])[0]
        rate = (full - start) / counted
        ok, peak_mb = verdict(rate >= COUNTING_TARGET), one.peak_bytes / 1e6
        report.add(count_s=counted, tokenize_s=full - start, rate=rate, peak_MB=peak_mb, verdict=ok)


# --------------------------------------------------------------------------------------------------- greedy ---

CHUNK_BYTES, HELD_SHARE = 1 << 14, 20  # one chunk in HELD_SHARE is unseen
SPARE = 1024  # more pieces than needed are trained, because ASCII characters duplicate single bytes
BYTES_BPE: dict[str, Any] = {
    "model_type": "bpe", "num_threads": 1, "hard_vocab_limit": False, "minloglevel": 2, "byte_fallback": True,
    "normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True, "max_sentence_length": 1 << 24, "bos_id": -1, "eos_id": -1,
}  # fmt: skip
# The defaults of sentencepiece, and the rules of `longest`, which allow longer pieces and pieces of several scripts.
RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "free": {"split_by_unicode_script": False, "split_by_number": False, "max_sentencepiece_length": 32},
}


def greedy(report: Report, name: str, path: Path, size: int) -> None:
    """Add rows for pieces within words and for pieces across spaces."""
    seen, unseen, at = list[bytes](), list[bytes](), 0
    for line in valid(path.read_bytes()).split(b"\n"):
        (unseen if at // CHUNK_BYTES % HELD_SHARE == HELD_SHARE - 1 else seen).append(line)
        at += len(line) + 1
    path.write_bytes(b"\n".join(seen))
    for crossing in (False, True):
        split: dict[str, Any] = {"split_by": "none" if crossing else "space", "separator": b"\n", "max_memory": 4 << 30}
        # One id is added for the end of documents.
        ours = density_of(train(path, kind="longest", vocab_size=size + 1, threads=1, **split), unseen)
        for rules, options in RULES.items():
            theirs = density_of(theirs_of(path, size, split_by_whitespace=not crossing, **options), unseen)
            report.add(
                text=name, pieces="cross spaces" if crossing else "within words", MB=path.stat().st_size / 1e6,
                sentencepiece=rules, bytes_per_token=ours, peer=theirs, denser=ours / theirs,
                verdict=verdict(ours / theirs >= GREEDY_TARGET),
            )  # fmt: skip


def theirs_of(path: Path, size: int, **options: Any) -> Tokenizer:
    """A vocabulary of the first pieces of sentencepiece's BPE, with all 256 bytes and all characters."""
    spm, model = module_of("sentencepiece"), io.BytesIO()
    options |= BYTES_BPE
    spm.SentencePieceTrainer.train(input=str(path), model_writer=model, vocab_size=size + SPARE, **options)
    processor = spm.SentencePieceProcessor(model_proto=model.getvalue())
    ids = [i for i in range(processor.vocab_size()) if not (processor.is_byte(i) or processor.is_unknown(i))]
    learned = [processor.id_to_piece(i).replace("\u2581", " ") for i in ids]
    pieces = [bytes([byte]) for byte in range(256)]
    pieces += [piece.encode() for piece in [*(piece for piece in learned if len(piece) == 1), *learned]]
    return Tokenizer.from_pieces(list(dict.fromkeys(pieces))[:size])


def density_of(tokenizer: Tokenizer, lines: list[bytes], *, exact: bool = True) -> float:
    """Bytes per token of the lines; with `exact`, they must decode to the text."""
    ids = tokenizer.encode_batch(lines).data
    if exact and tokenizer.decode_bytes(ids) != b"".join(lines):
        raise fail("the tokens do not decode to the text")
    return sum(map(len, lines)) / len(ids)


def valid(text: bytes) -> bytes:
    """The text without invalid UTF-8."""
    return text.decode("utf-8", "ignore").encode()


# -------------------------------------------------------------------------------------------------- density ---

DENSITY_TEXTS = {"en": ["en_web"], "de": ["de"], "zh": ["zh"], "ja": ["ja"], "code": ["code"],
                 "mixed": ["en_web", "zh", "code", "de", "ja", "ru"]}  # fmt: skip
COMPAT: dict[str, Any] = {"compat": "sentencepiece", "hard_vocab_limit": False, **LONG_LINES}
UNSEEN_BYTES, PROBE = 800_000, "The model decodes what it encodes."


@benchmark(
    1,
    click.option("--megabytes", type=float, default=4, show_default=True, help="Text to train on."),
    click.option("--vocab-size", type=click.IntRange(300), default=16000, show_default=True),
)
def density(bench: Bench, megabytes: float, vocab_size: int) -> Report:
    """Train Unigram with and without --compat sentencepiece; compare bytes per token.

    Both are measured on unseen text, the end of each corpus. In `mixed`, every corpus has an equal share.
    """
    report = bench.report(f"density: Unigram, {vocab_size} pieces trained on {megabytes:g} MB")
    with bench.folder(2e6 * megabytes) as folder:
        for name, defaults in DENSITY_TEXTS.items():
            corpora, seen, unseen = bench_texts.names(bench, defaults), b"", b""
            for corpus in corpora:
                text = bench_texts.read(bench, corpus)
                size, rest = int(megabytes * 1e6) // len(corpora), UNSEEN_BYTES // len(corpora)
                if len(text) < size + rest:
                    size, rest = len(text) * 3 // 4, len(text) // 4
                seen, unseen = seen + text[:size] + b"\n", unseen + text[-rest:] + b"\n"
            path = folder / "text.txt"
            path.write_bytes(valid(seen))
            rates = []
            for options in ({}, COMPAT):
                settings = {"vocab_size": vocab_size, "byte_fallback": True, "separator": b"\n", **options}
                tokenizer = train(path, kind="unigram", threads=1, **settings)
                if tokenizer.decode(tokenizer.encode(PROBE)) != PROBE:
                    raise fail("the tokens of a trained model do not decode to the text")
                rates.append(density_of(tokenizer, valid(unseen).split(b"\n"), exact=False))
            ours, theirs = rates
            report.add(text=name, bytes_per_token=ours, compat=theirs, denser=ours / theirs,
                       verdict=verdict(ours >= 0.9995 * theirs))  # fmt: skip
    return report
