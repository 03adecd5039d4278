"""Files that consist of ranks or merges, in golden/ranks: later versions read them and give the same ids.

`PYTHONPATH=.:tests python tests/test_golden_ranks.py` adds missing files and ids, which tiktoken and tokenizers
compute; it never changes existing ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toys import byte_texts, rank_files

from pyunitok import Tokenizer
from pyunitok.vocab.convert import convert
from pyunitok.vocab.patterns import PATTERNS

GOLDEN = Path(__file__).parent / "golden" / "ranks"
IDS = GOLDEN / "ids.jsonl"  # [file or folder, pattern or null, ids of TEXTS]
SPECIAL = {"<|endoftext|>": 300, "<mask>": 301}
TEXTS = [*byte_texts.GOLDEN, *rank_files.TEXTS]
SINGLE = [name for name, row in PATTERNS.items() if len(row.parts) == 1]
ROWS: list[tuple[str, str | None]] = [
    *(("toy.tiktoken", name) for name in SINGLE), ("toy.tiktoken", r"\p{L}+|[^\p{L}]{1,3}+"), ("tekken.json", None),
    ("gpt2", None), ("qwen2", None),
]  # fmt: skip


def opened(file: str, pattern: str | None) -> Tokenizer:
    if file.endswith(".tiktoken"):
        return Tokenizer.from_file(GOLDEN / file, pattern=pattern, special_tokens=SPECIAL)
    return Tokenizer.from_file(GOLDEN / file)


def golden() -> list[Any]:
    return [json.loads(line) for line in IDS.read_text().splitlines()] if IDS.exists() else []


@pytest.mark.parametrize("file, pattern, ids", golden(), ids=lambda value: value if isinstance(value, str) else "")
def test_golden_ids(file: str, pattern: str | None, ids: list[list[int]]) -> None:
    assert [opened(file, pattern).encode(text).tolist() for text in TEXTS] == ids


def test_every_row_has_ids() -> None:
    assert [(file, pattern) for file, pattern, _ in golden()] == ROWS


# ------------------------------------------------------------------------------------------------- generating ----


def reference(file: str, pattern: str | None) -> list[list[int]]:
    """The ids that tiktoken or tokenizers gives."""
    import tiktoken
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers

    if not (GOLDEN / file).is_dir():
        ranks, special, regex = dict(rank_files.RANKS), dict(SPECIAL), pattern or ""
        if file == "tekken.json":
            document = json.loads((GOLDEN / file).read_bytes())
            regex = document["config"]["pattern"]
            ranks = {piece: rank + 20 for piece, rank in ranks.items() if rank < 270}
            special = {token["token_str"]: token["rank"] for token in document["special_tokens"]}
        elif pattern in PATTERNS:
            regex = PATTERNS[pattern].tiktoken or PATTERNS[pattern].parts[0]
        encoding = tiktoken.Encoding("golden", pat_str=regex, mergeable_ranks=ranks, special_tokens=special)
        return [encoding.encode(text, allowed_special="all") for text in TEXTS]
    model = models.BPE.from_file(str(GOLDEN / file / "vocab.json"), str(GOLDEN / file / "merges.txt"))
    other = tokenizers.Tokenizer(model)
    steps: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False)]
    if file == "qwen2":
        other.normalizer = normalizers.NFC()  # type: ignore[assignment]
        regex = tokenizers.Regex(PATTERNS["qwen2"].parts[0])
        steps = [pre_tokenizers.Split(regex, "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    other.pre_tokenizer = pre_tokenizers.Sequence(steps)  # type: ignore[assignment]
    other.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in SPECIAL])
    assert [other.token_to_id(token) for token in SPECIAL] == [*SPECIAL.values()]
    return [other.encode(text).ids for text in TEXTS]


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    if not (GOLDEN / "toy.tiktoken").exists():
        rank_files.write(GOLDEN / "toy.tiktoken")
    if not (GOLDEN / "tekken.json").exists():
        names = ["<unk>", "<s>", "</s>", "[INST]", *(f"<SPECIAL_{k}>" for k in range(4, 20))]
        document = rank_files.tekken(special_tokens=[{"rank": k, "token_str": name} for k, name in enumerate(names)])
        (GOLDEN / "tekken.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")
    for name in ("gpt2", "qwen2"):
        if not (GOLDEN / name).exists():
            convert(GOLDEN / "toy.tiktoken", GOLDEN / name, "vocab-merges", pattern=name)
            vocab = json.loads((GOLDEN / name / "vocab.json").read_bytes())
            (GOLDEN / name / "vocab.json").write_text(json.dumps(vocab | SPECIAL, ensure_ascii=False) + "\n")
            tokens = {str(id_): {"content": token, "special": True} for token, id_ in SPECIAL.items()}
            config = {"tokenizer_class": f"{name.upper() if name == 'gpt2' else 'Qwen2'}Tokenizer"}
            text = json.dumps(config | {"added_tokens_decoder": tokens}, indent=1) + "\n"
            (GOLDEN / name / "tokenizer_config.json").write_text(text)
    done = [(file, pattern) for file, pattern, _ in golden()]
    with IDS.open("a") as lines:
        for file, pattern in ROWS:
            if (file, pattern) not in done:
                lines.write(json.dumps([file, pattern, reference(file, pattern)], separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
