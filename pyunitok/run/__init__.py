"""One tokenizing run: options, plan, threads, shards and parts, merge, upload."""
