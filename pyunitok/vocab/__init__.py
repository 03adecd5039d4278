"""Model files in and out: one module per format; each `read(data: bytes, name: str) -> Vocabulary`."""
