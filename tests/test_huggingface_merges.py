"""The merges of a tokenizer.json are the same whether C or Python reads the list."""

import json
import random

import pytest

from pyunitok.errors import VocabularyError
from pyunitok.vocab.huggingface import merges
from pyunitok.vocab.huggingface.fields import Fields

PARTS = ["a", "b", "é", "Ġ", '"', "\\", "\n", "]", "猫", "\U0001f600", "\0", "merges", ""]


def slow(document, vocab):
    sides = [m.split(" ") if isinstance(m, str) else m for m in document["model"]["merges"]]
    columns = ([left for left, _ in sides], [right for _, right in sides], [left + right for left, right in sides])
    return [vocab[part] for column in columns for part in column]


def read(data):
    model = Fields(merges.load(data), "f: ").child("model")
    return merges.read(model, model.values["vocab"]).tolist()


def example(rng):
    sides = [[rng.choice(PARTS) + rng.choice(PARTS) for _ in "ab"] for _ in range(rng.randrange(6))]
    vocab = {part: 0 for left, right in sides for part in (left, right, left + right)}
    vocab = {part: id_ for id_, part in enumerate(vocab, 5)}
    listed = sides if rng.random() < 0.5 else [" ".join(pair) for pair in sides]
    return {"version": "1.0", "model": {"vocab": vocab, "merges": listed}}, vocab


def test_the_lists_of_both_forms_equal_a_plain_reading():
    rng = random.Random(20261127)
    for _ in range(2000):
        document, vocab = example(rng)
        indent, is_ascii = rng.choice([None, 0, 3]), rng.random() < 0.5
        data = json.dumps(document, indent=indent, ensure_ascii=is_ascii).encode()
        assert read(data) == slow(document, vocab), data


@pytest.mark.parametrize("indent", [None, 2])
def test_c_reads_the_usual_lists(indent):
    document, _ = example(random.Random(3))
    document["model"]["merges"] = ["a b"] * 3
    loaded = merges.load(json.dumps(document, indent=indent).encode())["model"]["merges"]
    assert [bytes(side) for side in loaded] == [b"a", b"b"] * 3


def test_what_python_must_read():
    vocab = {"a": 0, "b": 1, "ab": 2}
    comment = {"model": {"vocab": vocab, "merges": ["#version: 0.2", "a b"]}}
    assert read(json.dumps(comment).encode()) == [0, 1, 2]
    mixed = {"model": {"vocab": vocab, "merges": ["a b", ["a", "b"]]}}
    assert read(json.dumps(mixed).encode()) == [0, 0, 1, 1, 2, 2]
    twice = b'{"merges": ["x y"], "model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}'
    assert read(twice) == [0, 1, 2]
    escaped = b'{"merges": ["x y"], "model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "m\\u0065rges": ["a b"]}}'
    assert read(escaped) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["a b", "a  b"]', r"merges\[1\]: expected two pieces"),
        ('["a b", "ab"]', r"merges\[1\]: expected two pieces"),
        ('["a b", ["a"]]', r"merges\[1\]: expected two pieces"),
        ('["a b", ["a", 3]]', r"merges\[1\]: expected two pieces"),
        ('["a b", "a c"]', r"merges\[1\]: 'c' is not in the vocabulary"),
        ('["b a"]', r"merges\[0\]: 'ba' is not in the vocabulary"),
        ('["#version: 0.2", "b a"]', r"merges\[1\]: 'ba' is not in the vocabulary"),
        (r'["a \ud800"]', "lone surrogate"),
        ("3", "expected a list"),
    ],
)
def test_wrong_merges_are_named(text, message):
    with pytest.raises(VocabularyError, match=message):
        read(b'{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": %s}}' % text.encode())


def outcome(function, *arguments):
    """The result of a call; None if the file is rejected."""
    try:
        return function(*arguments)
    except (KeyError, TypeError, ValueError, VocabularyError):
        return None


def test_damaged_files():
    whole = b'{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"], ["a", "b"]]}, "x": [1]}'
    for end in range(len(whole)):
        with pytest.raises(ValueError):
            merges.load(whole[:end])
    for at in range(len(whole)):
        for byte in (0x00, 0x22, 0x5C, 0x5D, 0xFF):
            changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
            try:
                expected = json.loads(changed)
            except ValueError:
                with pytest.raises(ValueError):
                    merges.load(changed)
            else:
                assert outcome(read, changed) == outcome(slow, expected, expected.get("model", {}).get("vocab"))
