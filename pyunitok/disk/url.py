"""Recognizes URLs and removes the secrets in them. remote.py reads the files.

A URL may contain a password or a signature, with which anyone can read the file. The complete URL is used only to open
the file; shown() or redacted() remove the secrets before a URL is stored or shown:

    https://USER:PASSWORD@host/a.gz?part=2&token=abc   ──▶   https://host/a.gz?part=2&token=REDACTED
    https://host/a.gz?X-Amz-Date=…&X-Amz-Signature=…   ──▶   https://host/a.gz
"""

from __future__ import annotations

import hashlib
import re

# Signature schemes: the parameter that identifies the scheme, and all query parameters of the scheme. The parameters do
# not identify the file and differ between URLs of the same file, so they are removed. In order: AWS v4; GCS v4; AWS v2,
# CloudFront, GCS v2 and OSS; Azure; COS.
_SIGNED = {
    "x-amz-signature": r"x-amz-.*",
    "x-goog-signature": r"x-goog-.*",
    "signature": r"signature|expires|policy|key-pair-id|(aws|oss)accesskeyid|googleaccessid|(x-amz-)?security-token",
    "sig": r"sig|s[eiprtv]|spr|srt?|ss|sk[estv]|sk[ot]id|s[aus]oid|scid|sdd|ses|rsc[cdelt]|api-version",
    "q-signature": r"q-.*|x-cos-security-token",
}
# Names of parameters outside these schemes whose values may be secrets.
_SECRET = re.compile(
    r"(.*(token|signature|secret|password|passwd|credentials?|key|key-?id|accessid)|(.*[-_.])?(sig|sas|jwt|pwd|pass|auth)"
    r"|x-amz-.*|x-goog-.*)$"
)
_USER = re.compile(r"(?<=://)[^/?#\s<>]*@")
_QUERY = re.compile(r"[?#][^?#\s'\"<>]*")  # matches a query or a fragment in a message
_QUERY_OF_URL = re.compile(r"[?#][^?#]*")
# Some values contain semicolons, so a semicolon separates parameters only if what follows contains "=".
_PAIRS = re.compile("&(?:amp;)?|;(?=[^&;]*=)")


def is_url(path: str) -> bool:
    return "://" in path and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def without_file_scheme(path: str) -> str:
    """The path in a file:// URL, "/a" for "file:///a". Any other path is returned unchanged."""
    return path[len("file://") :] if path.lower().startswith("file://") else path


def without_query(path: str) -> str:
    """An HTTP URL without its query, "https://host/a.gz" for "https://host/a.gz?token=x". Any other path is returned
    unchanged."""
    return re.split("[?#]", path, maxsplit=1)[0] if re.match("https?://", path, re.I) else path


def redacted(text: str) -> str:
    """A message with the secrets removed from all URLs in it."""
    return _without_secrets(text, _QUERY)


def shown(path: str) -> str:
    """The path or URL of a file as stored and shown: without user information, signatures or secrets."""
    return _without_secrets(path, _QUERY_OF_URL) if is_url(path) else path


def hash_of_secrets(url: str) -> str | None:
    """A hash of the values that shown() replaces, which may identify the file; None if there are none."""
    if not is_url(url):
        return None
    values = [pair for query in _QUERY_OF_URL.findall(url) for pair, is_secret in _pairs(query) if is_secret]
    if not values:
        return None
    return hashlib.sha256("&".join(values).encode("utf-8", "surrogateescape")).hexdigest()


def _without_secrets(text: str, queries: re.Pattern[str]) -> str:
    if "=" not in text and "@" not in text:
        return text
    return queries.sub(lambda found: _without_secrets_in_query(found[0]), _USER.sub("", text))


def _without_secrets_in_query(query: str) -> str:
    pairs = _pairs(query)
    kept = [f"{pair.partition('=')[0]}=REDACTED" if is_secret else pair for pair, is_secret in pairs]
    if kept == _PAIRS.split(query[1:]):
        return query
    return query[0] + "&".join(kept) if kept else ""


def _pairs(query: str) -> list[tuple[str, bool]]:
    """("name=value", whether the value is a secret) for each parameter of a query, except a signature."""
    pairs = _PAIRS.split(query[1:])
    names = [re.sub("%2[dD]", "-", pair.partition("=")[0]).lower() for pair in pairs]
    signs = [names_of for marker, names_of in _SIGNED.items() if marker in names]
    ret = []
    for pair, name in zip(pairs, names, strict=True):
        if any(re.fullmatch(names_of, name) for names_of in signs):
            continue
        ret.append((pair, "=" in pair and _SECRET.match(name) is not None))
    return ret
