"""Small random tokenizer.json documents that combine all components, for comparisons with `tokenizers`."""

from __future__ import annotations

import base64
import random
from typing import Any

from toys import models as toy_models
from toys import sentencepieces

FORMS = ["NFC", "NFD", "NFKC", "NFKD"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
REGEXES = [
    " {2,}", r"\s+", r"(?<!\n)^", "^", "$", "a|b+", "(?:ab)+?", "[^a-c]", r"\d", "x*", "(?=b)", r"[\sab]{1,2}", "▁",
    " ", r"(?<=a)b", r"(?!a).", "b?", r"\.", r"a{2}", r"\w+", r"\p{L}", "(?i)AB", r"a++b", r"\bx",
]  # fmt: skip
CHARACTERS = [
    *"aaabbbcAB  \n\t1.,!", "▁", "é", "e\u0301", "Ａ", "ﬁ", "日", "か\u3099", "\r\n", "\u200d", "😀", "👍🏽", "\u0600",
    "각", "\u1100\u1161", "ǅ", "İ", "Σ", "\u00a0", "\u2028", "\x1c", "½", "٣", "«", "क\u094dष", "\ufffd", "\u3000",
    "\u0e33", "\U000e0100", "\u0345", "\x00", "<unk>", "<0x41>", "[X]", "<s>",
]  # fmt: skip
CHARSMAP = {
    "Ａ": "a", "ﬁ": "fi", "\t": " ", "\r": " ", "\n": " ", "e\u0301": "é", "e": "E", "\u3000": " ", "½": "1⁄2",
    "か\u3099": "が", "\u00a0": " ", "\u200d": "", "日": "▁", "\u0301": "´", "\u1100\u1161": "가", "😀": ":", "＜": "<",
    "©": "c", "x": "",
}  # fmt: skip
# A small model that C supports without `tokenizers`.
BPE = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": False, "merges": [["a", "b"], ["▁", "a"]],
       "vocab": {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4, "ab": 5, "</s>": 6}}  # fmt: skip
CONTENTS = ["[X]", "<s>", "ab", "a", "Ａ", " b", "[X][X]", "b▁", "é", "<unk>", "A b", "1"]


def some(rng: random.Random, items: list[Any], most: int) -> list[Any]:
    return [rng.choice(items) for _ in range(rng.randrange(most + 1))]


def pattern(rng: random.Random) -> dict[str, str]:
    if rng.random() < 0.5:
        return {"Regex": rng.choice(REGEXES)}
    return {"String": rng.choice([" ", "a", "ab", "▁", "``", "\n"])}


def precompiled(rng: random.Random) -> dict[str, Any]:
    rules = {key: value for key, value in CHARSMAP.items() if rng.random() < 0.7}
    if rng.random() < 0.05:
        rules |= {"\u00e9": "x", "ab": "c"}
    return charsmap(rules)


def charsmap(rules: dict[str, str]) -> dict[str, Any]:
    """A normalizer that replaces the keys of `rules` with their values."""
    blob = sentencepieces.charsmap({key.encode(): value.encode() for key, value in rules.items()})
    encoded = base64.b64encode(blob or b"\4\0\0\0\0\0\0\0").decode()
    return {"type": "Precompiled", "precompiled_charsmap": encoded}


def normalizer(rng: random.Random) -> dict[str, Any]:
    kinds = ["Prepend", "Replace", "Replace", "Precompiled", "StripAccents", "Lowercase", "Strip", "Nmt"]
    kind = rng.choice([*FORMS, *kinds])
    if kind == "Prepend":
        return {"type": kind, "prepend": rng.choice(["▁", "▁", "x", " "])}
    if kind == "Replace":
        return {"type": kind, "pattern": pattern(rng), "content": rng.choice(["▁", "", "b", " "])}
    if kind == "Precompiled":
        return precompiled(rng)
    if kind == "Strip":
        return {"type": kind, "strip_left": rng.random() < 0.5, "strip_right": rng.random() < 0.5}
    return {"type": kind}


def metaspace(rng: random.Random) -> dict[str, Any]:
    scheme = rng.choice(["always", "always", "first", "never"])
    return {
        "type": "Metaspace", "replacement": rng.choice("▁▁▁_"), "prepend_scheme": scheme, "split": rng.random() < 0.7
    }


def pre_tokenizer(rng: random.Random) -> dict[str, Any]:
    kinds = ["Metaspace", "Metaspace", "WhitespaceSplit", "Digits", "Punctuation", "Split", "CharDelimiterSplit"]
    kind = rng.choice(kinds)
    if kind == "Metaspace":
        return metaspace(rng)
    return {
        "WhitespaceSplit": {}, "Digits": {"individual_digits": rng.random() < 0.5},
        "Punctuation": {"behavior": rng.choice(BEHAVIORS)}, "CharDelimiterSplit": {"delimiter": rng.choice("a ,")},
        "Split": {"pattern": pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": rng.random() < 0.3},
    }[kind] | {"type": kind}  # fmt: skip


def decoder(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"])
    if kind == "Metaspace":
        return metaspace(rng)
    return {
        "Replace": {"pattern": pattern(rng), "content": rng.choice([" ", "", "x"])}, "ByteFallback": {}, "Fuse": {},
        "Strip": {"content": rng.choice(" a"), "start": rng.randrange(3), "stop": 0},
    }[kind] | {"type": kind}  # fmt: skip


def sequence(parts: list[dict[str, Any]], key: str, rng: random.Random) -> dict[str, Any] | None:
    if len(parts) == 1 and rng.random() < 0.7:
        return parts[0]
    return {"type": "Sequence", key: parts} if parts else None


def unigram(rng: random.Random) -> dict[str, Any]:
    score = toy_models.SCORES[rng.choice([*toy_models.SCORES])]
    characters = "".join(CHARACTERS)
    pieces = ["<unk>", *(c for c in "ab▁éE日 " if rng.random() < 0.8)]
    pieces += [
        "".join(rng.choice("ab▁a" + rng.choice(characters)) for _ in range(rng.randrange(1, 5))) for _ in range(30)
    ]
    byte_fallback = rng.random() < 0.4
    share = rng.choice([1, 1, 1, 0.9]) if byte_fallback else 0.02
    pieces += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < share]
    if rng.random() < 0.95:
        pieces = list(dict.fromkeys(pieces))
    rng.shuffle(pieces)
    high = 12.0 if rng.random() < 0.05 else 0.0
    ret = {
        "type": "Unigram", "vocab": [[piece, score(rng) + high] for piece in pieces], "unk_id": pieces.index("<unk>")
    }
    return ret | ({"byte_fallback": byte_fallback} if byte_fallback or rng.random() < 0.5 else {})


def bpe(rng: random.Random) -> dict[str, Any]:
    options, _ = toy_models.hf_bpe(rng)
    merges = [list(merge) if rng.random() < 2 else merge for merge in options.pop("merges")]
    return {"type": "BPE", "dropout": None, "merges": merges, **options}


def added_tokens(rng: random.Random, model: dict[str, Any], contents: list[str]) -> list[dict[str, Any]]:
    names = list(model["vocab"]) if model["type"] == "BPE" else [piece for piece, _ in model["vocab"]]
    table = dict(zip(names, model["vocab"].values() if model["type"] == "BPE" else range(len(names)), strict=True))
    ret, free = [], len(names)
    for content in contents:
        id_ = table.get(content)
        if id_ is None:
            id_, free = free, free + 1
        flags = {name: rng.random() < 0.3 for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        ret.append({"id": id_, "content": content, **flags})
    return ret


def document(rng: random.Random) -> dict[str, Any]:
    """A document with random components. `tokenizers`, and therefore pyunitok, rejects some of these documents."""
    model = unigram(rng) if rng.random() < 0.5 else bpe(rng)
    usual = rng.random()
    parts: list[dict[str, Any]] = [normalizer(rng) for _ in range(rng.randrange(4))]
    pre: list[dict[str, Any]] = [pre_tokenizer(rng) for _ in range(rng.randrange(3))]
    if usual < 0.2:
        space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        begin = {"type": "Replace", "pattern": {"Regex": r"(?<!\n)^"}, "content": "▁"}
        parts, pre = [rng.choice([{"type": "Prepend", "prepend": "▁"}, begin]), space], []
    elif usual < 0.6:
        parts = rng.choice([[], [precompiled(rng)], [{"type": "NFKD"}, {"type": "StripAccents"}, precompiled(rng)]])
        always = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
        pre = rng.choice([[always], [{"type": "WhitespaceSplit"}, always], [metaspace(rng)]])
    contents = rng.sample(CONTENTS, rng.choice([0, 0, 1, 3]))
    tokens = added_tokens(rng, model, contents)
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
        "normalizer": sequence(parts, "normalizers", rng), "pre_tokenizer": sequence(pre, "pretokenizers", rng),
        "post_processor": template(rng, tokens),
        "decoder": sequence([decoder(rng) for _ in range(rng.randrange(4))], "decoders", rng), "model": model,
    }  # fmt: skip


def template(rng: random.Random, tokens: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not tokens or rng.random() < 0.5:
        return None
    around = [some(rng, tokens, 2), some(rng, tokens, 2)]
    sides = [[{"SpecialToken": {"id": token["content"], "type_id": 0}} for token in side] for side in around]
    single = [*sides[0], {"Sequence": {"id": "A", "type_id": 0}}, *sides[1]]
    special = {t["content"]: {"id": t["content"], "ids": [t["id"]], "tokens": [t["content"]]} for t in tokens}
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


def text(rng: random.Random, given: dict[str, Any]) -> str:
    """A text of difficult characters, pieces and added tokens."""
    model = given["model"]
    pieces = [pair[0] for pair in model["vocab"]] if model["type"] == "Unigram" else list(model["vocab"])
    tokens = [token["content"] for token in given["added_tokens"]]
    chosen = [
        rng.choice(rng.choice([CHARACTERS, CHARACTERS, pieces, tokens or ["a"], [" ", "a", "b"]]))
        for _ in range(rng.randrange(25))
    ]
    return "".join(chosen)


def for_c(rng: random.Random) -> dict[str, Any]:
    """A document that C supports without `tokenizers`."""
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    if rng.random() < 0.5:
        pieces = dict.fromkeys(["<unk>", *(piece for piece, _ in unigram(rng)["vocab"] if " " not in piece), *names])
        score = toy_models.SCORES[rng.choice([*toy_models.SCORES])]
        vocab = [[piece, score(rng)] for piece in [*pieces, *([] if "▁" in pieces else "▁")]]
        model: dict[str, Any] = {"type": "Unigram", "vocab": vocab, "unk_id": 0, "byte_fallback": True}
    else:
        model = bpe(rng)
        while any(" " in piece for piece in model["vocab"]) or model["unk_token"] not in (None, *model["vocab"]):
            model = bpe(rng)
        model["vocab"].setdefault("▁", len(model["vocab"]))
    begin = rng.choice([{"type": "Prepend", "prepend": "▁"},
                        {"type": "Replace", "pattern": {"Regex": r"(?<!\n)^"}, "content": "▁"}])  # fmt: skip
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    scheme = rng.choice(["always", "first", "never"])
    metaspace_ = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": rng.random() < 0.5}
    normalizers, pre = rng.choice([([begin, space], None), ([space], None), ([space, begin], None), ([], metaspace_)])
    contents = ["<unk>"] * (model["type"] == "Unigram") + rng.sample(["[X]", "<s>", "[X][X]", "é", "[Y"], 2)
    tokens = added_tokens(rng, model, contents)
    for token in tokens:
        token.update(dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False))
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    spaces = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    decoders = rng.choice([[spaces, {"type": "ByteFallback"}, {"type": "Fuse"}, strip], [metaspace_], [],
                           [{"type": "ByteFallback"}, spaces, {"type": "Fuse"},
                            {"type": "Replace", "pattern": {"Regex": r"(?<!\n)^ "}, "content": ""}]])  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
        "normalizer": sequence(normalizers, "normalizers", rng), "pre_tokenizer": pre,
        "post_processor": template(rng, tokens), "decoder": sequence(decoders, "decoders", rng), "model": model,
    }  # fmt: skip
