"""Tokenizes a corpus in one run: options, plan, threads, shards and parts, merge, upload."""
