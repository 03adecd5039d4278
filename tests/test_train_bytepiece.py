"""BytePiece's trainer compared with the oracle and with bytepiece 0.6.3, for any memory limit."""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from click.testing import CliRunner
from conftest import fewer, find_shared
from hypothesis import given
from hypothesis import strategies as st
from oracle import train_bytepiece as oracle
from test_bytepiece import load_reference

import pyunitok
from pyunitok import Tokenizer
from pyunitok._c import train_ngrams as c_ngrams
from pyunitok._c.sharing import share_out
from pyunitok.cli.train import train as command
from pyunitok.compat import bytepiece as compat
from pyunitok.errors import OptionError, OutputError, TrainingError
from pyunitok.packed import Packed
from pyunitok.train import bytepiece, ngrams, rereading
from pyunitok.train.api import run
from pyunitok.train.sources import SuppliedBatches

LETTERS = ["ab", "ab \n", "aé猫\n1٣", "abc123\n ", "猫犬é😀x", "the quick\nbrown"]
Models = list[dict[bytes, int]]


def texts(seed: int) -> list[str]:
    """A few frequent words, and occasionally a character that occurs nowhere else."""
    draw = random.Random(seed)
    letters = draw.choice(LETTERS)
    words = ["".join(draw.choices(letters, k=draw.randint(1, 8))) for _ in range(6)]
    rare = "\nqß弒9\0e\u0301"
    return [
        "".join(draw.choice(words) if draw.random() < 0.9 else draw.choice(rare) for _ in range(draw.randint(1, 60)))
        for _ in range(draw.randint(1, 5))
    ]


def source(items: Iterable[str | bytes], n_batches: int = 1) -> SuppliedBatches:
    packed = [Packed.from_documents(list(items)[k::n_batches]) for k in range(n_batches)]
    return SuppliedBatches(((part.data, part.offsets) for part in packed), whole=False)


def trained(items: Iterable[str | bytes], *, n_batches: int = 1, **options: Any) -> Models:
    job = {name: options.pop(name) for name in ("threads", "max_memory", "progress") if name in options}
    models = bytepiece.BytePieceJob(bytepiece.BytePieceOptions(**options), **job).run(source(items, n_batches))
    return [dict(zip(model.items(), model.counts.tolist(), strict=True)) for model in models]


def drawn_options(draw: random.Random) -> dict[str, Any]:
    return {
        "order": draw.randint(1, 7), "max_vocab_size": tuple(draw.sample([259, 260, 262, 265, 270, 300], 2)),
        "max_piece_length": draw.choice([1, 3, 8, 36]), "min_count": draw.choice([1, 2, 3, 5]),
        "isolate_digits": draw.random() < 0.4, "ensure_unicode": draw.random() < 0.6,
    }  # fmt: skip


@given(st.integers(0, 10**9))
@fewer(6)
def test_models_match_the_oracle(seed: int) -> None:
    items, options = texts(seed), drawn_options(random.Random(seed))
    for lenient in (False, True):
        expected = oracle.train(items, **options, lenient=lenient)
        assert trained(items, **options, compat=not lenient) == expected


@given(st.integers(0, 10**9))
@fewer(8)
def test_models_match_bytepiece(seed: int) -> None:
    items, options = texts(seed), drawn_options(random.Random(seed))
    assert trained(items, **options, compat=True) == reference(items, **options)


def reference(items: list[str], **options: Any) -> Models:
    library = load_reference()
    options["max_vocab_size"] = list(options["max_vocab_size"])
    trainer = library.Trainer(**options)
    trainer.train(items)
    return list(trainer.pieces)


@pytest.mark.parametrize("order", [5, 7])  # a slot for 7 bytes has 8 bits for the count
def test_counts_that_exceed_a_slot(order: int) -> None:
    items = ["a" * 700 + "b" * 300 + "ab" * 300, "a" * 400 + "c" + "b" * 300, *texts(3)]
    options: dict[str, Any] = {"order": order, "max_piece_length": 50, "max_vocab_size": (300,)}
    assert trained(items, **options) == oracle.train(items, **options, lenient=True)
    assert trained(items, **options, compat=True, threads=2, n_batches=3) == reference(items, **options)


# ----------------------------------------------------------------------------------------------- A rare character ----

LINE = "many words " * 30
RARE = f"{LINE}\u5f12{LINE}"


def test_a_rare_character_ends_the_pieces_of_its_line_with_compat_only() -> None:
    options: dict[str, Any] = {"max_piece_length": 1000, "max_vocab_size": (400,)}
    ours, theirs = trained([RARE], **options)[0], trained([RARE], **options, compat=True)[0]
    assert theirs == oracle.train([RARE], **options)[0] and ours == oracle.train([RARE], **options, lenient=True)[0]
    assert LINE.encode() not in theirs and theirs[b"m"] >= 30
    assert ours[LINE.encode()] == 2 and ours[b"m"] == ours[b"\xe5"] == ours[b"\xbc"] == ours[b"\x92"] == 1


# ------------------------------------------------------------------------------------ Threads and memory ----


@given(st.integers(0, 10**9), st.integers(1, 3))
@fewer(10)
def test_models_do_not_depend_on_memory_and_threads(seed: int, threads: int) -> None:
    items = texts(seed) + texts(seed + 1)
    expected = trained(items, max_vocab_size=(300,))
    # Every batch is spilled; the memory of the model is not counted here.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_ngrams.NgramModel, "memory_bytes", 0)
        spilled = trained(items, max_vocab_size=(300,), max_memory=1, threads=threads, n_batches=3)
    assert spilled == expected
    assert trained(items, max_vocab_size=(300,), threads=threads, n_batches=4) == expected


def test_a_large_file_is_read_in_steps_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    items = ["".join(f"line {i * i % 977} of many\n" for i in range(4000))]
    expected = trained(items)
    monkeypatch.setattr(c_ngrams, "STEP_BYTES", 1000)
    monkeypatch.setattr(c_ngrams, "CHUNK_NGRAMS", 100)
    monkeypatch.setattr(bytepiece, "UNITS_AT_ONCE_BYTES", 10)
    monkeypatch.setattr(rereading, "IN_MEMORY_BYTES", 100)
    assert trained(items, threads=2) == expected


def test_a_model_over_the_limit_is_rejected() -> None:
    with pytest.raises(TrainingError, match=r"need . MiB; raise --max-memory or --min-count$"):
        trained(["some text"] * 10, max_memory=1000)
    draw = random.Random(1)
    items = ["".join(draw.choices("abcdefgh", k=40000)) for _ in range(2)]
    limit = 700_000  # 2-grams of bytes alone take 526,336
    with pytest.raises(TrainingError, match=r"times or more need . MiB; raise .* \(\d+ is enough\)") as caught:
        trained(items, max_memory=limit)
    enough = int(str(caught.value).rpartition("(")[2].split()[0])
    assert enough in (4, 8, 16, 32) and trained(items, max_memory=limit, min_count=enough)
    with pytest.raises(TrainingError):
        trained(items, max_memory=limit, min_count=enough // 2)


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OutputError, match="counts cannot be written"):
        trained(["some text"] * 10, max_memory=1000)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="requires /dev/full")
@pytest.mark.parametrize("n_before", [0, 1])  # 0: fails to spill n-grams; 1: fails to spill pieces
def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, n_before: int) -> None:
    """The error says what to do, and no files are left."""
    n_made, new = itertools.count(), tempfile.TemporaryFile

    def open_file(dir: Path | None) -> Any:
        return Path("/dev/full").open("wb") if next(n_made) >= n_before else new(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", open_file)
    monkeypatch.setattr(c_ngrams.NgramModel, "memory_bytes", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(OutputError, match=r"No space left on device.*--max-memory"):
        trained(["some text"] * 10, max_memory=1)
    assert not any(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------------ Chunks ----


@pytest.mark.parametrize("isolate_digits", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "é" * 10000 + "\n" * 101 + "x", "é" * 10001 + "\n", "a" * 39999 + "猫" * 2, "\n" * 250, "12\n\n3a4٣",
        "猫" * 25000, "a" * 10000 + "1" + "b" * 10001, "\n1", "1\n" * 3, "a\r\n\x0b\x1c\u2028b",
    ],
)  # fmt: skip
def test_lines_are_cut_as_in_bytepiece(text: str, isolate_digits: bool) -> None:
    items = [text, "x" + text]
    assert [c for t in items for c in oracle.chunks(t, isolate_digits)] == [
        c for t in items for c in compat.normalize(t, 10000, isolate_digits)
    ]
    digits = ngrams.decimal_digits() if isolate_digits else None
    reader = ngrams.NgramReader(7, digits)  # n-grams do not cross chunks
    packed = Packed.from_documents(items)
    reader.add(packed.data, packed.offsets)
    reader.counter.sort()
    (units,) = reader.counter.chunks()
    keys = {unit[: unit[7]]: count for unit, count in zip(units.items(), units.counts.tolist(), strict=True)}
    expected: dict[bytes, int] = {}
    for item in items:
        for chunk in oracle.chunks(item, isolate_digits):
            for i in range(len(chunk)):
                expected[chunk[i : i + 7]] = expected.get(chunk[i : i + 7], 0) + 1
    assert keys == expected


def test_any_bytes() -> None:
    items = [bytes(range(256)) * 3, b"\xff\xfe\x80" * 20, b"\0" * 50, b""]
    model = trained(items)[0]
    assert all(model[bytes([byte])] >= 1 for byte in range(256))


# ------------------------------------------------------------------------------------------------ The interface ----


def test_no_text() -> None:
    for items in ([], [""], [b""]):
        with pytest.raises(TrainingError, match="no text"):
            trained(items)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"order": 0}, "order is 0"), ({"order": 8}, r"1\.\.7"), ({"max_vocab_size": (258, 300)}, "259"),
        ({"max_vocab_size": ()}, "vocab_size"),
    ],
)  # fmt: skip
def test_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        bytepiece.BytePieceOptions(**options)


@pytest.mark.parametrize("sizes", [300, [300], [300, 280, 270]])
def test_compat_trainer(tmp_path: Path, sizes: Any) -> None:
    items = texts(5) + texts(6)
    theirs, ours = load_reference().Trainer(max_vocab_size=sizes), compat.Trainer(max_vocab_size=sizes)
    theirs.train(items)
    ours.train(iter(items), workers=2, batch_size=3)  # an iterator is enough
    assert ours.pieces == theirs.pieces and ours.dump(ours.pieces[0]) == theirs.dump(theirs.pieces[0])
    for trainer, name in ((theirs, "theirs"), (ours, "ours")):
        (tmp_path / name).mkdir()
        trainer.save(str(tmp_path / name / "m.model"))
    files = sorted((tmp_path / "theirs").iterdir())
    assert [path.name for path in files] == sorted(path.name for path in (tmp_path / "ours").iterdir())
    for path in files:
        assert path.read_bytes() == (tmp_path / "ours" / path.name).read_bytes()
        json.loads(path.read_bytes())
        assert Tokenizer.from_file(tmp_path / "ours" / path.name).vocab_size <= 300


def test_compat_trainer_takes_str_only() -> None:
    with pytest.raises(TypeError, match="expected str, not bytes"):
        compat.Trainer().train([b"bytes"])  # type: ignore[list-item]


# ------------------------------------------------------------------------------------------------- Texts to files ----

TEXT = "".join(f"the {k * k % 91} words of line {k % 7}\n" + "\n" * (k % 5 == 0) for k in range(600))


def saved(path: Path) -> bytes:
    trainer = compat.Trainer(max_vocab_size=300)
    trainer.train([TEXT])
    trainer.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_files_iterators_and_pipes(tmp_path: Path, threads: int) -> None:
    expected = saved(tmp_path / "expected.model")
    text, lines, pipe, out = (tmp_path / name for name in ("a.txt", "a.jsonl", "pipe", "m.model"))
    text.write_text(TEXT)
    lines.write_text(json.dumps({"body": TEXT}) + "\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(TEXT,))
    writer.start()
    options: dict[str, Any] = {"kind": "bytepiece", "vocab_size": 300, "compat": "bytepiece", "threads": threads}
    for texts_ in (text, [lines], iter([TEXT]), (TEXT.encode() for _ in range(1)), [pipe]):
        tokenizer = pyunitok.train(texts_, out=out, text_key="body", **options)
        assert out.read_bytes() == expected
        assert tokenizer == Tokenizer.from_file(out)
    writer.join()


def test_a_sample_is_held_out_in_both_readings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    result = run(tmp_path / "a.txt", kind="bytepiece", vocab_size=300)
    held = b"".join(result.sample)
    assert 0 < len(held) <= len(TEXT) // 32 and TEXT.encode().endswith(held)
    expected = trained([TEXT.encode()[: -len(held)]], max_vocab_size=(300,))[0]
    assert Counter(result.pieces) == Counter(piece for piece in expected if len(piece) > 1)
    assert result.n_bytes == len(TEXT) - len(held)


class Stop(Exception):
    pass


def test_a_resumed_run_does_not_repeat_phases(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    options: dict[str, Any] = {"kind": "bytepiece", "vocab_size": [300, 280], "out": tmp_path / "m.model"}
    fresh = run(tmp_path / "a.txt", **options)
    expected = (tmp_path / "m.model.280").read_bytes()
    seen: list[str] = []

    def resumed(stop_at: str) -> Any:
        seen.clear()

        def progress(phase: str, done: int, total: int) -> None:
            seen.append(phase)
            if phase == stop_at:
                raise Stop

        return run(tmp_path / "a.txt", checkpoint=tmp_path / "kept", progress=progress, **options)

    for stop_at in ("count pieces", "save"):
        with pytest.raises(Stop):
            resumed(stop_at)
    assert "count n-grams" not in seen and "count pieces" in seen
    result = resumed("never")
    assert set(seen) == {"prune pieces", "save"}
    assert (tmp_path / "m.model.280").read_bytes() == expected and not (tmp_path / "kept").exists()
    assert result.sample == fresh.sample and result.notes == fresh.notes and result.sizes == fresh.sizes


def test_invalid_tables_are_rejected() -> None:
    few, slots, large = np.zeros(256 + 65536, np.uint64), np.zeros(8, np.uint64), np.zeros(2, np.uint64)
    sizes = np.array([0, 0, 0, 2, 2, 2, 2, 0])
    good = {"few": few, "slots": slots, "n_slots": sizes, "large": large}
    assert c_ngrams.NgramModel.load(6, good, total=1).memory_bytes > few.nbytes
    for wrong in (
        {"few": few[1:]}, {"slots": slots[1:]}, {"slots": slots + np.uint64(1)}, {"large": large + np.uint64(1)},
        {"n_slots": sizes[1:]}, {"n_slots": sizes[::-1]}, {"n_slots": sizes - np.array([0] * 3 + [3, -3, 0, 0, 0])},
    ):
        with pytest.raises(ValueError, match="these are not the tables of an n-gram model"):
            c_ngrams.NgramModel.load(6, good | wrong, total=1)


def test_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    arguments = ["bytepiece", str(tmp_path / "a.txt"), "-o", str(tmp_path / "m.model"), "--vocab-size", "300"]
    arguments += ["--compat", "bytepiece"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0 and "256 byte" in result.output and "count n-grams" in result.output
    assert (tmp_path / "m.model").read_bytes() == saved(tmp_path / "expected.model")
    with pytest.raises(OutputError, match="--overwrite"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    result = CliRunner().invoke(command, [*arguments, "--also-size", "270"], catch_exceptions=False)
    assert result.output.endswith("m.model.300 and m.model.270\n")
    assert Tokenizer.from_file(tmp_path / "m.model.270").vocab_size == 270
    (tmp_path / "m.model.300").unlink()
    with pytest.raises(OutputError, match=r"m\.model\.270 exists"):
        CliRunner().invoke(command, [*arguments, "--also-size", "270"], catch_exceptions=False)


@pytest.mark.parametrize(
    "options, message",
    [({"em": "viterbi"}, "no option em"), ({"compat": "sentencepiece"}, "compat"), ({"vocab_size": 100}, "259")],
)  # fmt: skip
def test_options_of_other_kinds(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        pyunitok.train(iter([TEXT]), **{"kind": "bytepiece", "vocab_size": 300, **options})


def test_only_bytepiece_accepts_several_sizes() -> None:
    with pytest.raises(OptionError, match="only bytepiece models can have several"):
        pyunitok.train(iter([TEXT]), kind="bpe", vocab_size=[300, 400])


# --------------------------------------------------------------------------------------------------- share_out ----


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_share_out(threads: int) -> None:
    done: list[int] = []
    share_out(range(100), threads, lambda thread, item: done.append(item * threads))
    assert sorted(done) == [item * threads for item in range(100)]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("where", ["work", "items"])
def test_share_out_raises_and_ends_its_threads(threads: int, where: str) -> None:
    def items() -> Iterator[int]:
        yield from range(50)
        if where == "items":
            raise KeyboardInterrupt

    def work(thread: int, item: int) -> None:
        if item == 20 and where == "work":
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        share_out(items(), threads, work)
    assert threading.active_count() == before


def test_progress() -> None:
    seen: list[tuple[str, int, int]] = []
    trained(["some text\n"] * 100, progress=lambda *step: seen.append(step))
    phases = list(dict.fromkeys(phase for phase, _, _ in seen))
    assert phases == ["count n-grams", "sort n-grams", "count pieces", "sort pieces", "prune pieces"]
    assert all(0 <= done <= total or total == 0 for _, done, total in seen)


# ------------------------------------------------------------------------------------------------- Real corpora ----

EVERYTHING = bool(os.environ.get("PYUNITOK_ALL_CORPORA"))
OPTION_SETS: list[dict[str, Any]] = [
    {"max_vocab_size": (20000, 4000)},
    {"order": 4, "min_count": 8, "isolate_digits": True, "max_piece_length": 12, "max_vocab_size": (2000,)},
    {"order": 7, "min_count": 3, "ensure_unicode": False, "max_vocab_size": (1000, 600)},
]
CASES = [
    (corpus, k) for i, corpus in enumerate(["en_web", "ja", "zh_classical", "code", "hi", "multi"])
    for k in range(len(OPTION_SETS)) if EVERYTHING or (i == k < 2)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("corpus, k", CASES)
def test_real_corpora(corpus: str, k: int) -> None:
    """Trains on 200 KB of two corpora; with PYUNITOK_ALL_CORPORA=1, on a megabyte of six, which takes a few minutes."""
    packed = find_shared(f"corpora/{corpus}.txt.zst").read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(packed)[: 1_000_000 if EVERYTHING else 200_000]
    items = text.decode(errors="ignore").splitlines(keepends=True)
    assert trained(items, **OPTION_SETS[k], compat=True, threads=2, n_batches=5) == reference(items, **OPTION_SETS[k])
