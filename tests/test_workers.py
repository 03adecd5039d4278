"""Workers apply a function to the blocks of a corpus in threads; ordered results, errors and early exits."""

import contextlib
import json
import threading
import time
from collections import Counter

import pytest

from pyunitok.corpus.block import anywhere
from pyunitok.corpus.inputs import find
from pyunitok.corpus.position import Position
from pyunitok.corpus.reading import InputBlocks, Reading, ReadingOptions
from pyunitok.corpus.workers import Carry, Workers
from pyunitok.errors import InputError


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"the cat\nthe dog\n\nand the mouse " + b"long " * 300)
    (tmp_path / "b.txt").write_bytes(b"")
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": f"the {k} cats"}) + "\n" for k in range(50)) + "\n\n")
    return tmp_path


def results_of(reading, work, **options):
    with Workers(reading, work, **options) as workers:
        return list(workers.results())


@pytest.mark.parametrize(("threads", "block_bytes"), [(1, 1 << 20), (1, 13), (3, 13), (8, 100)])
def test_words_of_a_corpus(corpus, threads, block_bytes):
    """The example in the docstring of workers.py."""

    def count(block):
        return Counter(word for text in block.texts() for word in text.split())

    total = Counter()
    reading = Reading(find([str(corpus)]), ReadingOptions(separator=b"\n", threads=threads, block_bytes=block_bytes))
    with Workers(reading, count) as workers:
        for result in workers.results():
            total += result.value
    words = (corpus / "a.txt").read_bytes().split() + b" ".join(b"the %d cats" % k for k in range(50)).split()
    assert total == Counter(words)


@pytest.mark.parametrize("threads", [1, 4])
def test_results_are_ordered_and_account_for_every_byte(corpus, threads):
    sources = find([str(corpus)])
    reading = Reading(sources, ReadingOptions(separator=b"\n", threads=threads, block_bytes=20), split=anywhere)

    def slow_at_times(block):
        time.sleep(0.002 * (block.number % 3 == 0))
        return block.number, b"|".join(block.texts()), block.open_end

    results = results_of(reading, slow_at_times)
    assert [result.value[0] for result in results] == list(range(len(results)))
    assert results[-1].value[1] == b"" and results[-1].after == Position(3)
    endings = [ending for result in results for ending in result.endings]
    assert [ending.source for ending in endings] == [0, 1, 2]
    n_bytes = sum(r.source_bytes for r in results) + sum(ending.source_bytes for ending in endings)
    assert n_bytes == sum(source.size_bytes for source in sources)
    assert [(ending.at.bytes, ending.at.documents) for ending in endings] == [
        ((corpus / "a.txt").stat().st_size, 4), (0, 0), ((corpus / "c.jsonl").stat().st_size, 50)
    ]  # fmt: skip
    assert sum(result.n_ended for result in results) == 54
    joined = b"".join(text + b"|" * (not is_open and text != b"") for _, text, is_open in (r.value for r in results))
    assert joined.startswith(b"the cat|the dog||and the mouse long ")


@pytest.mark.parametrize(("name", "block_bytes", "n"), [("a.txt", 1531, 1), ("a.txt", 1530, 4), ("", 1 << 20, 4)])
def test_a_file_of_one_block_uses_one_thread(corpus, name, block_bytes, n):
    reading = Reading(find([str(corpus / name)]), ReadingOptions(threads=4, block_bytes=block_bytes))
    assert reading.useful_threads == n
    seen = results_of(reading, lambda block: threading.get_ident())
    assert len({result.value for result in seen}) <= n


def test_one_thread_sees_the_same_blocks(corpus):
    reading = Reading(find([str(corpus)]), ReadingOptions(separator=b"\n", threads=1, block_bytes=50))
    with contextlib.closing(InputBlocks(reading)) as inputs:
        alone = [(block.source, list(block.texts())) for block in inputs.blocks()]
    assert alone == [r.value for r in results_of(reading, lambda block: (block.source, list(block.texts())))[:-1]]


def test_an_error_follows_the_results_before_it(corpus):
    def fail_at_3(block):
        if block.number == 3:
            raise RuntimeError("three")
        time.sleep(0.01)
        return block.number

    reading = Reading(find([str(corpus)]), ReadingOptions(separator=b"\n", threads=4, block_bytes=20), split=anywhere)
    seen = []
    with pytest.raises(RuntimeError, match="three"), Workers(reading, fail_at_3) as workers:
        seen += (result.value for result in workers.results())
    assert seen == [0, 1, 2]


def test_an_error_does_not_drop_the_blocks_before_it(corpus):
    """Block 1 waits for a value from block 0 while block 2 fails; blocks 0 and 1 still finish. Regression: block 1 was
    dropped, and the run hung."""
    carry, failed = Carry(0), threading.Event()

    def work(block):
        if block.number == 2:
            failed.set()
            raise InputError("two")
        if block.number == 0:
            assert failed.wait(10)
            time.sleep(0.05)  # until all threads have stopped
        value = carry.take(block.number)
        carry.put(block.number + 1, value + 1)
        return value

    reading = Reading(find([str(corpus / "a.txt")]), ReadingOptions(threads=3, block_bytes=20), split=anywhere)
    seen = []
    with pytest.raises(InputError, match="two"), Workers(reading, work, carry=carry) as workers:
        seen += (result.value for result in workers.results())
    assert seen == [0, 1]


def test_leaving_early_wakes_waiting_threads(corpus):
    carry = Carry(0)

    def work(block):
        return carry.take(block.number)  # waits forever, because nothing is put

    reading = Reading(find([str(corpus / "a.txt")]), ReadingOptions(threads=3, block_bytes=20), split=anywhere)
    workers = Workers(reading, work, carry=carry)
    with workers:
        assert next(workers.results()).value == 0
    assert not any(thread.is_alive() for thread in workers._threads)
