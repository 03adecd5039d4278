"""Corpus files in, blocks of packed documents out: the one interface between readers and the pipeline.

    inputs.find     arguments of the command → Source, one a file, with compression and format decided
    stream.open     Source → ByteStream: the decompressed bytes                     (zst.py; members.py: gz, bz2, xz)
    text.py         ByteStream → Block: a file, its lines, or parts at a separator
    jsonl.py        ByteStream → Block: one string field of each line
    parquet.py      file       → Block: one column of text

A reader fills one Block at a time into buffers that the caller owns, so that the thread which decompresses a block can
encode it while it is still in its cache. A document longer than a block is spread over several, cut only where
`split` (Tokenizer.split) proves that its ids do not change.
"""
