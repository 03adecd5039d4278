"""One tokenizing job: planned, run over threads, divided into shards or parts, merged, uploaded."""
