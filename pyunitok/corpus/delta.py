"""Checks the number of lengths in a delta-encoded Parquet page, because pyarrow decodes as many as the page claims.

    lengths   varint values per block, varint miniblocks per block, varint values, varint first;  block, block, …
    block     varint smallest step, u8 bits[miniblocks], miniblocks with `bits` bits per value

    DELTA_LENGTH_BYTE_ARRAY   lengths, texts           DELTA_BYTE_ARRAY   prefix lengths, suffix lengths, suffixes
"""

from __future__ import annotations

from pyunitok.corpus.thrift import ThriftReader

MAX_BLOCK_VALUES = 1 << 20  # the maximum accepted; writers use 128 to a few thousand


def check_lengths(data: bytes, at: int, n_values: int, *, with_prefixes: bool) -> None:
    """Raises ValueError if data[at:] contains more than n_values lengths, IndexError if the data ends too early."""
    reader = ThriftReader(data, at)
    if with_prefixes:
        _skip_blocks(reader, *_head(reader, n_values))
    _head(reader, n_values)


def _head(reader: ThriftReader, most: int) -> tuple[int, int, int]:
    """(values per miniblock, miniblocks per block, values)"""
    in_block, n_mini, n_values = reader.varint(), reader.varint(), reader.varint()
    reader.varint()
    if not 0 < n_mini <= in_block <= MAX_BLOCK_VALUES or in_block % n_mini or in_block // n_mini % 32:
        raise ValueError(f"invalid delta-encoded blocks of {in_block} values in {n_mini} miniblocks")
    if n_values > most:
        raise ValueError(f"{n_values} delta-encoded lengths in a page of {most} values")
    return in_block // n_mini, n_mini, n_values


def _skip_blocks(reader: ThriftReader, in_mini: int, n_mini: int, n_values: int) -> None:
    n_left = n_values - 1  # the first value is in the header
    while n_left > 0:
        reader.varint()
        widths = reader.data[reader.at : reader.at + n_mini]
        reader.at += len(widths)
        if len(widths) < n_mini:
            raise IndexError
        for width in widths:
            if n_left <= 0:
                break  # writers omit miniblocks without values
            reader.at += in_mini // 8 * width
            n_left -= in_mini
