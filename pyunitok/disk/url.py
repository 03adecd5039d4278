"""Whether an argument is a URL, its parts, and the secrets in it; remote.py, which few runs need, reads what is there.

A URL may hold a password or a signature, with which anyone can read the file. It is used as it is to open the file;
whatever is stored or shown goes through shown() or redacted() first:

    https://USER:PASSWORD@host/a.gz?part=2&token=abc   ──▶   https://host/a.gz?part=2&token=REDACTED
    https://host/a.gz?X-Amz-Date=…&X-Amz-Signature=…   ──▶   https://host/a.gz
"""

from __future__ import annotations

import hashlib
import re

# Query parameters that sign a URL, and one that shows that it is signed so. They say nothing about the file, and are
# others each time, so they are left out: AWS v4, GCS v4, AWS v2 with CloudFront, GCS v2 and OSS, Azure, COS.
_SIGNED = {
    "x-amz-signature": r"x-amz-.*",
    "x-goog-signature": r"x-goog-.*",
    "signature": r"signature|expires|policy|key-pair-id|(aws|oss)accesskeyid|googleaccessid|(x-amz-)?security-token",
    "sig": r"sig|s[eiprtv]|spr|srt?|ss|sk[estv]|sk[ot]id|s[aus]oid|scid|sdd|ses|rsc[cdelt]|api-version",
    "q-signature": r"q-.*|x-cos-security-token",
}
# Any other parameter whose value may be a secret, by the end of its name.
_SECRET = re.compile(
    r"(.*(token|signature|secret|password|passwd|credentials?|key|key-?id|accessid)|(.*[-_.])?(sig|sas|jwt|pwd|pass|auth)"
    r"|x-amz-.*|x-goog-.*)$"
)
_USER = re.compile(r"(?<=://)[^/?#\s<>]*@")
_QUERY = re.compile(r"[?#][^?#\s'\"<>]*")  # in a message; a fragment has the same form
_QUERY_OF_URL = re.compile(r"[?#][^?#]*")
_PAIRS = re.compile("&(?:amp;)?|;(?=[^&;]*=)")  # some values have semicolons


def is_url(path: str) -> bool:
    return "://" in path and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def without_file_scheme(path: str) -> str:
    """file:///a is /a; everything else as it is."""
    return path[len("file://") :] if path.lower().startswith("file://") else path


def without_query(path: str) -> str:
    """https://host/a.gz?token=x is https://host/a.gz; everything else as it is."""
    return re.split("[?#]", path, maxsplit=1)[0] if re.match("https?://", path, re.I) else path


def redacted(text: str) -> str:
    """A message, with the URLs in it as shown() gives them."""
    return _without_secrets(text, _QUERY)


def shown(path: str) -> str:
    """The path or URL of a file as it is stored and shown: a URL without user information, signature and secrets."""
    return _without_secrets(path, _QUERY_OF_URL) if is_url(path) else path


def hash_of_secrets(url: str) -> str | None:
    """A hash of the values that shown() replaces, which may say which file it is; None if there are none."""
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
    """("name=value", whether the value is a secret) of a query, without what signs it."""
    pairs = _PAIRS.split(query[1:])
    names = [re.sub("%2[dD]", "-", pair.partition("=")[0]).lower() for pair in pairs]
    signs = [names_of for marker, names_of in _SIGNED.items() if marker in names]
    ret = []
    for pair, name in zip(pairs, names, strict=True):
        if any(re.fullmatch(names_of, name) for names_of in signs):
            continue
        ret.append((pair, "=" in pair and _SECRET.match(name) is not None))
    return ret
