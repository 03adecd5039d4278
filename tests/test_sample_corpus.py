"""The committed sample corpus is what tools/sample_corpus.py writes, and holds what other tests rely on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "tests" / "data" / "sample.jsonl.zst"
SKIPPABLE = bytes.fromhex("532a4d18")


@pytest.fixture(scope="module")
def generator() -> Any:
    """The module tools/sample_corpus.py; sys.path is as before once it is loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        import sample_corpus

        return sample_corpus


@pytest.fixture(scope="module")
def content() -> bytes:
    reader = zstandard.ZstdDecompressor().stream_reader(PATH.read_bytes(), read_across_frames=True)
    return reader.read()


def frames(data: bytes) -> list[tuple[bytes, int]]:
    """(first four bytes, size when decompressed or 0) of each frame."""
    found: list[tuple[bytes, int]] = []
    while data:
        magic = data[:4]
        if magic == SKIPPABLE:
            found.append((magic, 0))
            data = data[8 + int.from_bytes(data[4:8], "little") :]
            continue
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        found.append((magic, len(decompressor.decompress(data))))
        data = decompressor.unused_data
    return found


def test_committed_file_is_what_the_generator_writes(generator: ModuleType, content: bytes) -> None:
    first, second = b"".join(generator.lines()), b"".join(generator.lines())
    assert first == second
    assert first == content, "run python tools/sample_corpus.py and commit its file"


def test_three_frames_and_one_to_skip(content: bytes) -> None:
    found = frames(PATH.read_bytes())
    assert [magic == SKIPPABLE for magic, _ in found] == [False, True, False, False]
    first, _, second, third = (size for _, size in found)
    assert first + second + third == len(content)
    assert 0x80 <= content[first] < 0xC0, "the first frame ends inside a character"
    assert b"\n" not in content[first + second - 1 : first + second + 1], "the second ends inside a line"


def test_documents_are_numbered_and_of_every_kind(generator: ModuleType, content: bytes) -> None:
    documents = [json.loads(line) for line in content.decode().split("\n")[:-1]]
    assert [document["id"] for document in documents] == list(range(len(documents)))
    kinds = Counter(document["meta"]["lang"] for document in documents)
    assert set(kinds) == {*generator.PROSE, *generator.CODE, "json", "edge"}
    assert set(kinds) >= {"en", "de", "fr", "es", "ru", "zh", "ja", "ko", "ar", "hi", "emoji"}
    assert min(kinds.values()) >= 20


def test_edges_are_there(content: bytes) -> None:
    lines = content.split(b"\n")[:-1]
    assert all(line.isascii() for line in lines[9::10])
    assert any(b"\\ud83d\\ude" in line for line in lines[9::10])
    texts = [json.loads(line)["text"] for line in lines]
    assert {"", " ", "\0", "<|endoftext|>"} <= set(texts)
    assert any("\r\n" in text for text in texts)
    assert any(len(text) >= 10_240 and not text.split()[1:] for text in texts)


def test_the_weights_of_pairs_are_those_of_the_sample() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        import pair_weights

        assert pair_weights.TARGET.read_text() == pair_weights.render(), "run tools/pair_weights.py"


def test_a_grammar_leaves_no_slot_open(generator: ModuleType) -> None:
    for lang, grammar in generator.PROSE.items():
        writer = generator.Writer(grammar, seed=1)
        for symbol, ways in grammar.items():
            for way in ways:
                for match in generator.SLOT.finditer(way):
                    assert writer.write(match[2]), f"{lang}: {symbol}"
