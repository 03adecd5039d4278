"""Declares and checks the options of exports. Each format uses some of them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from pyunitok.errors import OutputError

MAX_SHARD_TOKENS = (1 << 31) - 1  # an llm.c header counts tokens in an int32


@dataclass(frozen=True)
class Options:
    """name          the base name of the files, unless the format prescribes it
    val_fraction  nanogpt: the last documents with at least this share of the tokens become val.bin
    shards        infini-gram: the number of parts, of about equal size
    shard_tokens  llm.c: the maximum number of tokens in a file
    eot           llm.c: the id before each document, if the token file has no eod
    token_dtype   infini-gram: "uint32" writes every id in four bytes
    rename_ids    infini-gram: swap ids from 65,280 on with unused smaller ids, and write renamed.npy
    """

    name: str
    val_fraction: float = 0.0
    shards: int = 1
    shard_tokens: int = MAX_SHARD_TOKENS
    eot: int | None = None
    token_dtype: str | None = None
    rename_ids: bool = False

    def check(self, taken: tuple[str, ...], to: str) -> None:
        """Raise OutputError for an option that is out of range, or that was given although the format does not use
        it."""
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name != "name" and given != field.default and field.name not in taken:
                raise OutputError(f"--{field.name.replace('_', '-')} does not apply to {to}")
        if not self.name or "/" in self.name or "\\" in self.name or self.name in (".", ".."):
            raise OutputError(f"{self.name!r} is not a valid file name")
        if not 0 <= self.val_fraction < 1:
            raise OutputError(f"--val-fraction must be at least 0 and below 1, not {self.val_fraction}")
        if self.shards < 1 or not 1 <= self.shard_tokens <= MAX_SHARD_TOKENS:
            raise OutputError(f"--shards must be at least 1, and --shard-tokens from 1 to {MAX_SHARD_TOKENS}")
        if self.token_dtype not in (None, "uint16", "uint32"):
            raise OutputError(f"ids are uint16 or uint32, not {self.token_dtype}")
