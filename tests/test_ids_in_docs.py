"""Ids in help texts, README files and docstrings are those of the default vocabulary and are shown with their text.

Regression: they were ids of RWKV World, so `pyunitok decode 11080 17065 ...` did not print the text that was shown.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import pyunitok.model.tokenizer
from pyunitok import Tokenizer
from pyunitok.cli import COMMANDS, cli, columns
from pyunitok.vocab import known

ROOT = Path(__file__).parent.parent
READMES = [path for folder in ("csrc", "pyunitok", "tools") for path in sorted((ROOT / folder).rglob("*.md"))]

IDS = r"\d+(?:[, ]+\d+)*"
PATTERNS = [  # where documentation shows ids
    rf"\bpyunitok decode ({IDS})",
    rf"""["']({IDS})["'] --ids""",
    rf"token ids: ['\"]({IDS})['\"]",
    r"--(?:prob|infgram) (\d+)",
    r"\.(?:prob|infgram)\(.*, (\d+)\)",
    rf"\.(?:prob|infgram|infgram_next|count_tokens|decode\w*|id_to_\w+)\([^()\d]*({IDS})\b",
    rf"encode.*#\s+\[+({IDS})\]",
    rf"encode.*#\s+({IDS})$",
]
OTHER_MODELS = {  # lines with ids of another model: the model, and the test of the ids
    r"^\s*>>> ": "a model of a few pieces: test_doctests below",
    r"decode_batch|id_to_token": "any model: tests/test_readme.py runs these lines with t5.model",
    r"15043, 3186": "llama2.model: tests/test_readme.py",
    r"33155": "RWKV World: tests/test_readme.py",
    r"\(\^ o \^\)": "an edited RWKV World: tests/test_readme.py",
}


def ids_in(line: str) -> list[list[int]]:
    found = [match for pattern in PATTERNS for match in re.findall(pattern, line)]
    return [[int(word) for word in re.findall(r"\d+", ids)] for ids in found]


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    yield f"pyunitok {name} --help", "\n".join(
        [command.help or "", *(getattr(parameter, "help", None) or "" for parameter in command.params)]
    )
    if isinstance(command, click.Group):
        for part in command.commands:
            yield from helps(command.commands[part], f"{name} {part}")


def docstrings() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "pyunitok").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}", text


def documents() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", *READMES]:
        if path.exists():  # the tests of an sdist run without the package folder
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield from helps(command, name)
    yield from docstrings()


def is_beside(line: str, ids: list[int]) -> bool:
    text = Tokenizer.default().decode(ids, errors="replace")
    return text in re.sub(IDS, "", line) and Tokenizer.default().encode(text).tolist() == ids


EXAMPLES = [
    pytest.param(line.strip(), ids, id=f"{where}: {ids}")
    for where, text in documents() for line in text.splitlines() if not any(re.search(p, line) for p in OTHER_MODELS)
    for ids in ids_in(line)
]  # fmt: skip


@pytest.mark.parametrize(("line", "ids"), EXAMPLES)
def test_ids_match_the_text_beside_them(line: str, ids: list[int]) -> None:
    assert is_beside(line, ids), f"{ids} is {Tokenizer.default().decode(ids, errors='replace')!r}: {line}"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("pyunitok decode 11080 17065 10139 14398 58552 10080", [[11080, 17065, 10139, 14398, 58552, 10080]]),
        ("pyunitok decode 11080, 17065", [[11080, 17065]]),
        ('pyunitok search idx "318 281" --ids --prob 262   # also --infgram', [[318, 281], [262]]),
        ("index.count_tokens([318, 281]); index.prob([318], 281)", [[281], [318, 281], [318]]),
        ("TEXT is a list of token ids: '318 281 1672'.", [[318, 281, 1672]]),
        ('tok.encode("The quick")   # [4340, 33155]', [[4340, 33155]]),
        ('pyunitok encode "The quick"   # 4340 33155', [[4340, 33155]]),
        ('tok.id_to_piece(33155)  # " the"', [[33155]]),
    ],
)
def test_ids_of_another_vocabulary_are_found(line: str, wanted: list[list[int]]) -> None:
    """Most of these lines were in the documentation."""
    assert ids_in(line) == wanted
    assert not any(is_beside(line, ids) for ids in wanted)


def test_columns() -> None:
    tokenizer = Tokenizer.default()
    ids, pieces = tokenizer.encode("The quick.").tolist(), tokenizer.encode_as_pieces("The quick.")
    assert columns.__doc__ is not None
    assert "".join(f"    {line}\n" for line in columns.columns(list(map(str, ids)), pieces)) in columns.__doc__


def test_doctests() -> None:
    failed, attempted = doctest.testmod(pyunitok.model.tokenizer)
    assert attempted and not failed


def test_docstrings_name_the_default_vocabulary() -> None:
    """Regression: two docstrings said that None means RWKV World."""
    named = [name for _, text in documents() for name in re.findall(r"\bNone for the vocabulary (\S+\w)", text)]
    assert named and set(named) == {known.DEFAULT}
    assert not [where for where, text in documents() if re.search(r"None for the RWKV", text)]
