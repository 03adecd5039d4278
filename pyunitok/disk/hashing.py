"""ChunkHash computes the XXH64 of every 64 MiB of a stream, so that ranges can be verified and hashing can resume."""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

HASH_CHUNK_BYTES = 64 << 20


@dataclass(frozen=True)
class Hashed:
    """The length and the hashes of a stream, or of the beginning of a stream.

    n_bytes   the length
    digests   XXH64 of each complete chunk of HASH_CHUNK_BYTES, in hexadecimal
    rest      XXH64 of the bytes after the last complete chunk; "" if there are none
    """

    n_bytes: int = 0
    digests: tuple[str, ...] = ()
    rest: str = ""

    def all_digests(self) -> list[str]:
        """One digest per chunk, as in manifests. The last chunk may be shorter."""
        return [*self.digests, self.rest] if self.rest else list(self.digests)

    @classmethod
    def from_all(cls, n_bytes: int, digests: list[str]) -> Hashed:
        """The inverse of all_digests()."""
        n_whole = n_bytes // HASH_CHUNK_BYTES
        return cls(n_bytes, tuple(digests[:n_whole]), "".join(digests[n_whole:]))

    @property
    def rest_at(self) -> int:
        """Where the rest begins. The state of XXH64 cannot be stored, so hashing resumes here."""
        return len(self.digests) * HASH_CHUNK_BYTES


class ChunkHash:
    """Hashes a stream from its beginning, or from the beginning of a later chunk."""

    def __init__(self, digests: tuple[str, ...] = ()) -> None:
        """digests: the hashes of the earlier chunks."""
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
        """The hashes of all data so far. More updates may follow."""
        return Hashed(self.n_bytes, tuple(self.digests), self._hash.hexdigest() if self._n_hashed else "")
