"""ChunkHash: XXH64 of every 64 MiB of a stream, so that parts can be checked, and another process can continue."""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

HASH_CHUNK_BYTES = 64 << 20


@dataclass(frozen=True)
class Hashed:
    """The length and the hashes of the first part of a stream.

    n_bytes   its length
    digests   XXH64 of each whole HASH_CHUNK_BYTES, in hexadecimal
    rest      XXH64 of what follows them; "" where nothing does
    """

    n_bytes: int = 0
    digests: tuple[str, ...] = ()
    rest: str = ""

    def all_digests(self) -> list[str]:
        """As in manifests: one for each chunk, the last of which may be shorter."""
        return [*self.digests, self.rest] if self.rest else list(self.digests)

    @classmethod
    def from_all(cls, n_bytes: int, digests: list[str]) -> Hashed:
        """The inverse of all_digests()."""
        n_whole = n_bytes // HASH_CHUNK_BYTES
        return cls(n_bytes, tuple(digests[:n_whole]), "".join(digests[n_whole:]))

    @property
    def rest_at(self) -> int:
        """Where the rest begins. The state of XXH64 cannot be stored, so to continue, read from here."""
        return len(self.digests) * HASH_CHUNK_BYTES


class ChunkHash:
    """Hashes a stream from its beginning, or from a chunk's."""

    def __init__(self, digests: tuple[str, ...] = ()) -> None:
        """digests: of the chunks before."""
        self.n_bytes = len(digests) * HASH_CHUNK_BYTES
        self.digests = list(digests)
        self._hash, self._n_hashed = xxhash.xxh64(), 0

    def update(self, data: memoryview) -> None:
        self.n_bytes += len(data)
        while len(data):
            part = data[: HASH_CHUNK_BYTES - self._n_hashed]
            self._hash.update(part)
            self._n_hashed += len(part)
            data = data[len(part) :]
            if self._n_hashed == HASH_CHUNK_BYTES:
                self.digests.append(self._hash.hexdigest())
                self._hash, self._n_hashed = xxhash.xxh64(), 0

    def state(self) -> Hashed:
        """Of all so far; more may follow."""
        return Hashed(self.n_bytes, tuple(self.digests), self._hash.hexdigest() if self._n_hashed else "")
