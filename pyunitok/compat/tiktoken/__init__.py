"""Replaces tiktoken 0.14, with the same ids.

    import pyunitok.compat.tiktoken as tiktoken

Differences:
    - nothing is downloaded: get_encoding() reads the files in TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR or tiktoken's
      default cache, named as tiktoken names them there or as OpenAI does (cl100k_base.tiktoken)
    - only OpenAI's encodings are available by name; plugins in tiktoken_ext are ignored
    - if several special tokens match at a position, the longest allowed one is used; in tiktoken, the order of a hash
      table selects one of them, allowed or not, and a token that is not allowed is encoded as plain text
    - if several special tokens share an id, it decodes to the first; in tiktoken, the order of a hash table decides
    - a pattern that the C library does not support raises PatternError, a ValueError
    - all 256 bytes must have ranks; text that the pattern does not match is encoded, whereas tiktoken drops it
    - texts with many consecutive spaces do not cause a panic
"""

from __future__ import annotations

from pyunitok.compat.tiktoken.core import Encoding, encoding_for_model, get_encoding
from pyunitok.compat.tiktoken.models import encoding_name_for_model
from pyunitok.compat.tiktoken.registry import list_encoding_names

__version__ = "0.14.0"  # the version of tiktoken that this package replaces

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]
