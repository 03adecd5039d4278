"""Whether an argument is a URL, and parts of it; remote.py, which few runs need, reads what is there."""

from __future__ import annotations

import re


def is_url(path: str) -> bool:
    return "://" in path and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def without_file_scheme(path: str) -> str:
    """file:///a is /a; everything else as it is."""
    return path[len("file://") :] if path.lower().startswith("file://") else path


def without_query(path: str) -> str:
    """https://host/a.gz?token=x is https://host/a.gz; everything else as it is."""
    return re.split("[?#]", path, maxsplit=1)[0] if re.match("https?://", path, re.I) else path
