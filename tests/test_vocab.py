"""pyunitok vocab: edits, comparisons and lists of vocabularies, compared with the oracle."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import greedy, vocab_edit
from toys import sentencepieces

from pyunitok import Packed, Tokenizer
from pyunitok.cli import cli
from pyunitok.corpus import inputs
from pyunitok.corpus.reading import Reading, ReadingOptions
from pyunitok.errors import InputError, OptionError, OutputError, VocabularyError
from pyunitok.model.tokenizer import from_vocabulary
from pyunitok.tokens.corpus_counts import count_files, count_uses
from pyunitok.train.editing import edit_vocabulary
from pyunitok.train.words import rank_words
from pyunitok.vocab import listing, lists, rwkv, scripts
from pyunitok.vocab.diff import diff
from pyunitok.vocab.edit import MAX_ID, edit
from pyunitok.vocab.listing import select
from pyunitok.vocab.lists import PieceList, escape, from_file, unescape
from pyunitok.vocab.vocabulary import Vocabulary

BYTES = {bytes([b]): b + 1 for b in range(256)}
PIECES = st.binary(min_size=1, max_size=4) | st.text("ab \n\\n", min_size=1, max_size=4).map(str.encode)
TEXTS = ["", "the cat sat on the mat", "a\0b\n\n caf\xe9 猫と犬", "ababab " * 30]


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli, ["vocab", *map(str, arguments)])


def toy(more: dict[bytes, int], **options: Any) -> Vocabulary:
    pieces = {**BYTES, **more}
    given_options = {"eod_id": 0, "eod_piece": rwkv.EOD_PIECE, "name": "toy", **options}
    return Vocabulary.pack(list(pieces), np.array(list(pieces.values()), np.int64), **given_options)


def by_piece(vocabulary: Vocabulary) -> dict[bytes, int]:
    data, bounds = vocabulary.data.tobytes(), vocabulary.offsets.tolist()
    pieces = [data[begin:end] for begin, end in pairwise(bounds)]
    return dict(zip(pieces, vocabulary.ids.tolist(), strict=True))


def toy_file(path: Path, more: dict[bytes, int]) -> Path:
    path.write_bytes(rwkv.write_text(toy(more)))
    return path


def unigram_file(path: Path, piece: bytes) -> Path:
    path.write_bytes(sentencepieces.make([(piece, -1.0, sentencepieces.NORMAL)]).SerializeToString())
    return path


def write_lines(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@st.composite
def vocabularies(draw: Any) -> Vocabulary:
    more = draw(st.lists(PIECES.filter(lambda piece: len(piece) > 1), unique=True, max_size=12))
    ids = draw(st.lists(st.integers(257, 280), unique=True, min_size=len(more), max_size=len(more)))
    return toy(dict(zip(more, ids, strict=True)))


# --------------------------------------------------------------------------------------------------- editing ----


@given(vocabularies(), st.lists(PIECES, max_size=12), st.lists(PIECES, max_size=12), st.integers(250, 285), st.data())
def test_edit_matches_oracle(base: Vocabulary, add: list[bytes], remove: list[bytes], max_id: int, data: Any) -> None:
    before = by_piece(base)
    remove += data.draw(st.lists(st.sampled_from(sorted(before)), max_size=8))
    cut = data.draw(st.integers(0, len(add)))
    found = edit(
        base, add=[PieceList("a", add[:cut]), PieceList("b", add[cut:])], remove=[PieceList("c", remove)], max_id=max_id
    )
    after = by_piece(found.vocabulary)
    assert after == vocab_edit.edit(before, add, remove, max_id, {0})
    assert all(after[piece] == id_ for piece, id_ in before.items() if piece in after)
    assert {bytes([b]) for b in range(256)} <= after.keys()
    # Every listed piece is reported exactly once.
    names = [piece for piece, *_ in found.added + found.existing + found.repeated + found.no_room]  # type: ignore[operator]
    assert sorted(names) == sorted(add)
    gone = [piece for piece, _ in found.removed]
    assert sorted(gone + found.kept + found.wanted + found.not_found) == sorted(set(remove))
    assert {(piece, id_) for piece, id_, _ in found.added} == {pair for pair in after.items() if pair[0] not in before}
    assert found.n_free == len(set(range(1, max_id + 1)) - set(after.values()))


def test_free_ids_are_used_before_freed_ones() -> None:
    base = toy({b"aa": 257, b"bb": 259, b"cc": 260})
    add = PieceList("x", [b"1x", b"2x", b"3x", b"4x", b"5x"])
    found = edit(base, add=[add], remove=[PieceList("y", [b"cc", b"aa"])], max_id=262)
    assert found.added == [
        (b"1x", 258, "x"), (b"2x", 261, "x"), (b"3x", 262, "x"), (b"4x", 257, "x"), (b"5x", 260, "x")
    ]
    assert found.n_free == 0


def test_eod_and_fallback_are_not_removed() -> None:
    pieces = {b"a": 0, b"<end>": 1, b"<unk>": 2, b"ab": 3}
    base = Vocabulary.pack(list(pieces), np.arange(4), eod_id=1, eod_piece="<end>", fallback_id=2, name="toy")
    found = edit(base, remove=[PieceList("x", list(pieces))])
    assert found.kept == [b"a", b"<end>", b"<unk>"]
    assert by_piece(found.vocabulary) == {b"a": 0, b"<end>": 1, b"<unk>": 2}
    assert (found.vocabulary.eod_id, found.vocabulary.fallback_id) == (1, 2)


def test_ids_of_eod_and_fallback_without_pieces_are_not_free() -> None:
    base = Vocabulary.pack([b"a"], np.array([5]), eod_id=0, eod_piece="<eod>", fallback_id=2, name="toy")
    found = edit(base, add=[PieceList("x", [b"aa", b"ab", b"ac"])], max_id=4)
    assert [id_ for _, id_, _ in found.added] == [1, 3, 4]


def test_max_id_applies_only_to_new_pieces() -> None:
    base = toy({b"aa": 300})
    found = edit(base, add=[PieceList("x", [b"ab", b"ac"])], remove=[PieceList("y", [b"aa"])], max_id=257)
    assert by_piece(found.vocabulary).items() - BYTES.items() == {(b"ab", 257)}
    assert found.no_room == [(b"ac", "x")]
    with pytest.raises(OptionError, match="max_id"):
        edit(base, max_id=-1)


def test_an_empty_piece_is_rejected() -> None:
    with pytest.raises(VocabularyError, match="list: a piece is empty"):
        edit(toy({}), add=[PieceList("list", [b""])])


@settings(fewer(4))
@given(vocabularies(), st.lists(PIECES, max_size=8), st.lists(PIECES, max_size=8), st.lists(PIECES, max_size=8))
def test_token_counts_match_the_oracle(
    tmp_path_factory: Any, base: Vocabulary, add: list[bytes], remove: list[bytes], parts: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("x")
    (folder / "base.txt").write_bytes(rwkv.write_text(base))
    text = (b"".join(parts) * 3 + b"".join(add)).decode("utf-8", "replace").encode()
    (folder / "text.jsonl").write_text(json.dumps({"text": text.decode()}))
    report = edit_vocabulary(
        folder / "base.txt", folder / "out.utk", add=[PieceList("a", add)], remove=[PieceList("b", remove)],
        texts=[str(folder / "text.jsonl")], max_id=300, threads=1,
    )  # fmt: skip
    before, after = by_piece(base), by_piece(report.vocabulary)
    counts = tuple(len(greedy.encode(pieces, text)) for pieces in (before, after))
    assert [(count.n_bytes, count.n_tokens) for count in report.texts] == [(len(text), counts)]
    opened = Tokenizer.from_file(folder / "out.utk")
    assert opened.encode(text).tolist() == [after[piece] for piece in greedy.encode(after, text)]
    assert opened.decode_bytes(opened.encode(text)) == text


def test_removing_unused_pieces_does_not_change_the_ids_of_the_corpus(tmp_path: Path) -> None:
    base = toy_file(
        tmp_path / "base.txt", {b"the": 300, b"th": 301, b" cat": 302, b"dog": 303, b"ab": 304, b"aba": 305}
    )
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    for threads in (1, 2):
        report = edit_vocabulary(base, remove_unused=[str(tmp_path / "corpus.txt")], threads=threads)
        assert [piece for piece, _ in report.edited.removed] == [b"th", b"dog"]
        before, after = Tokenizer.from_file(base), report.tokenizer()
        for text in TEXTS:
            assert before.encode(text).tolist() == after.encode(text).tolist()


def test_uses_are_counted(tmp_path: Path) -> None:
    base = Tokenizer.from_file(toy_file(tmp_path / "base.txt", {b"the": 300, b"ab": 304}))
    write_lines(tmp_path / "a.jsonl", TEXTS * 50)
    reading = Reading(inputs.find([str(tmp_path / "a.jsonl")]), ReadingOptions(threads=2, block_bytes=100))
    uses = count_uses(reading, base, lambda done, total: None)
    ids = np.concatenate([base.encode(text) for text in TEXTS * 50])
    assert uses.tolist() == np.bincount(ids, minlength=305).tolist()


@pytest.mark.parametrize("kind", ["unigram", "longest"])
def test_files_are_counted_with_any_model(kind: str, tmp_path: Path) -> None:
    model = toy_file(tmp_path / "m", {b"the": 300}) if kind == "longest" else unigram_file(tmp_path / "m", b"the")
    tokenizer = Tokenizer.from_file(model)
    texts = {str(tmp_path / "a.txt"): TEXTS[1], str(tmp_path / "c.txt"): "", str(tmp_path / "b.txt"): TEXTS[3]}
    for path, text in texts.items():
        Path(path).write_text(text)
    reading = Reading(inputs.find(list(texts)), ReadingOptions(threads=2, block_bytes=16))
    found = count_files(reading, [tokenizer], lambda done, total: None)
    expected = [(path, len(text), (tokenizer.count(text),)) for path, text in texts.items()]
    assert [(count.name, count.n_bytes, count.n_tokens) for count in found] == expected


# ---------------------------------------------------------------------------------------------------- formats ----


@pytest.mark.parametrize("name", ["out.txt", "out.json", "out.utk", "out.unitok"])
@pytest.mark.parametrize("source", ["base.txt", "base.json", "base.utk"])
def test_formats(source: str, name: str, tmp_path: Path) -> None:
    base = toy({b"the": 300, " 猫".encode(): 301, b"\xe7\x8c": 302} if "txt" in source else {b"the": 300})
    if source == "base.utk":
        from_vocabulary(base).save(tmp_path / source)
    else:
        (tmp_path / source).write_bytes((rwkv.write_text if "txt" in source else rwkv.write_json)(base))
    (tmp_path / "add").write_text("(* ^ ω ^)\n cat\n", encoding="utf-8")
    done = run("edit", tmp_path / source, "-o", tmp_path / name, "--add", tmp_path / "add")
    if source == "base.txt" and name == "out.json":
        assert isinstance(done.exception, VocabularyError)
        assert "(id 302) is not valid UTF-8, as JSON requires" in str(done.exception)
        assert not (tmp_path / name).exists()
        return
    assert done.exit_code == 0, done.output
    expected = {**by_piece(base), "(* ^ ω ^)".encode(): 257, b" cat": 258}
    opened = Tokenizer.from_file(tmp_path / name)
    assert {piece.tobytes(): id_ for id_, piece in enumerate(opened.pieces()) if len(piece)} == expected
    assert opened.eod_id == 0
    assert opened.encode("(* ^ ω ^)").tolist() == [257]


def test_json_requires_the_usual_ids_of_bytes() -> None:
    pieces = [bytes([b]) for b in range(256)]
    base = Vocabulary.pack(pieces, np.arange(256) + 2, eod_id=0, eod_piece="e", fallback_id=None, name="toy")
    with pytest.raises(VocabularyError, match="byte 0x80 must have id 129, not 130"):
        rwkv.write_json(base)
    with pytest.raises(VocabularyError, match="the end of document must have id 0, not 7"):
        rwkv.write_json(toy({}, eod_id=7))


def test_invalid_bases_and_outputs(tmp_path: Path) -> None:
    base = toy_file(tmp_path / "base.txt", {b"the": 300})
    with pytest.raises(VocabularyError, match=r"only greedy longest-prefix vocabularies .* this is unigram"):
        edit_vocabulary(unigram_file(tmp_path / "spm.model", b"a"), tmp_path / "o.txt")
    with pytest.raises(OptionError, match="cannot infer the format from the name"):
        edit_vocabulary(base, tmp_path / "out")
    with pytest.raises(OptionError, match="must be one of"):
        edit_vocabulary(base, tmp_path / "out", to="bytepiece")
    with pytest.raises(OutputError, match="is also the base"):
        edit_vocabulary(base, base, overwrite=True)
    with pytest.raises(OptionError, match="must be given together"):
        edit_vocabulary(base, add_words=["x"])
    (tmp_path / "there.txt").write_text("precious")
    with pytest.raises(OutputError, match="exists; --overwrite replaces it"):
        edit_vocabulary(base, tmp_path / "there.txt")
    assert (tmp_path / "there.txt").read_text() == "precious"
    edit_vocabulary(base, tmp_path / "there.txt", overwrite=True)
    assert Tokenizer.from_file(tmp_path / "there.txt").piece_to_id("the") == 300


def test_rwkv_files_have_no_id_above_65535(tmp_path: Path) -> None:
    base = toy_file(tmp_path / "base.txt", {})
    pieces = [PieceList("x", [b"%05d" % i for i in range(MAX_ID)])]
    with pytest.raises(VocabularyError, match="id 65536 is not in 1"):
        edit_vocabulary(base, tmp_path / "o.txt", add=pieces, max_id=70000)
    report = edit_vocabulary(base, tmp_path / "o.utk", add=pieces, max_id=70000)
    assert report.tokenizer().dtype == np.uint32
    report = edit_vocabulary(base, add=pieces)
    assert len(report.edited.no_room) == 256


# ------------------------------------------------------------------------------------------------------ lists ----


@settings(fewer(3))
@given(st.binary() | st.text().map(str.encode))
def test_escapes(piece: bytes) -> None:
    line = escape(piece)
    assert unescape(line.encode()) == piece
    assert line.isprintable()


@pytest.mark.parametrize(
    ("line", "piece"),
    [
        (r"¯\_(ツ)_/¯", "¯\\_(ツ)_/¯".encode()), (r"\(^o^)/", b"\\(^o^)/"), (r"\\n", rb"\n"),
        (r"\x80\xff", b"\x80\xff"), (r"\u3042\U0001f600", "あ😀".encode()), (r"\n\r\t\0", b"\n\r\t\0"),
        ("\\", b"\\"), (r"\x8", rb"\x8"),
        ("(* ^ ω ^)", "(* ^ ω ^)".encode()),
    ],
)  # fmt: skip
def test_lines(line: str, piece: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(f"\n{line}\n  \n", encoding="utf-8")
    assert from_file(tmp_path / "x").pieces == [piece, b"  "]
    assert from_file(tmp_path / "x", escapes=False).pieces == [line.encode(), b"  "]


def test_line_ends_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfone two\r\n\r\n three ")
    assert from_file(path).pieces == [b"one two", b" three "]
    invalid = r"invalid UTF-8; escape each invalid byte, as in \\x80"
    for line, problem in ((b"\xff", invalid), (rb"\ud800", "not a valid char")):
        path.write_bytes(b"fine\n" + line)
        with pytest.raises(InputError, match=f"x, line 2: .*{problem}"):
            from_file(path)
    with pytest.raises(InputError, match="cannot read the file"):
        from_file(tmp_path / "nothing")


def test_emoji(tmp_path: Path) -> None:
    pytest.importorskip("emoji")
    emoji = lists.emoji()
    family, waving = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44b\U0001f3fd"
    assert {family.encode(), waving.encode()} <= set(emoji.pieces)
    assert len(emoji.pieces) > 3000
    report = edit_vocabulary(toy_file(tmp_path / "base.txt", {}), add=[emoji])
    assert report.tokenizer().encode(family + waving).size == 2
    assert not report.edited.repeated


def test_kaomoji_are_ordered_and_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [("(a b)", "mixed"), ("(* ^ ω ^)", "core"), ("x", "verbose"), ("(* ^ ω ^)", "mixed"), ("y  z", "core")]
    package = SimpleNamespace(all=lambda: [{"text": text, "tier": tier} for text, tier in entries])
    monkeypatch.setitem(sys.modules, "kaomoji_dataset", package)
    expected = ["(* ^ ω ^)", "y  z", "(a b)", "x"]
    assert [piece.decode() for piece in lists.kaomoji().pieces] == expected
    assert [piece.decode() for piece in lists.kaomoji(3).pieces] == expected[:3]
    monkeypatch.setitem(sys.modules, "kaomoji_dataset", None)
    with pytest.raises(OptionError, match="the kaomoji-dataset package is not installed: pip install"):
        lists.kaomoji()


@pytest.mark.slow
def test_the_kaomoji_package() -> None:
    pytest.importorskip("kaomoji_dataset")
    pieces = lists.kaomoji().pieces
    assert len(pieces) == len(set(pieces)) > 10000
    assert sum(b" " in piece for piece in pieces) > 1000


# ------------------------------------------------------------------------------------------------------ words ----

LETTERS = st.text("ab c д ж日本 のト\n.\u0301ー", max_size=30)


@settings(fewer(4))
@given(st.lists(LETTERS, min_size=1, max_size=6), st.integers(1, 5))
def test_words_match_the_oracle(tmp_path_factory: Any, texts: list[str], n: int) -> None:
    pytest.importorskip("regex")
    path = tmp_path_factory.mktemp("x") / "a.jsonl"
    pieces = {**BYTES, b"ab": 300, "日".encode(): 301, " の".encode(): 302}
    tokenizer = Tokenizer.from_pieces(pieces)
    for names, letters in ((["Latin"], ["abc"]), (["Han", "Cyrillic"], ["日本", "дж"]), (["Hiragana"], ["の"])):
        spoken = [text.replace("\u0301", ".").replace("ー", ".") for text in texts * 2]
        write_lines(path, spoken)
        counted = vocab_edit.words(spoken, letters)
        rows = [
            (word.encode(), times, times * (len(greedy.encode(pieces, word.encode())) - 1))
            for word, times in counted.items()
        ]
        expected = sorted((row for row in rows if row[1] > 1 and row[2] > 0), key=lambda row: (-row[2], row[0]))[:n]
        found = rank_words(Reading(inputs.find([str(path)]), ReadingOptions(threads=1)), tokenizer, names, n)
        assert [tuple(word) for word in found] == expected


@pytest.mark.parametrize(
    ("names", "text", "words"),
    [
        (["Japanese"], "日本語のトークナイザー、らーめん。", ["日本語の", "トークナイザー", "らーめん"]),
        (["Japanese", "Latin"], "食べた a cat ﾈｺは", ["食べた", " a", " cat", "ﾈｺは"]),
        (["Han", "Hiragana"], "食べた", ["食", "べた"]),
        (["Katakana"], "ー ー日ー ｱｰ", [" ｱｰ"]),
        (["latin"], "un cafe\u0301  au lait, déjà-vu", ["un", " cafe\u0301", " au", " lait", " déjà", "vu"]),
        (["Korean"], "한국어 漢字ab", ["한국어", " 漢字"]),
    ],
)
def test_words_of_scripts(names: list[str], text: str, words: list[str]) -> None:
    pytest.importorskip("regex")
    assert scripts.words(names).findall(text) == words


def test_unknown_scripts() -> None:
    pytest.importorskip("regex")
    for name in ("Klingon", "Han}|.", "", "_"):
        with pytest.raises(OptionError, match="is not a Unicode script"):
            scripts.expand([name])


def test_words_do_not_depend_on_memory_and_threads(tmp_path: Path) -> None:
    pytest.importorskip("regex")
    rng = np.random.default_rng(5)
    text = " ".join("".join(map(chr, rng.integers(97, 105, rng.integers(1, 5)))) for _ in range(20000))
    (tmp_path / "a.txt").write_text(text.replace(" a", "\na"))
    tokenizer = Tokenizer.from_pieces(BYTES)
    found = []
    for threads, max_memory in ((1, 0), (2, 0), (2, 40000), (1, 10000)):
        reading = Reading(inputs.find([str(tmp_path / "a.txt")]), ReadingOptions(threads=threads, block_bytes=1000))
        found.append(rank_words(reading, tokenizer, ["Latin"], 2000, max_memory=max_memory, folder=tmp_path))
    assert found[0] == found[1]
    for spilled in found[2:]:  # over the limit, the rarest words are omitted
        assert spilled == [word for word in found[0] if word in spilled]
        assert spilled[:50] == found[0][:50]


# --------------------------------------------------------------------------------------------------- commands ----


def test_edit_command(tmp_path: Path) -> None:
    base = toy_file(tmp_path / "base.txt", {b"the": 300, b"dog": 301})
    (tmp_path / "add.txt").write_text("the\n cat\n cat\n\\x80\n mat\n on\n")
    (tmp_path / "remove.txt").write_text("dog\nnothing\na\n")
    (tmp_path / "text.txt").write_text(TEXTS[1])
    arguments = [
        "edit", base, "-o", tmp_path / "o.txt", "--add", tmp_path / "add.txt", "--remove", tmp_path / "remove.txt",
        "--max-id", "257", "--text", tmp_path / "text.txt",
    ]  # fmt: skip
    dry = run(*arguments, "--dry-run")
    assert dry.exit_code == 0
    assert not (tmp_path / "o.txt").exists()
    done = run(*arguments)
    lines = done.stdout.splitlines()
    assert lines[:-1] == dry.stdout.splitlines()
    add = tmp_path / "add.txt"
    before, after = 16, 13
    assert lines == [
        "pieces           258 before, 258 after; 0 ids up to 257 are free",
        f"added            1 ( cat), ids 257: {add}",
        "removed          1 (dog)",
        f"already existed  2 (the  \\x80): {add}",
        f"listed twice     1 ( cat): {add}",
        f"did not fit      2 ( mat   on): {add}",
        "not removable    1 (a)",
        "not found        1 (nothing)",
        f"tokens           {before + 2} before, {after + 2} after (-3, -16.67%): {tmp_path / 'text.txt'}",
        f"written          {tmp_path / 'o.txt'}",
    ]
    values = json.loads(run(*arguments, "--json", "-", "--overwrite").stdout)
    assert values["added"] == [{"id": 257, "piece": " cat", "from": str(add)}]
    assert values["removed"] == [{"id": 301, "piece": "dog"}]
    assert values["existing"] == [{"piece": piece, "from": str(add)} for piece in ("the", "\\x80")]
    assert values["no_room"] == [{"piece": piece, "from": str(add)} for piece in (" mat", " on")]
    assert (values["kept"], values["not_found"], values["ids_left"]) == (["a"], ["nothing"], 0)
    assert values["texts"] == [{"file": str(tmp_path / "text.txt"), "bytes": 22, "tokens": [18, 15]}]
    assert run("edit", base).exit_code == 2


def test_edit_command_with_a_corpus(tmp_path: Path) -> None:
    pytest.importorskip("regex")
    base = toy_file(tmp_path / "base.txt", {b"dog": 300})
    (tmp_path / "ja.txt").write_text("日本語の猫。\n日本語の犬。\n猫", encoding="utf-8")
    done = run(
        "edit", base, "-o", tmp_path / "o.utk", "--add-words", tmp_path / "ja.txt", "--script", "Japanese", "--max",
        "2", "--remove-unused", tmp_path / "ja.txt", "--text", tmp_path / "ja.txt", "--threads", "1",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    opened = Tokenizer.from_file(tmp_path / "o.utk")
    assert opened.encode("日本語").tolist() == [257]
    assert opened.piece_to_id("dog") is None
    assert "removed          1 (dog)" in done.stdout
    assert "added            2 (日本語  の), ids 257 to 258: words" in done.stdout


@given(st.lists(st.binary(max_size=2), max_size=12), st.lists(st.binary(max_size=2), max_size=12))
def test_diff(a: list[bytes], b: list[bytes]) -> None:
    found = diff(Packed.from_documents(a), Packed.from_documents(b))
    in_a, in_b = set(a) - {b""}, set(b) - {b""}
    assert found.only_a == [(piece, id_) for id_, piece in enumerate(a) if piece in in_a - in_b]
    assert found.only_b == [(piece, id_) for id_, piece in enumerate(b) if piece in in_b - in_a]
    places = {p: ([i for i, x in enumerate(a) if x == p], [i for i, x in enumerate(b) if x == p]) for p in in_a & in_b}
    assert {piece: (ids_a, ids_b) for piece, ids_a, ids_b in found.changed} == {
        piece: (ids_a, ids_b) for piece, (ids_a, ids_b) in places.items() if ids_a != ids_b
    }
    assert found.n_same == len(places) - len(found.changed)


def test_diff_command(tmp_path: Path) -> None:
    a = toy_file(tmp_path / "a.txt", {b"the": 300, b"x\n": 301, b"cat": 302})
    b = toy_file(tmp_path / "b.txt", {b"the": 301, b" cat": 300, b"dog": 302, b"dogs": 303})
    (tmp_path / "text.txt").write_text(TEXTS[1])
    shown = run("diff", a, b, "--text", tmp_path / "text.txt", "--limit", "2").stdout.splitlines()
    assert shown == [
        "pieces           256 identical, 2 only in A, 3 only in B, 1 with different ids",
        "only in A           301  x\\n", "only in A           302  cat", "only in B           300   cat",
        "only in B           302  dog", "                 and 1 more; --limit and --json show them",
        "different id     300 -> 301  the",
        f"tokens           16 before, 15 after (-1, -6.25%): {tmp_path / 'text.txt'}",
    ]  # fmt: skip
    run("diff", a, b, "--json", tmp_path / "d.json")
    values = json.loads((tmp_path / "d.json").read_text())
    assert values["only_a"] == [{"id": 301, "piece": "x\\n"}, {"id": 302, "piece": "cat"}]
    assert values["changed"] == [{"piece": "the", "ids_a": [300], "ids_b": [301]}]


def test_list_command(tmp_path: Path) -> None:
    pytest.importorskip("regex")
    path = toy_file(tmp_path / "a.txt", {b"the": 300, "жена\n".encode(): 301, b"\xff\xfe": 302, b"cats": 303})
    assert run("list", path, "--longest", "2").stdout.splitlines() == ["   301    9  жена\\n", "   303    4  cats"]
    assert run("list", path, "--script", "Cyrillic", "--plain").stdout == "жена\\n\n"
    assert run("list", path, "--regex", "^t", "--min-bytes", "2").stdout == "   300    3  the\n"
    shown = run("list", path, "--not-utf8", "--min-bytes", "2", "--json").stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    assert rows == [{"id": 302, "bytes": 2, "piece": "\\xff\\xfe", "text": "\ufffd\ufffd"}]
    with pytest.raises(OptionError, match="is not a regular expression"):
        select(Tokenizer.from_file(path).pieces(), pattern="(")
    (tmp_path / "all").write_text(run("list", path, "--plain").stdout, encoding="utf-8")
    pieces = [piece.tobytes() for piece in Tokenizer.from_file(path).pieces() if len(piece)]
    assert from_file(tmp_path / "all").pieces == pieces


@pytest.mark.parametrize("command", ["edit", "diff"])
def test_advice_names_only_options_of_the_command(tmp_path: Path, command: str) -> None:
    base, picture = toy_file(tmp_path / "base.txt", {b"the": 300}), tmp_path / "picture.txt"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    found = run(command, base, *([base] if command == "diff" else ["--dry-run"]), "--text", picture)
    assert isinstance(found.exception, InputError)
    assert str(found.exception) == f"{picture}: a PNG image, not text; remove it from the inputs"


def test_a_pattern_that_takes_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""Regression: `vocab list --regex '^(\s+)+x$'` never finished."""
    pytest.importorskip("regex")
    pieces = Packed.from_documents([b"a", b" " * 100 + b"xy"])
    assert select(pieces, pattern=r"^(\s+)+x$") == []
    monkeypatch.setattr(listing, "MAX_SECONDS", 0.05)
    with pytest.raises(OptionError, match=r"to match piece 1 .*simplify the pattern"):
        select(pieces, pattern=r"^(?:\s|\s)*x$")
