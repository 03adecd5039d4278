"""The HAT-trie through cffi, compared with a dict."""

import numpy as np
import pytest
from conftest import SHARED, decompressed
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from test_rwkv_vocab import slow_read

from pyunitok._lib import ffi, lib

DATA = SHARED / "data"
VOCABULARY = DATA / "models" / "rwkv" / "rwkv_vocab_v20230424.txt"

SET, ADD, UNIQUE = lib.UNITOK_HAT_SET, lib.UNITOK_HAT_ADD, lib.UNITOK_HAT_UNIQUE

# Few letters, so that keys share prefixes; lengths around 63 and 255, where the container's layout changes.
short_keys = st.binary(max_size=6) | st.text("ab", max_size=10).map(str.encode)
long_keys = st.tuples(st.sampled_from([50, 62, 63, 64, 254, 255, 256, 2000]), st.binary(max_size=3)).map(
    lambda pair: b"xyz" * (pair[0] // 3) + pair[1]
)
keys = short_keys | long_keys
values = st.integers(-(2**63), 2**63 - 1)


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def packed(items):
    offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
    return ffi.from_buffer("uint8_t[]", b"".join(items)), ffi.from_buffer("int64_t[]", offsets)


class Hat:
    """A minimal wrapper around the C functions."""

    def __init__(self):
        ret = ffi.new("unitok_hat **")
        assert lib.unitok_hat_new(ret, ffi.NULL) == lib.UNITOK_OK
        self.c = ffi.gc(ret[0], lib.unitok_hat_free)

    def insert(self, items, numbers, mode):
        error = ffi.new("unitok_error *", {"item": -1})
        data, offsets = packed(items)
        numbers = ffi.new("int64_t[]", numbers)
        status = lib.unitok_hat_insert(self.c, data, offsets, numbers, len(items), mode, error)
        return status, error.item

    def find(self, items):
        """The values of these keys; None for a key that is not in the trie."""
        found = [(item, self.longest_prefix(item)) for item in items]
        return [prefix[1] if prefix and prefix[0] == len(item) else None for item, prefix in found]

    def longest_prefix(self, text):
        value = ffi.new("int64_t *")
        length = lib.unitok_hat_longest_prefix(self.c, ffi.from_buffer("uint8_t[]", text), len(text), value)
        return (length, value[0]) if length >= 0 else None

    def walk(self, prefix, capacity, max_keys):
        """All (key, value), in batches of max_keys. A key that does not fit is read again with a larger buffer."""
        ret = ffi.new("unitok_hat_walk **")
        buffer = ffi.from_buffer("uint8_t[]", prefix)
        assert lib.unitok_hat_walk_new(self.c, buffer, len(prefix), ret, ffi.NULL) == lib.UNITOK_OK
        walk = ffi.gc(ret[0], lib.unitok_hat_walk_free)
        offsets, numbers = ffi.new("int64_t[]", max_keys + 1), ffi.new("int64_t[]", max_keys)
        out, n_buffer = [], capacity
        while True:
            data = ffi.new("uint8_t[]", n_buffer)
            n = lib.unitok_hat_walk_next(walk, data, n_buffer, offsets, numbers, max_keys)
            if n == 0:
                return out
            if n == -1:
                assert n_buffer < lib.UNITOK_HAT_KEY_MAX_BYTES
                n_buffer = lib.UNITOK_HAT_KEY_MAX_BYTES
                continue
            assert n > 0 and offsets[0] == 0
            if n_buffer > capacity:
                assert offsets[1] > capacity  # the result was -1 only because the key did not fit
            assert offsets[n] <= n_buffer
            raw = ffi.buffer(data, offsets[n])
            out += [(bytes(raw[offsets[i] : offsets[i + 1]]), numbers[i]) for i in range(n)]
            n_buffer = capacity


class HatMachine(RuleBasedStateMachine):
    """All operations in random order, compared with a dict."""

    @initialize(shared=st.sampled_from([b"", b"q", b"p" * 70]), n_crowd=st.sampled_from([0, 0, 1200, 3000]))
    def start(self, shared, n_crowd):
        self.hat, self.known = Hat(), {}
        crowd = [shared + bytes([i % 7 + 97, i % 11 + 97, i % 251, i // 256]) for i in range(n_crowd)]
        crowd = list(dict.fromkeys(crowd))  # enough keys to burst containers
        assert self.hat.insert(crowd, list(range(len(crowd))), UNIQUE) == (lib.UNITOK_OK, -1)
        self.known.update((key, i) for i, key in enumerate(crowd))

    @rule(batch=st.lists(st.tuples(keys, values), max_size=20), mode=st.sampled_from([SET, ADD, UNIQUE]))
    def insert(self, batch, mode):
        status, item = self.hat.insert([key for key, _ in batch], [value for _, value in batch], mode)
        for i, (key, value) in enumerate(batch):
            if mode == UNIQUE and key in self.known:
                assert (status, item) == (lib.UNITOK_ERROR_ARGUMENT, i)
                return
            self.known[key] = wrapped(self.known.get(key, 0) + value) if mode == ADD else value
        assert status == lib.UNITOK_OK

    @rule(batch=st.lists(keys, max_size=20))
    def find(self, batch):
        assert self.hat.find(batch) == [self.known.get(key) for key in batch]

    @rule(text=st.lists(keys, max_size=3).map(b"".join))
    def longest_prefix(self, text):
        expected = [(n, self.known[text[:n]]) for n in range(len(text) + 1) if text[:n] in self.known]
        assert self.hat.longest_prefix(text) == (expected[-1] if expected else None)

    @rule(prefix=keys, capacity=st.integers(0, 300), max_keys=st.integers(1, 50))
    def walk(self, prefix, capacity, max_keys):
        expected = sorted(item for item in self.known.items() if item[0].startswith(prefix))
        assert self.hat.walk(prefix, capacity, max_keys) == expected

    @invariant()
    def counted(self):
        if hasattr(self, "hat"):
            assert lib.unitok_hat_count(self.hat.c) == len(self.known)

    def teardown(self):
        if hasattr(self, "hat"):
            assert self.hat.walk(b"", 1 << 16, 1000) == sorted(self.known.items())
            assert self.hat.find(list(self.known)) == list(self.known.values())


TestHatMachine = HatMachine.TestCase
TestHatMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), alphabet=st.integers(1, 256), longest=st.integers(1, 12))
def test_many_keys_at_once(seed, alphabet, longest):
    """Inserts thousands of keys at once, so that containers burst."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, 4000)
    items = [rng.integers(0, alphabet, n, dtype=np.uint8).tobytes() for n in lengths]
    hat, known = Hat(), {}
    hat.insert(items, [1] * len(items), ADD)
    for key in items:
        known[key] = known.get(key, 0) + 1
    assert hat.walk(b"", 5000, 700) == sorted(known.items())
    assert hat.find(items) == [known.get(key) for key in items]
    assert hat.walk(b"", 1 << 20, 5000) == sorted(known.items())


def test_bad_arguments():
    hat = Hat()
    assert hat.insert([b"a"], [1], 3)[0] == lib.UNITOK_ERROR_ARGUMENT
    too_long = bytes(lib.UNITOK_HAT_KEY_MAX_BYTES + 1)
    assert hat.insert([b"a", too_long], [1, 2], SET) == (lib.UNITOK_ERROR_ARGUMENT, 1)
    assert hat.insert([bytes(lib.UNITOK_HAT_KEY_MAX_BYTES)], [3], SET)[0] == lib.UNITOK_OK
    assert hat.walk(b"", 10, 10) == [(bytes(lib.UNITOK_HAT_KEY_MAX_BYTES), 3), (b"a", 1)]


@pytest.mark.skipif(not VOCABULARY.exists(), reason="the RWKV vocabulary is not available")
def test_real_vocabulary():
    """The longest prefixes at 20,000 places of real text are those found in a dict."""
    pieces, hat = {piece: id_ for id_, piece in slow_read(VOCABULARY.read_bytes()).items()}, Hat()
    longest = max(map(len, pieces))
    assert hat.insert(list(pieces), list(pieces.values()), UNIQUE)[0] == lib.UNITOK_OK
    assert hat.walk(b"", 1 << 20, 65536) == sorted(pieces.items())
    rng = np.random.default_rng(1)
    corpora = sorted((DATA / "corpora").glob("*.txt.zst"))
    assert corpora
    for path in corpora:
        text = decompressed(path, 2_000_000)
        for at in rng.integers(0, len(text), 20_000 // len(corpora)):
            window = text[at : at + 200]
            tries = (window[:n] for n in range(min(longest, len(window)), 0, -1))
            found = next((piece for piece in tries if piece in pieces), None)
            assert hat.longest_prefix(window) == (found and (len(found), pieces[found]))
