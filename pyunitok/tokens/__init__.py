"""Token files: read, described, verified, decoded, counted."""
