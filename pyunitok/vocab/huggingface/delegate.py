"""DelegatedRules: models of tokenizer.json that Hugging Face's library `tokenizers` encodes and decodes.

The C model beside it is only the table of pieces and ids. Documents are encoded one at a time, each in the thread that
asks: in a batch of one, for which `tokenizers` releases the GIL and uses one thread. A panic of the library, which
is no Exception, becomes an InputError.
"""

from __future__ import annotations

import json
import warnings
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from pyunitok._c import library
from pyunitok.errors import InputError, ModelWarning, UnitokError, VocabularyError
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import byte_level, utf8
from pyunitok.vocab.huggingface.decoders import SPACE, byte_runs
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.scratch import RulesScratch
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, UNKNOWN, Vocabulary

FORMAT = "huggingface 2"
GROWTH_MAX = 1000  # normalizers and decoders may make a text this many times as long
# A piece adds the same bytes to any text, the space at its beginning aside.
_SEPARATE_DECODERS = {"Sequence", "ByteLevel", "ByteFallback", "Fuse", "Metaspace", "Replace", "Strip"}
_MARK = 0x10FF00  # + byte: a character for private use that stands for the byte while `tokenizers` decodes


def guarded(call: Callable[..., Any], error: type[UnitokError], message: str, *arguments: Any, **options: Any) -> Any:
    """call(*arguments, **options); what it raises, Rust's panics too, becomes `error` with a message."""
    try:
        return call(*arguments, **options)
    except BaseException as raised:
        if not isinstance(raised, Exception) and type(raised).__name__ != "PanicException":
            raise  # Ctrl-C
        raise error(f"{message}: {str(raised)[:1000]}") from None


class DelegatedRules:
    """See scratch.TextRules. VocabularyError if `tokenizers` is not installed or does not load the document.

    name    of the model, for messages
    reason  why C does not encode it, for the same
    """

    memory_factor = 120  # measured: 44 to 112

    def __init__(self, document: bytes, name: str, reason: str, dtype: Any = np.uint32) -> None:
        try:
            import tokenizers  # optional
        except ImportError:
            raise VocabularyError(f"{reason}; install it: pip install 'pyunitok[huggingface]'") from None
        self._document, self._name, self._reason, self._dtype = document, name, reason, dtype
        self._open = tokenizers.Tokenizer.from_buffer
        self.algorithm = f"tokenizers {tokenizers.__version__}"
        self.warning = f"{name}: {self.algorithm} encodes the texts, some 30 times slower than C"
        self.library = self._opened(False)
        self.kind = type(self.library.model).__name__.lower()
        self.summary = f"{type(self.library.model).__name__}, by {self.algorithm}"
        self._decoders = {part.get("type") for part in _all_parts(json.loads(document).get("decoder"))}

    def _opened(self, special_is_text: bool) -> Any:
        message = f"{self._reason}; {self.algorithm} does not load it either"
        ret = guarded(self._open, VocabularyError, message, self._document)
        ret.no_truncation()
        ret.no_padding()
        ret.encode_special_tokens = special_is_text
        return ret

    @cached_property
    def _library_for_plain(self) -> Any:
        """With special tokens as text: a setting of the object, which threads share."""
        return self._opened(True)

    # ---------------------------------------------------------------------------------------------- encoding ---

    def is_plain(self, data: Bytes, offsets: Offsets) -> bool:
        return False

    def _encode(self, call: Callable[..., Any], texts: Any, text: str, **options: Any) -> Any:
        message = f"{self._name}: {self.algorithm} fails at the text that begins with {text[:40]!r}"
        return guarded(call, InputError, message, texts, **options)

    def encode(
        self, scratch: RulesScratch | None, data: bytes, *, special: bool = True, add_special: bool = False
    ) -> Ids:
        text = utf8.replaced(data)
        call = (self.library if special else self._library_for_plain).encode_batch_fast
        found = self._encode(call, [text], text, add_special_tokens=add_special)[0].ids
        return np.array(found, self._dtype)

    def tokens(self, scratch: RulesScratch, data: bytes) -> list[str]:
        text = utf8.replaced(data)
        tokens: list[str] = self._encode(self.library.encode, text, text, add_special_tokens=False).tokens
        return tokens

    def spans(self, data: bytes) -> Offsets:
        escaped = utf8.escaped(data)
        text = utf8.replace_escapes(escaped)
        found = self._encode(self.library.encode, text, text, add_special_tokens=False)
        sizes = [len(character.encode("utf-8", "surrogateescape")) for character in escaped]
        starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        offsets = starts[np.array(found.offsets, np.int64).reshape(-1, 2)]
        return np.column_stack((np.array(found.ids, np.int64), offsets))

    def normalize(self, text: str) -> str:
        normalizer = self.library.normalizer
        return text if normalizer is None else self._encode(normalizer.normalize_str, text, text)

    # ---------------------------------------------------------------------------------------------- decoding ---

    def decode_replaced(self, ids: list[int], skip_special: bool) -> str:
        message = f"{self._name}: {self.algorithm} cannot decode these ids"
        text: str = guarded(self.library.decode, InputError, message, ids, skip_special_tokens=skip_special)
        return text

    def bytes_of(self, piece: bytes) -> bytes:
        if other := self._decoders - _SEPARATE_DECODERS:
            raise VocabularyError(f"{self._name}: its decoder {other.pop()} joins pieces, so none has bytes of its own")
        return _bytes_of(piece.decode()) if "ByteLevel" in self._decoders else piece.replace(SPACE.encode(), b" ")

    def decode(self, ids: list[int], skip_special: bool) -> str:
        text = self.decode_replaced(ids, skip_special)
        if "\ufffd" not in text or not self._decoders & {"ByteLevel", "ByteFallback"}:
            return text
        special = {token.content for token in self.library.get_added_tokens_decoder().values() if token.special}
        tokens = [self.library.id_to_token(id_) for id_ in ids]
        tokens = [token for token in tokens if not (skip_special and token in special)]
        if self._decoders == {"ByteLevel"}:
            return utf8.escaped(b"".join(map(_bytes_of, tokens)))
        marked = "".join(self.library.decoder.decode(list(_marked(tokens))))
        return marked.translate({_MARK + byte: 0xDC00 + byte for byte in range(256)})


def _marked(tokens: list[str]) -> Iterator[str]:
    """The tokens, with a mark for each byte piece of a run that is not UTF-8."""
    for run, data in byte_runs(tokens):
        is_broken = data is not None and utf8.replaced(data) != data.decode("utf-8", "ignore")
        yield from (chr(_MARK + byte) for byte in data or b"") if is_broken else run


def _bytes_of(token: str) -> bytes:
    try:
        return byte_level.bytes_of(token)
    except KeyError:
        return token.encode()


# --------------------------------------------------------------------------------------------------- reading ----


_ROLES = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>"), "eos": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
    "pad": ("<pad>", "[PAD]"),
}  # fmt: skip


def special_ids(table: Mapping[str, int]) -> dict[str, int]:
    """Ids by role, from the ids of pieces and added tokens."""
    found = {role: next((table[name] for name in names if name in table), -1) for role, names in _ROLES.items()}
    return {role: id_ for role, id_ in found.items() if id_ >= 0}


def read(data: bytes, document: Fields, name: str, reason: str) -> Vocabulary:
    """The pieces of a file, and the file itself. VocabularyError as DelegatedRules, or it names a field."""
    _check_growth(document)
    delegate = DelegatedRules(data, name, reason)
    table, tokens = delegate.library.get_vocab(), delegate.library.get_added_tokens_decoder()
    n_ids = 1 + max(table.values(), default=-1)
    if n_ids > library.WIDE_ID_MAX + 1:
        document.refuse(f"the largest id is {n_ids - 1}; at most {library.WIDE_ID_MAX} is supported", "model.vocab")
    patterns = [delegate.normalize(token.content) for token in tokens.values() if token.normalized]
    if "" in patterns or len(set(patterns)) < len(patterns):  # which one `tokenizers` finds differs from load to load
        document.refuse("a token is nothing once normalized, or the same as another", "added_tokens")
    shown = {id_: tokens[id_].content if id_ in tokens else delegate.library.id_to_token(id_) for id_ in range(n_ids)}
    names = {id_: token for id_, token in shown.items() if token}
    model, special = document.child("model").values, special_ids(table)
    unknown = model.get("unk_id", table.get(model.get("unk_token") or ""))
    if unknown in names:
        special["unk"] = unknown
    controls = {id_ for id_ in names if table.get(names[id_]) != id_ or (id_ in tokens and tokens[id_].special)}
    types = [UNKNOWN if id_ == unknown else CONTROL if id_ in controls else NORMAL for id_ in names]
    after = _template_end(delegate, document, n_ids)
    eod_id = special.get("eos", after[0] if len(after) == 1 else None)
    for fields in document.children("added_tokens") if document.has("added_tokens") else ():
        content, id_ = fields.string("content"), table.get(fields.string("content"), -1)
        if id_ != fields.values.get("id") and content:
            message = f"{content[:40]!r} has the id {id_}, as in tokenizers, not {fields.values.get('id')}"
            warnings.warn(ModelWarning(f"{fields.path('id')}: {message}"), stacklevel=2)
    return Vocabulary.pack(
        [token.encode() for token in names.values()], np.array(list(names), np.int64), eod_id=eod_id,
        eod_piece=None if eod_id is None else names[eod_id], name=name, kind="bpe",
        flags=library.MODEL_FLAGS["listed_merges"], merges=np.zeros(0, np.int64), types=np.array(types, np.uint8),
        special=special, prepare={"format": FORMAT, "json": data.decode()},
    )  # fmt: skip


def _template_end(delegate: DelegatedRules, document: Fields, n_ids: int) -> list[int]:
    """The ids that the post-processor puts behind a text. VocabularyError if one of its ids has no piece."""
    try:
        text, whole = (delegate.encode(None, b"a", add_special=add).tolist() for add in (False, True))
    except InputError:  # "a" is unknown, and the model has no id for that
        return []
    if max(whole, default=-1) >= n_ids:
        document.refuse(f"id {max(whole)} has no piece; the largest id is {n_ids - 1}", "post_processor")
    begins = [k for k in range(len(whole)) if whole[k : k + len(text)] == text]
    return whole[begins[0] + len(text) :] if text and begins else []


def _all_parts(component: Any) -> Iterator[dict[str, Any]]:
    """The parts of a normalizer or decoder that is a Sequence, nested or not."""
    if isinstance(component, list):
        for part in component:
            yield from _all_parts(part)
    elif isinstance(component, dict):
        yield component
        for key in ("normalizers", "decoders"):
            yield from _all_parts(component.get(key))


def _check_growth(document: Fields) -> None:
    """Refuses files that could turn a text into gigabytes."""
    for key in ("normalizer", "decoder"):
        growth = 1.0
        for part in _all_parts(document.values.get(key)):
            content, charsmap, pattern = map(part.get, ("content", "precompiled_charsmap", "pattern"))
            if isinstance(content, str) and isinstance(pattern, dict):
                n = len(str(pattern.get("String", "")))
                growth *= max(1, len(content) / n) if n else 1 + len(content)  # a Regex may match nothing
            elif isinstance(charsmap, str):
                growth *= _growth_of_charsmap(charsmap)
        if growth > GROWTH_MAX:
            document.refuse(f"it can make a text more than {GROWTH_MAX} times as long as it was", key)


def _growth_of_charsmap(text: str) -> float:
    """By its longest replacement; Unicode's own rules, which one file may apply twice, do not count."""
    try:
        blob = b64decode(text)
    except ValueError:
        return 1  # `tokenizers` refuses it
    longest = max(map(len, blob[4 + int.from_bytes(blob[:4], "little") :].split(b"\0")))
    return 1 if longest <= 64 else longest
