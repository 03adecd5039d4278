"""Reads and writes tiktoken's files of ranks: for each piece, a line with its base64, a space and its rank.

    IQ== 0
    Ig== 1

The rank is also the id. Such a file contains neither the pattern nor the special tokens. KNOWN lists both for published
files, which the reader recognises by their SHA-256; for other files, the caller passes them. Some files belong to
several tokenizers; the name of a pattern selects one. Unlike tiktoken, the reader rejects invalid base64, ranks with
signs or underscores, repeated pieces, and files that lack one of the 256 bytes. A single "=" stands for the empty
piece, as in one of Whisper's files.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from pyunitok.errors import OptionError, VocabularyError
from pyunitok.vocab import patterns, ranks
from pyunitok.vocab.patterns import ReadOptions
from pyunitok.vocab.vocabulary import Vocabulary

_FIRST_LINE = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|=)? [0-9]+(?:\r?\n|$)")
_DIGITS_MAX = 10
_LANGUAGES = (
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml"
    " cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am"
    " yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su"
)


def _numbered(*tokens: str) -> Callable[[int, Mapping[int, str]], dict[str, int]]:
    """A function for Known.special_tokens. The ids of these tokens begin after the last id of the pieces."""
    return lambda n, names: {token: n + k for k, token in enumerate(tokens)}


def _fixed(**tokens: int) -> Callable[[int, Mapping[int, str]], dict[str, int]]:
    return lambda n, names: {f"<|{token}|>": id_ for token, id_ in tokens.items()}


def _reserved(name: str, begin: int, end: int) -> list[str]:
    return [f"<|{name}reserved_special_token_{k}|>" for k in range(begin, end)]


_LLAMA3 = (
    "<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
    "<|python_tag|>", "<|image|>", *_reserved("", 2, 246),
)  # fmt: skip
_LLAMA4 = (
    "<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
    "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>", *_reserved("text_post_train_", 0, 6),
    "<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>", *_reserved("text_post_train_", 8, 69),
    "<|image_start|>", "<|image_end|>", *_reserved("vision_", 0, 2), "<|tile_x_separator|>", "<|tile_y_separator|>",
    *_reserved("vision_", 2, 6), "<|image|>", *_reserved("vision_", 6, 7), "<|patch|>", *_reserved("vision_", 7, 1048),
    *_reserved("reasoning_", 0, 8), "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>",
    *_reserved("", 0, 904),
)  # fmt: skip
_HARMONY = {
    200002: "<|return|>", 200003: "<|constrain|>", 200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>",
    200008: "<|message|>", 200012: "<|call|>", 200018: "<|endofprompt|>",
}  # fmt: skip


def _whisper(languages: str) -> Callable[[int, Mapping[int, str]], dict[str, int]]:
    return _numbered(
        "<|endoftext|>", "<|startoftranscript|>", *(f"<|{language}|>" for language in languages.split()),
        "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>",
        *(f"<|{k * 0.02:.2f}|>" for k in range(1501)),
    )  # fmt: skip


def _harmony(n: int, names: Mapping[int, str]) -> dict[str, int]:
    """The tokens of gpt-oss. As in tiktoken, id 200018 has two names."""
    numbered = {_HARMONY.get(id_, f"<|reserved_{id_}|>"): id_ for id_ in range(200000, 201088)}
    return {"<|startoftext|>": 199998, "<|endoftext|>": 199999, **numbered, "<|reserved_200018|>": 200018}


# {id minus the first special id: name} of Kimi K2's special tokens; later models list them in tokenizer_config.json.
_KIMI_K2 = {
    0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>", 6: "<|start_header_id|>",
    7: "<|end_header_id|>", 9: "[EOT]", 10: "<|im_system|>", 11: "<|tool_calls_section_begin|>",
    12: "<|tool_calls_section_end|>", 13: "<|tool_call_begin|>", 14: "<|tool_call_argument_begin|>",
    15: "<|tool_call_end|>", 17: "<|im_middle|>", 254: "[UNK]", 255: "[PAD]",
}  # fmt: skip


def _kimi(n: int, names: Mapping[int, str]) -> dict[str, int]:
    """Kimi's 256 special tokens. The names are in `names` or, if `names` is empty, in _KIMI_K2; tokens without a name
    are numbered."""
    known = names or {n + k: name for k, name in _KIMI_K2.items()}
    return {known.get(id_, f"<|reserved_token_{id_}|>"): id_ for id_ in range(n, n + 256)}


class Known(NamedTuple):
    """A published tokenizer with a file of ranks.

    special_tokens  returns {text: id}, given the number of ranks and {id: name} from tokenizer_config.json
    apply_nfc       whether texts are normalized to NFC
    cuts            whether texts are cut: see ranks.cut()
    variants        {name of a pattern: the special tokens that it selects}
    """

    pattern: str
    special_tokens: Callable[[int, Mapping[int, str]], dict[str, int]]
    apply_nfc: bool = False
    cuts: bool = False
    variants: Mapping[str, Callable[[int, Mapping[int, str]], dict[str, int]]] = MappingProxyType({})


KNOWN: dict[str, Known] = {
    # r50k_base, also gpt2.tiktoken of Whisper's English models
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": Known(
        "r50k", _fixed(endoftext=50256), variants={"whisper": _whisper(_LANGUAGES)}
    ),
    # p50k_base
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": Known(
        "p50k", _fixed(endoftext=50256),
        variants={"p50k_edit": _fixed(endoftext=50256, fim_prefix=50281, fim_middle=50282, fim_suffix=50283)},
    ),
    # cl100k_base
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": Known(
        "cl100k",
        _fixed(endoftext=100257, fim_prefix=100258, fim_middle=100259, fim_suffix=100260, endofprompt=100276),
    ),
    # o200k_base
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": Known(
        "o200k", _fixed(endoftext=199999, endofprompt=200018), variants={"o200k_harmony": _harmony}
    ),
    # Llama 3, with the names of Llama 3.1 and later
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": Known("llama3", _numbered(*_LLAMA3)),
    # Llama 4
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": Known("o200k", _numbered(*_LLAMA4)),
    # Qwen 1
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Known(
        "qwen2",
        _numbered("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{k}|>" for k in range(205))),
        apply_nfc=True,
    ),
    # Kimi K2 to K3
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103": Known("kimi", _kimi, cuts=True),
    # Whisper's multilingual.tiktoken: 99 languages, and Cantonese in large-v3 and later
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": Known(
        "whisper", _whisper(_LANGUAGES), variants={"whisper_v3": _whisper(_LANGUAGES + " yue")}
    ),
}


def looks_like_ranks(data: bytes) -> bool:
    """Whether the first line contains a piece and its rank."""
    return _FIRST_LINE.match(data) is not None


def is_known(data: bytes) -> bool:
    """Whether KNOWN contains this file."""
    return hashlib.sha256(data).hexdigest() in KNOWN


def read(data: bytes, name: str, options: ReadOptions) -> Vocabulary:
    """The vocabulary in a file's bytes. Raises VocabularyError, which names the file and the line, or OptionError if
    the file is unknown and `options` has no pattern."""
    pieces = parse(data, name)
    known = KNOWN.get(hashlib.sha256(data).hexdigest())
    pattern = options.pattern or (known.pattern if known else None)
    if pattern is None:
        raise OptionError(
            f"{name}: a file of ranks does not contain its pre-tokenizer pattern; pass it with --pattern or pattern="
            f" ({', '.join(patterns.PATTERNS)} or a regular expression)"
        )
    tokens: dict[str, int] = {}
    if options.special_tokens is not None:
        tokens = ranks.checked_special_tokens(options.special_tokens, name)
    if known and (options.special_tokens is None or (known.cuts and tokens)):
        special_tokens = known.variants.get(pattern, known.special_tokens)
        tokens = special_tokens(len(pieces), {id_: token for token, id_ in tokens.items()}) | tokens
    return ranks.vocabulary(
        pieces, patterns.check(patterns.parts_for_tiktoken(pattern), name), tokens, name,
        apply_nfc=known is not None and known.apply_nfc, cuts=known is not None and known.cuts,
    )  # fmt: skip


def parse(data: bytes, name: str) -> dict[bytes, int]:
    """{piece: rank}. Raises VocabularyError, which names the line."""
    ret: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        words = line.split(b" ")
        try:
            token, digits = words
            piece = b64decode(token, validate=True) if token != b"=" else b""
            if not digits.isdigit() or len(digits) > _DIGITS_MAX:
                raise ValueError
        except ValueError:
            if line:
                _refuse(words, f"{name}, line {number}")
            continue
        if piece in ret:
            raise VocabularyError(f"{name}, line {number}: {piece[:64]!r} is repeated; its first rank is {ret[piece]}")
        ret[piece] = int(digits)
    return ret


def _refuse(words: list[bytes], where: str) -> NoReturn:
    if len(words) != 2:
        raise VocabularyError(f"{where}: expected base64, a space and a rank; found {b' '.join(words)[:64]!r}")
    token, digits = words
    if digits.isdigit() and len(digits) <= _DIGITS_MAX:
        raise VocabularyError(f"{where}: {token[:64]!r} is not base64")
    raise VocabularyError(f"{where}: {digits[:64]!r} is not a rank of at most {_DIGITS_MAX} digits")


def write_ranks(pieces: Mapping[bytes, int]) -> bytes:
    """The contents of a file with these ranks, in ascending order."""
    ordered = sorted(pieces.items(), key=lambda item: item[1])
    return b"".join(b"%s %d\n" % (b64encode(piece), rank) for piece, rank in ordered)
