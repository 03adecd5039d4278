"""DelegatedRules encodes and decodes with Hugging Face's library `tokenizers`, whatever the tokenizer.json contains.

The C model is only used to map between pieces and ids. Each document is encoded in the calling thread as a batch of
one, for which `tokenizers` releases the GIL and starts no threads. A Rust panic, which Python raises as a
BaseException, becomes an InputError.
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
from pyunitok._c import model as c_model
from pyunitok.errors import InputError, ModelWarning, UnitokError, VocabularyError
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import byte_level, utf8
from pyunitok.vocab.huggingface import writer
from pyunitok.vocab.huggingface.decoders import SPACE, byte_runs
from pyunitok.vocab.huggingface.fields import Fields
from pyunitok.vocab.huggingface.scratch import RulesScratch, WholeTexts
from pyunitok.vocab.vocabulary import CONTROL, NORMAL, UNKNOWN, About, Vocabulary

FORMAT = "huggingface 2"
GROWTH_MAX = 1000  # normalizers and decoders may lengthen a text by at most this factor
# With these decoders, a piece always decodes to the same bytes, except for a leading space.
_SEPARATE_DECODERS = {"Sequence", "ByteLevel", "ByteFallback", "Fuse", "Metaspace", "Replace", "Strip"}
_MARK = 0x10FF00  # _MARK + byte is a private-use character that represents the byte while `tokenizers` decodes


def guarded(call: Callable[..., Any], error: type[UnitokError], message: str, *arguments: Any, **options: Any) -> Any:
    """Returns call(*arguments, **options). Exceptions and Rust panics become `error` with a message."""
    try:
        return call(*arguments, **options)
    except BaseException as raised:
        if not isinstance(raised, Exception) and type(raised).__name__ != "PanicException":
            raise  # Ctrl-C
        raise error(f"{message}: {str(raised)[:1000]}") from None


class DelegatedRules(WholeTexts):
    """See scratch.TextRules. Raises VocabularyError if `tokenizers` is not installed or cannot load the document.

    name    the model's name, for messages
    reason  why C cannot encode the model, for messages
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
        self.warning = f"{name}: {self.algorithm} encodes the texts, about 30 times slower than C ({reason})"
        self.library = self._opened(False)
        self.kind = type(self.library.model).__name__.lower()
        self.summary = f"{type(self.library.model).__name__}, by {self.algorithm}"
        self._decoders = {str(part.get("type")) for part in _all_parts(json.loads(document).get("decoder"))}

    def _opened(self, special_is_text: bool) -> Any:
        message = f"{self._reason}; {self.algorithm} cannot load it either"
        ret = guarded(self._open, VocabularyError, message, self._document)
        ret.no_truncation()
        ret.no_padding()
        ret.encode_special_tokens = special_is_text
        return ret

    @cached_property
    def _library_for_plain(self) -> Any:
        """An instance that encodes special tokens as text: threads share `library`, so its setting must not change."""
        return self._opened(True)

    # ---------------------------------------------------------------------------------------------- encoding ---

    def is_plain(self, data: Bytes, offsets: Offsets) -> bool:
        return False

    def _encode(self, call: Callable[..., Any], texts: Any, text: str, **options: Any) -> Any:
        message = f"{self._name}: {self.algorithm} cannot encode the text that begins with {text[:40]!r}"
        return guarded(call, InputError, message, texts, **options)

    def encode(
        self, scratch: RulesScratch | None, data: bytes, *, special: bool = True, add_special: bool = False
    ) -> Ids:
        return np.array(self.ids(data, special=special, add_special=add_special), self._dtype)

    def ids(self, data: bytes, *, special: bool = True, add_special: bool = False) -> list[int]:
        """The ids of encode(), even if the dtype of the model is too narrow for them."""
        text = utf8.replaced(data)
        call = (self.library if special else self._library_for_plain).encode_batch_fast
        found: list[int] = self._encode(call, [text], text, add_special_tokens=add_special)[0].ids
        return found

    def tokens(self, scratch: RulesScratch, data: bytes) -> list[str]:
        text = utf8.replaced(data)
        tokens: list[str] = self._encode(self.library.encode, text, text, add_special_tokens=False).tokens
        return tokens

    def spans(self, scratch: RulesScratch | None, data: bytes) -> Offsets:
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
            raise VocabularyError(
                f"{self._name}: its decoder {other.pop()} makes the bytes of a piece depend on adjacent pieces"
            )
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
    """The tokens; each run of byte pieces that is not valid UTF-8 is replaced by one mark per byte."""
    for run, data in byte_runs(tokens):
        is_broken = data is not None and utf8.replaced(data) != data.decode("utf-8", "ignore")
        yield from (chr(_MARK + byte) for byte in data or b"") if is_broken else run


def _bytes_of(token: str) -> bytes:
    try:
        return byte_level.bytes_of(token)
    except KeyError:
        return token.encode()


def delegated(model: c_model.Model, about: About, reason: str) -> DelegatedRules:
    """The library's rules for a tokenizer.json that was read for C. Raises VocabularyError as read() does."""
    ret = DelegatedRules(writer.write(Vocabulary.of(model, about)), about.name, reason, model.dtype)
    _check_template(ret, Fields(about.prepare, f"{about.name}: "), model.info.n_ids)
    return ret


# --------------------------------------------------------------------------------------------------- reading ----


_ROLES = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>"), "eos": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
    "pad": ("<pad>", "[PAD]"),
}  # fmt: skip


def special_ids(table: Mapping[str, int]) -> dict[str, int]:
    """Special ids by role, from the ids of pieces and added tokens."""
    found = {role: next((table[name] for name in names if name in table), -1) for role, names in _ROLES.items()}
    return {role: id_ for role, id_ in found.items() if id_ >= 0}


def read(data: bytes, document: Fields, name: str, reason: str) -> Vocabulary:
    """Read the pieces of a file, and store the file itself in Vocabulary.prepare.

    Raises VocabularyError for the same reasons as DelegatedRules, or if a field is invalid.
    """
    _check_growth(document)
    delegate = DelegatedRules(data, name, reason)
    table, tokens = delegate.library.get_vocab(), delegate.library.get_added_tokens_decoder()
    n_ids = 1 + max(table.values(), default=-1)
    if n_ids > library.WIDE_ID_MAX + 1:
        document.refuse(f"id {n_ids - 1} is too large; the maximum is {library.WIDE_ID_MAX}", "model.vocab")
    patterns = [delegate.normalize(token.content) for token in tokens.values() if token.normalized]
    if "" in patterns or len(set(patterns)) < len(patterns):  # `tokenizers` matches such tokens nondeterministically
        document.refuse("a normalized token is empty or a duplicate", "added_tokens")
    ids = sorted({*tokens, *table.values()})  # not range(n_ids): one id may be far larger than the others
    shown = {id_: tokens[id_].content if id_ in tokens else delegate.library.id_to_token(id_) for id_ in ids}
    names = {id_: token for id_, token in shown.items() if token}
    model, special = document.child("model").values, special_ids(table)
    unknown = model.get("unk_id", table.get(model.get("unk_token") or ""))
    if unknown in names:
        special["unk"] = unknown
    controls = {id_ for id_ in names if table.get(names[id_]) != id_ or (id_ in tokens and tokens[id_].special)}
    types = [UNKNOWN if id_ == unknown else CONTROL if id_ in controls else NORMAL for id_ in names]
    _check_template(delegate, document, n_ids)
    after = _template_end(delegate)
    eod_id = special.get("eos", after[0] if len(after) == 1 else None)
    for fields in document.children("added_tokens") if document.has("added_tokens") else ():
        content, id_ = fields.string("content"), table.get(fields.string("content"), -1)
        if id_ != fields.values.get("id") and content:
            message = f"{content[:40]!r} has id {id_}, as in `tokenizers`, not {fields.values.get('id')}"
            warnings.warn(ModelWarning(f"{fields.path('id')}: {message}"), stacklevel=2)
    return Vocabulary.pack(
        [token.encode() for token in names.values()], np.array(list(names), np.int64), eod_id=eod_id,
        eod_piece=None if eod_id is None else names[eod_id], name=name, kind="bpe",
        flags=library.MODEL_FLAGS["listed_merges"], merges=np.zeros(0, np.int64), types=np.array(types, np.uint8),
        special=special,
        prepare={"format": FORMAT, "json": data.decode(), "reason": reason.removeprefix(f"{name}: ")},
    )  # fmt: skip


def _check_template(delegate: DelegatedRules, document: Fields, n_ids: int) -> None:
    """Raises VocabularyError if the post-processor adds an id that has no piece."""
    try:
        added = max(delegate.ids(b"", add_special=True), default=-1)
    except InputError:  # `tokenizers` panics; encode() raises the same error
        return
    if added >= n_ids:
        document.refuse(f"id {added} has no piece; the largest id is {n_ids - 1}", "post_processor")


def _template_end(delegate: DelegatedRules) -> list[int]:
    """The ids that the post-processor adds after a text."""
    try:
        text, complete = (delegate.ids(b"a", add_special=add) for add in (False, True))
    except InputError:  # "a" is unknown, and the model has no unknown id
        return []
    begins = [k for k in range(len(complete)) if complete[k : k + len(text)] == text]
    return complete[begins[0] + len(text) :] if text and begins else []


def _all_parts(component: Any) -> Iterator[dict[str, Any]]:
    """The parts of a normalizer or decoder, with nested Sequences flattened."""
    if isinstance(component, list):
        for part in component:
            yield from _all_parts(part)
    elif isinstance(component, dict):
        yield component
        for key in ("normalizers", "decoders"):
            yield from _all_parts(component.get(key))


def _check_growth(document: Fields) -> None:
    """Reject files that could expand a short text to gigabytes."""
    for key in ("normalizer", "decoder"):
        growth = 1.0
        for part in _all_parts(document.values.get(key)):
            content, charsmap, pattern = map(part.get, ("content", "precompiled_charsmap", "pattern"))
            if isinstance(content, str) and isinstance(pattern, dict):
                n = len(str(pattern.get("String", "")))
                growth *= max(1, len(content) / n) if n else 1 + len(content)  # a Regex may match the empty string
            elif isinstance(charsmap, str):
                growth *= _growth_of_charsmap(charsmap)
        if growth > GROWTH_MAX:
            document.refuse(f"it can make a text more than {GROWTH_MAX} times longer", key)


def _growth_of_charsmap(text: str) -> float:
    """The length of the longest replacement. Lengths up to 64, which include Unicode's own rules, count as 1."""
    try:
        blob = b64decode(text)
    except ValueError:
        return 1  # `tokenizers` rejects such a charsmap
    longest = max(map(len, blob[4 + int.from_bytes(blob[:4], "little") :].split(b"\0")))
    return 1 if longest <= 64 else longest
