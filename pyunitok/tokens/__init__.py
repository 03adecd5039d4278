"""Token files: reading, manifests, metadata, verification, decoding and statistics."""
