"""Corpus files in, blocks of packed documents out, to any worker: knows nothing of models or outputs.

    inputs.find     arguments of the command → Source, one a file, with compression and format decided
    stream.open     Source → ByteStream: the decompressed bytes                     (zst.py; members.py: gz, bz2, xz)
    text.py         ByteStream → Block: a file, its lines, or parts at a separator
    jsonl.py        ByteStream → Block: one string field of each line
    parquet.py      file       → Block: one column of text
    reading.py      Sources    → blocks, in order, in bounded memory
    workers.py      blocks     → results of a function of a block, called in threads, in order

A reader fills one Block at a time into buffers that the caller owns, so that the thread which reads a block can work on
it while it is still in its cache. A document longer than a block is spread over several, cut only where `split` allows.
"""
