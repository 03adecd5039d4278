"""Preparation: everything done to a text before C encodes it, and the scratch that encodes the result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pyunitok._c import library
from pyunitok._c import model as c_model
from pyunitok._c import scratch as c_scratch
from pyunitok.errors import UnitokError, VocabularyError
from pyunitok.packed import Bytes, Ids, Offsets
from pyunitok.vocab import byte_level, limits, utf8
from pyunitok.vocab.huggingface import added, decoders, normalizers, pretokenizers, shortcut
from pyunitok.vocab.huggingface.fields import Fields, optional
from pyunitok.vocab.huggingface.unigram import Unigram
from pyunitok.vocab.vocabulary import About

FORMAT = "huggingface 1"


class Literal(NamedTuple):
    """A piece that the model by itself gets wrong: see unigram.py."""

    text: bytes


class Plain(NamedTuple):
    """A part of a text that the C side prepares by itself: see shortcut.py."""

    text: bytes


Part = bytes | int | Literal | Plain  # a piece, an added token, a piece for the second model, text


class Preparation:
    """Made once from an About and shared by threads. VocabularyError if its `prepare` is broken."""

    def __init__(self, about: About, model: c_model.Model) -> None:
        document = Fields(about.prepare, f"{about.name}: ")
        if document.string("format") != FORMAT:
            document.refuse("this release does not know it", "format")
        self._is_bytes = bool(model.info.flags & library.MODEL_FLAGS["bytes"])  # then there are tokens to find, no more
        self._normalizers = normalizers.read(optional(document, "normalizer"))
        self._pre_tokenizers = [] if self._is_bytes else pretokenizers.read(optional(document, "pre_tokenizer"))
        self._wants_first = any(getattr(one, "scheme", None) == "first" for one in self._pre_tokenizers)
        self._decoders = [] if self._is_bytes else decoders.read(optional(document, "decoder"))
        self._has_decoder = document.has("decoder")
        self.template = decoders.read_template(optional(document, "post_processor"))
        tokens = added.settled(document, self.normalize)
        self._raw, self._cooked = added.Finder(tokens, False, document), added.Finder(tokens, True, document)
        self._shown = {token.id: token.pattern for token in tokens}
        self._special = {token.content for token in tokens if token.special}
        model.complete()  # is_whole is known then
        self._model = model
        self._is_compact = bool(model.info.is_compact)
        short = shortcut.Shortcut(is_direct=True) if self._is_bytes else shortcut.of(document)
        restart = bool(model.info.flags & library.MODEL_FLAGS["restart_at_space"])
        self._is_joined = restart and self._is_compact and not model.info.is_whole
        if (short.flags & library.MODEL_FLAGS["restart_at_space"]) and not self._is_joined:
            short.drop_restart()
        self._splits_words = short.removes_spaces and self._is_joined
        self._set_reference(document, about)
        self.guard = shortcut.Guard(short, tokens, None if self._unknown is None else self._unknown.decode())
        self.guard.is_possible &= not self._is_reference and (not short.flags or self._is_compact)
        self._known: KnownCharacters | None = None
        if document.has("missing_unknown"):
            self._known = KnownCharacters(model, document.string("missing_unknown"), about.name)
            self.guard.is_possible = self._is_joined = self._splits_words = False
        self._check_ids(document, tokens)

    def _set_reference(self, document: Fields, about: About) -> None:
        self._is_reference = document.boolean("reference", False)
        self._byte_fallback = bool(self._model.info.flags & library.MODEL_FLAGS["byte_fallback"])
        self._byte_fallback |= document.boolean("byte_fallback", False)
        self._unknown: bytes | None = None  # the text of the unknown piece, which C never finds
        self._unknown_score = document.number("unknown_score")
        self._unknown_id = about.special.get("unk", -1)
        if "lattice" in self._model.kind.sampling and not self._is_bytes:
            self._unknown = self._model.piece(self._unknown_id)
            if self._unknown is None and not self._is_reference:
                document.refuse("there is no unknown piece")

    def _check_ids(self, document: Fields, tokens: list[added.AddedToken]) -> None:
        ids_of = {
            "added_tokens": [token.id for token in tokens],
            "post_processor": [*self.template.before, *self.template.after],
        }
        for key, ids in ids_of.items():
            for id_ in ids:
                if id_ >= self._model.info.n_ids:
                    document.refuse(f"id {id_} has no piece; the largest id is {self._model.info.n_ids - 1}", key)

    # ------------------------------------------------------------------------------------------------ encoding ---

    def normalize(self, text: str) -> str:
        return normalizers.apply(self._normalizers, text)

    def _normalize_first(self, text: str, first: int) -> tuple[str, int]:
        """Also how many characters of the normalized text are first: see first.py."""
        if not first or not self._wants_first:
            return self.normalize(text), 0
        most = limits.most_characters(len(text))
        for normalizer in self._normalizers:
            normalized = limits.check_growth(normalizer(text), most)
            first = normalizer.first(text, normalized, first)
            text = normalized
        return text, first

    def pieces(self, text: str, first: int) -> list[str]:
        """The pieces of normalized text without added tokens, of which so many characters are first."""
        leading, rest = ([(text, first)], []) if first else ([], [text])
        for pre_tokenizer in self._pre_tokenizers:
            split = [new for piece, n in leading for new in pre_tokenizer.leading(piece, n)]
            rest = [piece for piece, n in split if not n] + [new for piece in rest for new in pre_tokenizer(piece)]
            leading = [(piece, n) for piece, n in split if n]
        return [piece for piece, _ in leading] + rest

    def parts(self, data: bytes, special: bool) -> list[Part]:
        """What a text becomes. Invalid UTF-8 becomes U+FFFD, one a byte, unless bytes are all that counts."""
        ret: list[Part] = []
        if self._is_bytes:
            for part, id_ in self._bytes(data, special):
                ret.append(part if id_ is None else id_)
            return ret
        whole = utf8.replaced(data)
        for begin, end, id_ in self._raw.split(whole, special):
            if id_ is not None:
                ret.append(id_)
                continue
            if self._wants_first and begin:
                self._add_all(ret, whole[begin:end], 0, special)
                continue
            for text, is_plain in self.guard.parts(whole[begin:end], divide=not self._wants_first):
                if is_plain:
                    ret.append(Plain(text.encode()))
                else:
                    self._add_all(ret, text, 1 if begin == 0 else 0, special)
        return ret

    def _bytes(self, data: bytes, special: bool) -> Iterator[tuple[bytes, int | None]]:
        """The same of a byte-level model: (text, None), or (text, the id of an added token)."""
        whole = data.decode("utf-8", "surrogateescape")
        for begin, end, id_ in self._raw.split(whole, special):
            part = whole[begin:end]
            for start, stop, cooked in [(0, len(part), id_)] if id_ is not None else self._cooked.split(part, special):
                yield part[start:stop].encode("utf-8", "surrogateescape"), cooked

    def _add_all(self, parts: list[Part], text: str, first: int, special: bool) -> None:
        for piece, n_first, id_ in self._walk_part(text, first, special):
            if id_ is None:
                self._add(parts, piece, n_first)
            else:
                parts.append(id_)

    def _walk(self, data: bytes, special: bool) -> Iterator[tuple[str, int, int | None]]:
        """(text, how many of its characters are first, None): normalized text; (text, 0, id): an added token."""
        whole = utf8.replaced(data)
        for begin, end, id_ in self._raw.split(whole, special):
            if id_ is not None:
                yield whole[begin:end], 0, id_
            else:
                yield from self._walk_part(whole[begin:end], 1 if begin == 0 else 0, special)

    def _walk_part(self, part: str, first: int, special: bool) -> Iterator[tuple[str, int, int | None]]:
        """The same of a part without added tokens in the text itself."""
        text, first = self._normalize_first(part, first)
        for start, stop, token in self._cooked.split(text, special):
            yield text[start:stop], min(max(first - start, 0), stop - start), token

    def tokens(self, scratch: c_scratch.Scratch, data: bytes) -> list[str]:
        """A text's pieces as tokenizers shows them: added tokens and what Unigram does not know as they stand in the
        text; BPE's as in the vocabulary."""
        assert isinstance(scratch, PreparingScratch)
        ret: list[str] = []
        if self._is_bytes:
            for part, id_ in self._bytes(data, True):
                found = [id_] if id_ is not None else scratch.encode_texts([part])[0].tolist()
                ret += [self._token(one) for one in found]
            return ret
        for text, first, id_ in self._walk(data, True):
            if id_ is not None:
                ret.append(text)
                continue
            pieces = [piece.encode() for piece in self.pieces(text, first)]
            ids, bounds = scratch.encode_texts([self._for_c(piece) for piece in pieces])
            for piece, begin, end in zip(pieces, bounds.tolist(), bounds[1:].tolist(), strict=False):
                found = ids[begin:end].tolist()
                is_unigram = "lattice" in self._model.kind.sampling
                if is_unigram and (self._needs_second(piece) or self._unknown_id in found):
                    ret += self.second.tokens(scratch.second, piece)
                else:
                    ret += [(self._model.piece(id_) or b"").decode() for id_ in found]
        return ret

    def _for_c(self, piece: bytes) -> bytes:
        return piece.replace(_SPACE, b" ") if self._is_compact else piece

    def _add(self, parts: list[Part], text: str, first: int) -> None:
        if self._splits_words and pretokenizers.SPACE not in text:
            joined = "".join([" " + word for word in pretokenizers.whitespace_split(text)]).encode()
            if joined and not self._needs_second(joined):
                parts.append(joined)
                return
        pieces = self.pieces(text, first)
        if self._is_joined and not self._is_reference:
            joined = "".join(pieces).encode()
            if not self._needs_second(joined):
                parts.append(self._for_c(joined))
                return
        for piece in pieces:
            data = piece.encode()
            if self._known is not None:
                self._known.check(piece)
            parts.append(Literal(data) if self._needs_second(data) else self._for_c(data))

    def _needs_second(self, data: bytes) -> bool:
        return self._is_reference or (self._unknown is not None and self._unknown in data)

    @cached_property
    def second(self) -> Unigram:
        """Made when a text first needs it."""
        return Unigram(self._model, self._unknown_id, self._unknown_score, self._byte_fallback)

    def encode(self, scratch: c_scratch.Scratch, data: bytes, *, special: bool) -> Ids:
        """See PreparingScratch.encode_text; of a scratch made for this model."""
        assert isinstance(scratch, PreparingScratch)
        return scratch.encode_text(data, special=special)

    # ------------------------------------------------------------------------------------------------ decoding ---

    def _token(self, id_: int) -> str:
        """A piece as tokenizers shows it."""
        return self._shown.get(id_) or byte_level.shown(self._model.piece(id_) or b"")

    def _decode_bytes(self, ids: list[int], skip_special: bool) -> str:
        parts = [
            (b"" if skip_special and self._shown[id_] in self._special else self._shown[id_].encode())
            if id_ in self._shown else self._model.piece(id_) or b""
            for id_ in ids
        ]  # fmt: skip
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def decode(self, ids: list[int], skip_special: bool) -> str:
        """The text; bytes that are not part of a character become decoders.BROKEN. The ids must have pieces."""
        if self._is_bytes:
            return self._decode_bytes(ids, skip_special)
        tokens = []
        for id_ in ids:
            token = self._shown.get(id_)
            if token is None:
                token = (self._model.piece(id_) or b"").decode()
            if not (skip_special and token in self._special):
                tokens.append(token)
        if not self._has_decoder:
            return " ".join(tokens)
        most = limits.most_characters(sum(map(len, tokens)))
        for decoder in self._decoders:
            tokens = decoder(tokens)
            limits.check_growth(tokens, most)
        return "".join(tokens)


class KnownCharacters:
    """For BPE models whose unk_token is not in the vocabulary: tokenizers loads them, and fails when it needs one."""

    def __init__(self, model: c_model.Model, token: str, name: str) -> None:
        self._model, self._token, self._name = model, token, name
        self._byte_fallback = bool(model.info.flags & library.MODEL_FLAGS["byte_fallback"])
        self._ignore_merges = bool(model.info.flags & library.MODEL_FLAGS["ignore_merges"])
        self._known: set[str] = set()

    def check(self, piece: str) -> None:
        """VocabularyError names the first character that has no piece."""
        unknown = set(piece) - self._known
        if not unknown or (self._ignore_merges and self._is_piece(piece)):
            return
        for character in sorted(unknown, key=piece.index):
            if not self._is_piece(character) and not self._has_bytes(character):
                raise VocabularyError(
                    f"{self._name}: {character!r} has no piece, and the unk_token {self._token!r} that should stand"
                    " for it is not in the vocabulary: add one of them to the file"
                )
            self._known.add(character)

    def _is_piece(self, text: str) -> bool:
        id_ = self._model.find(text.encode())
        return id_ >= 0 and self._model.is_text(id_)

    def _has_bytes(self, character: str) -> bool:
        return self._byte_fallback and all(self._is_piece(f"<0x{byte:02X}>") for byte in character.encode())


_SPACE = pretokenizers.SPACE.encode()


def _no_sampling() -> UnitokError:
    return UnitokError("models of tokenizer.json support neither sampling nor n-best here: use the SentencePiece model")


class PreparingScratch(c_scratch.Scratch):
    """Encodes texts as tokenizers does: prepared, or as they are where the C side does all of it."""

    __slots__ = ("_preparation", "_second")

    def __init__(self, model: c_model.Model, preparation: Preparation) -> None:
        super().__init__(model)
        self._preparation = preparation
        self._second: c_scratch.Scratch | None = None

    @property
    def second(self) -> c_scratch.Scratch:
        """For the second model."""
        if self._second is None:
            self._second = c_scratch.Scratch(self._preparation.second.model)
        return self._second

    def encode(self, text: bytes) -> Any:
        return self.encode_text(text, special=True)

    def encode_list(self, text: bytes) -> list[int]:
        ids: list[int] = self.encode(text).tolist()
        return ids

    def encode_text(self, text: bytes, *, special: bool) -> Ids:
        """ids[n]: of one document. special=False: special tokens in the text are text."""
        if special and self._preparation.guard.allows(text):
            ids: Ids = super().encode(text)
            return ids
        return self._encode_parts(self._preparation.parts(text, special))

    def _encode_parts(self, parts: list[Part]) -> Ids:
        texts = [part for part in parts if isinstance(part, bytes)]
        ids, bounds = self.encode_texts(texts)
        if len(texts) == len(parts):
            return ids
        plain = self.encode_texts([part.text for part in parts if isinstance(part, Plain)], prepared=False)
        prepared = _one_by_one(ids, bounds)
        unprepared = _one_by_one(*plain)
        arrays: list[Any] = []
        for part in parts:
            if isinstance(part, bytes):
                arrays.append(next(prepared))
            elif isinstance(part, Plain):
                arrays.append(next(unprepared))
            else:
                found = [part] if isinstance(part, int) else self._preparation.second.encode(self.second, part.text)
                arrays.append(np.array(found, ids.dtype))
        ret: Ids = np.concatenate(arrays)
        return ret

    def encode_texts(self, texts: list[bytes], *, prepared: bool = True) -> tuple[Ids, Offsets]:
        """The ids of texts, prepared or not, and where those of each begin and end."""
        data = np.frombuffer(b"".join(texts), np.uint8)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        bounds = np.zeros(len(texts) + 1, np.int64)
        room = 3 * len(data) + library.ENCODE_SLACK + (0 if prepared else len(texts))
        while True:
            ids: Ids = np.empty(room, self._model.dtype)
            try:
                n_ids = super().encode_batch(data, offsets, ids, bounds, prepared=prepared)
                return ids[:n_ids].copy(), bounds
            except library.RoomError:  # a charsmap can make more of a text
                if prepared:
                    raise
                room *= 2

    def count(self, text: bytes) -> int:
        return len(self.encode(text))

    def encode_spans(self, text: bytes) -> Offsets:
        raise UnitokError("models of tokenizer.json give ids and pieces here, but no offsets")

    def nbest(self, text: bytes, n: int) -> list[c_scratch.Path]:
        raise _no_sampling()

    def sample_paths(
        self, text: bytes, n: int, sampling: Any, *, distinct: bool, include_best: bool
    ) -> list[c_scratch.Path]:
        raise _no_sampling()

    def entropy(self, text: bytes, alpha: float) -> float:
        raise _no_sampling()

    def encode_each(self, texts: list[bytes], ids: Ids) -> Offsets:
        offsets = np.zeros(len(texts) + 1, np.int64)
        for k, text in enumerate(texts):
            offsets[k + 1] = self._put(self.encode(text), ids, int(offsets[k]))
        return offsets

    def _put(self, found: Ids, ids: Ids, at: int) -> int:
        if at + len(found) > len(ids):
            raise library.RoomError("the array for ids is too small")
        ids[at : at + len(found)] = found
        return at + len(found)

    def encode_batch(
        self, data: Bytes, offsets: Offsets, ids: Ids, id_offsets: Offsets, *,
        eod_id: int = -1, open_start: bool = False, open_end: bool = False, state: c_scratch.State | None = None,
        sampling: Any = None, documents: Offsets | None = None, prepared: bool = False,
    ) -> int:  # fmt: skip
        if sampling is not None:
            raise _no_sampling()
        if open_start or open_end:
            raise ValueError("documents must be whole for this model")
        if prepared or self._preparation.guard.allows_all(data, offsets):
            return super().encode_batch(data, offsets, ids, id_offsets, eod_id=eod_id, prepared=prepared)
        done = 0
        id_offsets[0] = 0
        eod: Any = np.array([eod_id] if eod_id >= 0 else [], ids.dtype)
        for k, (begin, end) in enumerate(pairwise(offsets.tolist())):
            done = self._put(self.encode(data[begin:end].tobytes()), ids, done)
            done = self._put(eod, ids, done)
            id_offsets[k + 1] = done
        return done


def _one_by_one(ids: Ids, bounds: Offsets) -> Iterator[Ids]:
    return (ids[begin:end] for begin, end in pairwise(bounds.tolist()))
