"""Small byte-level tokenizer.json documents: one of each family, and random ones."""

from __future__ import annotations

import random
from typing import Any

from pyunitok.vocab.byte_level import CHARACTERS, shown

K = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
P = r" ?[^\s\p{L}\p{N}]+"
W = r"\s+(?!\S)|\s+"
Q = r"[^\r\n\p{L}\p{N}]?"
U, V = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LINES = rf"\s*[\r\n]+|{W}"
CL100K = rf"{K}|{Q}\p{{L}}+|\p{{N}}{{1,3}}|{P}[\r\n]*|{LINES}"
QWEN2 = CL100K.replace("{1,3}", "")
QWEN35 = rf"{K}|{Q}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{LINES}"
O200K = rf"{Q}{U}*{V}+{K}?|{Q}{U}+{V}*{K}?|\p{{N}}{{1,3}}|{P}[\r\n/]*|{LINES}"
TEKKEN = rf"{Q}{U}*{V}+|{Q}{U}+{V}*|\p{{N}}|{P}[\r\n/]*|{LINES}"
DEEPSEEK = [
    r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^" + "\r\n" + r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[" + "\r\n" + r"]*|\s*[" + "\r\n" + rf"]+|{W}",
]  # fmt: skip
WORDS = [
    "the", " the", " hello", "world", " été", "日本", " 日本語", "ひら", "한국", "Жизнь", "    ", "\n\n", " \n", "12",
    "123", "1234", "'s", "'ll", "==", "...", " (", "</", "<|", "é", "e\u0301", "def", "\r\n", "ﬁ", "½", " a", "aa",
]  # fmt: skip
RAW = ["<raw>日本", "▁raw", "<｜x｜>"]  # vocabulary entries with characters that do not represent bytes


def merges_of(words: list[str]) -> list[tuple[str, str]]:
    """The merges that build each word from left to right."""
    found: dict[tuple[str, str], None] = {}
    for word in words:
        text = shown(word.encode())
        for k in range(1, len(text)):
            found[text[:k], text[k]] = None
    return list(found)


def bpe(*, words: list[str] = WORDS, absent: str = "", more: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """absent: characters of the alphabet that are not pieces; more: pieces that no merge creates."""
    merges = [pair for pair in merges_of(words) if not set("".join(pair)) & set(absent)]
    names = [*(c for c in CHARACTERS if c not in absent), *("".join(pair) for pair in merges), *more]
    vocab = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "vocab": vocab, "merges": [" ".join(pair) for pair in merges],
        **fields,
    }  # fmt: skip


def token(id_: int, content: str, **flags: bool) -> dict[str, Any]:
    names = ("single_word", "lstrip", "rstrip", "normalized")
    return {"id": id_, "content": content, **dict.fromkeys(names, False), "special": True, **flags}


def byte_level(**fields: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, **fields}


def split(regex: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps, byte_level(use_regex=False)]}


def template(before: list[tuple[str, int]], after: list[tuple[str, int]], **more: Any) -> dict[str, Any]:
    sides = [[{"SpecialToken": {"id": name, "type_id": 0}} for name, _ in side] for side in (before, after)]
    single = [*sides[0], {"Sequence": {"id": "A", "type_id": 0}}, *sides[1]]
    known = {name: {"id": name, "ids": [id_], "tokens": [name]} for name, id_ in (*before, *after)}
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known, **more}


def document(model: dict[str, Any], pre_tokenizer: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": byte_level(), "model": model, **fields,
    }  # fmt: skip


def _old(model: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in model.items() if key != "type"}


def _shuffled(model: dict[str, Any]) -> dict[str, Any]:
    names = list(model["vocab"])
    random.Random(0).shuffle(names)
    return {**model, "vocab": {name: k for k, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *names])}}


def _every_split(model: dict[str, Any]) -> dict[str, Any]:
    """As in Llama 3: each pair of pieces that forms a piece is a merge, and some pieces result from no merge."""
    vocab = model["vocab"]
    pairs = [[name[:k], name[k:]] for name in vocab for k in range(1, len(name)) if {name[:k], name[k:]} <= {*vocab}]
    return {**model, "merges": pairs}


RUNS = [token(0, " " * n, normalized=True, special=False) for n in range(7, 1, -1)]
STRIPPED = [
    token(0, "<mask>", lstrip=True), token(0, "<word>", single_word=True, special=False),
    token(0, "<end>", rstrip=True, lstrip=True, normalized=True), token(999, "<twice>"),
    token(998, "<twice>", special=False, rstrip=True), token(0, "<m"), token(0, "õ", special=False), token(0, "the"),
    token(0, "Ġthe", special=False, normalized=True), token(0, "日本語", special=False, single_word=True),
]  # fmt: skip


def families() -> dict[str, dict[str, Any]]:
    end, think = token(0, "<|endoftext|>"), token(0, "<think>", special=False)
    nfc, ignore = {"normalizer": {"type": "NFC"}}, {"ignore_merges": True, "more": ("Ġworld", "hello", "ĠÐ²")}
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True,
               "add_prefix_space": False}  # fmt: skip
    plain = bpe()
    return {
        "gpt2": document(_old(plain), byte_level(), added_tokens=[token(0, "<|endoftext|>", normalized=True)]),
        "prefix_space": document(plain, byte_level(add_prefix_space=True), added_tokens=[end],
                                 post_processor=byte_level(add_prefix_space=True)),
        "roberta": document(_shuffled(_old(plain)), byte_level(), post_processor=roberta, added_tokens=[
            token(0, "<s>", normalized=True), token(0, "</s>"), token(0, "<mask>", lstrip=True, normalized=True)]),
        "whisper": document(bpe(more=("",)), byte_level(use_regex=True), added_tokens=[end, *(
            token(0, f"<|{k / 100:.2f}|>", normalized=True, special=False) for k in range(0, 20, 2))]),
        "neox": document(bpe(absent="ÀÁõö÷"), byte_level(use_regex=True), added_tokens=[end, *RUNS], **nfc,
                         post_processor=byte_level()),
        "absent": document(bpe(absent="ćaĠ"), byte_level(use_regex=True), added_tokens=[end]),
        "nfkc": document(plain, byte_level(), normalizer={"type": "NFKC"}, added_tokens=[end]),
        "digits": document(plain, {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, byte_level(use_regex=True)]}, added_tokens=[end]),
        "punctuation": document(plain, sequence(
            {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Digits", "individual_digits": False},
            {"type": "Punctuation", "behavior": "Isolated"}, split("[0-9][0-9][0-9]"), split("[aeé]", "Contiguous"))),
        "cl100k": document(bpe(fuse_unk=True, unk_token="a", byte_fallback=True), sequence(
            split(CL100K, "Removed", True)), added_tokens=[end]),
        "llama3": document(_every_split(bpe(**ignore)), sequence(split(CL100K)), added_tokens=[end, think],
                           post_processor=template([("<|endoftext|>", 0)], [])),
        "qwen2": document(plain, sequence(split(QWEN2)), added_tokens=[end, think], **nfc),
        "qwen35": document(plain, sequence(split(QWEN35)), added_tokens=[end], **nfc),
        "o200k": document(bpe(**ignore), sequence(split(O200K, "Removed", True)), added_tokens=[end]),
        "tekken": document(bpe(**ignore), sequence(split(TEKKEN)), added_tokens=[end]),
        "deepseek": document(bpe(more=tuple(RAW)), sequence(*map(split, DEEPSEEK)), added_tokens=[
            token(0, "<｜x｜>"), token(0, "<｜y｜>", normalized=True, special=False), end],
            normalizer={"type": "Sequence", "normalizers": []}),
        "command": document(plain, byte_level(), added_tokens=[end], **nfc, post_processor=template(
            [("a", 3)], [("<|endoftext|>", 5)], add_prefix_space=True, trim_offsets=True)),
        "tokens": document(bpe(words=[*WORDS, "<m", "õ"]), byte_level(), added_tokens=STRIPPED, **nfc),
        "undivided": document(bpe(**ignore), byte_level(use_regex=False), added_tokens=[end]),
        "literal": document(plain, sequence({
            "type": "Split", "pattern": {"String": " a."}, "behavior": "Isolated", "invert": True})),
    }  # fmt: skip


STEPS = [
    split(CL100K), split(QWEN2, "Removed", True), split(O200K), *map(split, DEEPSEEK), split(r"\s+", "Removed"),
    split("[a-e]+", "Contiguous"), split("a|b", "Isolated", True), split(r"\d", "MergedWithNext"),
    {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False},
    {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Punctuation"}, split("[0-9][0-9][0-9]"),
    {"type": "Split", "pattern": {"String": " "}, "behavior": "Contiguous", "invert": False},
    {"type": "Split", "pattern": {"String": "a."}, "behavior": "Isolated", "invert": False},
    {"type": "Whitespace"}, byte_level(use_regex=True),
]  # fmt: skip
CONTENTS = [
    "<s>", "<s", "s>", "  ", " a", "the", "é", "日本", "<mask>", "õ", "Ġa", "\n", "<|x|>", "a", "x y", "１", "e\u0301",
]  # fmt: skip


def random_document(rng: random.Random) -> dict[str, Any]:
    """A random tokenizer.json; C supports most of them."""
    def maybe(p: float) -> bool:
        return rng.random() < p

    words = rng.sample(WORDS, rng.randrange(len(WORDS)))
    model = bpe(
        words=words, absent="".join(rng.sample(CHARACTERS, 5)) if maybe(0.15) else "", ignore_merges=maybe(0.4),
        more=tuple(rng.sample([*map(shown, map(str.encode, WORDS)), *RAW, "<s>", "the", ""], rng.randrange(6))),
        unk_token="a" if maybe(0.05) else None,
    )  # fmt: skip
    if maybe(0.3):
        model = _every_split(model)
    tokens = []
    for content in rng.choices(CONTENTS, k=rng.randrange(6)):
        flags = {name: maybe(0.3) for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        tokens.append({"id": rng.randrange(9), "content": content, **flags})
    steps = rng.choices(STEPS, k=rng.randrange(4))
    last = byte_level(use_regex=maybe(0.5), add_prefix_space=maybe(0.2))
    processors = [byte_level(add_prefix_space=maybe(0.5), trim_offsets=maybe(0.7)), template([("a", 1)], [("b", 2)])]
    return document(
        model, {"type": "Sequence", "pretokenizers": [*steps, last]}, added_tokens=tokens,
        normalizer=rng.choice([None, None, {"type": "NFC"}, {"type": "NFKC"}, {"type": "Lowercase"}]),
        post_processor=rng.choice([None, {"type": "Sequence", "processors": rng.sample(processors, rng.randrange(3))}]),
    )  # fmt: skip
