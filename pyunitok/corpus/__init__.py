"""Reads corpus files into blocks of packed documents. It does not depend on models or outputs.

    inputs.find      command arguments → a Source for each file, with its format and compression
    stream.open      Source → ByteStream: the decompressed bytes
    text.py          ByteStream → Block: a file, its lines, or parts at a separator
    jsonl.py         ByteStream → Block: one string field of each line
    parquet.py       file → Block: one column of text
    reading.py       Sources → blocks, in order, in bounded memory
    workers.py       blocks → results of a function that runs in several threads, in block order
    rewriting.py     blocks → text and JSON lines with edited documents, and compressed frames
    words.py         the words of a text
    formats.py       the table of formats
    compressions.py  the table of compressions

A reader fills one Block at a time in buffers that the caller owns, so that a thread can process a block while it is in
the CPU cache. A document longer than a block is split across several blocks, but only where `split` allows.
"""
