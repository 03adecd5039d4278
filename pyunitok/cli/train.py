"""The command train: a subcommand for each kind of model."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pyunitok import __version__
from pyunitok.cli.arguments import AnyType, Size, parse_separator
from pyunitok.cli.progress import make_bar
from pyunitok.cli.sections import Sectioned
from pyunitok.corpus.formats import FORMATS as INPUT_FORMATS
from pyunitok.disk.reports import check_report
from pyunitok.disk.url import redacted, shown
from pyunitok.tokens.page import require_plots
from pyunitok.train import report_page
from pyunitok.train.api import outputs, run
from pyunitok.train.trained import Trained

Command = Callable[..., Any]
BYTE_PHASES = {  # their progress is in bytes of the files
    "count", "count n-grams", "count pieces", "read", "grow", "refine", "settle", "words", "uses", "texts",
}  # fmt: skip
YES_NO = [
    ("split-by-unicode-script", True, "Pieces do not cross scripts."),
    ("split-by-number", True, "Treat digits as a script of their own."),
    ("split-digits", False, "Make every digit a piece of its own."),
    ("treat-whitespace-as-suffix", False, "A space ends a word instead of beginning one."),
    ("allow-whitespace-only-pieces", False, "Allow pieces of several spaces."),
    ("byte-fallback", False, "Encode unknown characters as their bytes."),
    ("add-dummy-prefix", True, "Put a space before each text."),
    ("remove-extra-whitespaces", True, "Replace several spaces by one."),
    ("hard-vocab-limit", False, "Fail if the text gives fewer pieces."),
]  # fmt: skip


FOR_CUTS = {  # words: what a model of whole words or of characters has no use for
    "split-by-unicode-script", "split-by-number", "split-digits", "byte-level", "auto-character-coverage",
    "pretokenization-delimiter", "max-sentencepiece-length", "split-by",
}  # fmt: skip

# The help of each kind: options without a section come first.
INPUTS = {"Inputs": "input-format text-key doc include exclude"}
SENTENCEPIECE = INPUTS | {
    "Text": "normalization-rule-name normalization-rule-tsv add-dummy-prefix remove-extra-whitespaces "
    "max-sentence-length input-sentence-size seed",
    "Characters": "character-coverage auto-character-coverage required-chars initial-alphabet byte-fallback byte-level",
    "Pieces": "split-by split-by-unicode-script split-by-number split-digits treat-whitespace-as-suffix "
    "allow-whitespace-only-pieces pretokenization-delimiter max-sentencepiece-length min-frequency "
    "user-defined-symbols control-symbols hard-vocab-limit",
}
UNIGRAM = SENTENCEPIECE | {
    "Unigram": "objective prune em prior em-iterations em-tolerance max-rounds shrinking-factor seed-sentencepiece-size"
}
LONGEST = INPUTS | {
    "Pieces": "split-by max-words max-piece-bytes split-digits max-digits closed-words leading-spaces",
    "Weights": "weight equal-bytes damping seed",
}


@click.group()
def train() -> None:
    """Train a model on texts.

    \b
    Example:
      pyunitok train unigram corpus.jsonl.zst -o en.model --vocab-size 32000
      pyunitok train bpe books/ -o books.model --vocab-size 16000 --byte-fallback
      pyunitok train longest corpus.jsonl.zst -o world.txt --vocab-size 65536
      pyunitok train bytepiece corpus.jsonl.zst -o zh.model --vocab-size 32000
    """


def reading_options(
    function: Command, out: str = "The model; NAME.vocab is written beside it.",
    memory: str = "Memory for counting; further counts go to disk (in TMPDIR). The result does not change.",
) -> Command:  # fmt: skip
    """How texts are read: for every kind of model."""
    options = [
        click.argument("inputs", metavar="IN...", nargs=-1, required=True),
        click.option("-o", "--out", metavar="NAME", required=True, help=out),
        click.option(
            "--vocab-size", type=click.IntRange(1, 1 << 24), required=True, help="Number of pieces, symbols included."
        ),
        click.option(
            "--input-format", type=click.Choice(["auto", *INPUT_FORMATS]), default="auto",
            show_default=True, help="As in `pyunitok tokenize`.",
        ),
        click.option("--text-key", default="text", show_default=True, help="JSONL, Parquet: the field with the text."),
        click.option(
            "--include", metavar="PATTERN", multiple=True, help="Read only files in directories whose names match."
        ),
        click.option("--exclude", metavar="PATTERN", multiple=True, help="Leave out files whose names match."),
        click.option(
            "--doc", default="file", show_default=True, metavar="file|line|SEPARATOR",
            help="Text: how files are divided into documents.",
        ),
        click.option("--threads", type=click.IntRange(1), help="Number of threads; by default one per core."),
        click.option("--max-memory", type=Size(), default="2G", show_default=True, help=memory),
        click.option("--overwrite", is_flag=True, help="Replace the model if it exists."),
        click.option(
            "--checkpoint", metavar="DIR",
            help="Save the result of each phase: the same command resumes after the last finished one, and does nothing"
            " once all is done.",
        ),
        click.option("--report", metavar="FILE.html", help="Write the summary, with charts, as an HTML page."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def sentencepiece_options(function: Command, cuts_words: bool = True) -> Command:
    """spm_train's options, by their names there. Without cuts_words, the help leaves out those that have no effect."""
    for name, default, help_ in reversed(YES_NO):
        text = f"{help_} Default: {'yes' if default else 'no'}."
        function = click.option(f"--{name}/--no-{name}", default=None, help=text)(function)
    options = [
        click.option(
            "--compat", type=click.Choice(["sentencepiece"]), help="Train exactly the model of sentencepiece 0.2.3."
        ),
        click.option(
            "--byte-level", is_flag=True,
            help="unigram, bpe: the symbols are the 256 bytes, as in GPT-2; texts are not normalized. NAME is .json"
            " (Hugging Face's tokenizer.json) or .utk (native).",
        ),
        click.option("--character-coverage", type=float, help="Share of the characters to keep. Default: 0.9995."),
        click.option(
            "--auto-character-coverage", is_flag=True, default=None,
            help="Choose the characters: BPE, or --prune sparse.",
        ),
        click.option("--required-chars", help="Characters that always become pieces."),
        click.option("--initial-alphabet", help="Same as --required-chars."),
        click.option("--user-defined-symbols", help="Pieces that are matched before all others: a,b,c."),
        click.option("--control-symbols", help="Pieces that no text contains: a,b,c."),
        click.option("--max-sentencepiece-length", type=int, help="Most characters in a piece. Default: 16."),
        click.option("--max-sentence-length", type=int, help="Skip lines with more bytes. Default: no limit."),
        click.option("--input-sentence-size", type=int, help="Train on a sample of this many lines."),
        click.option("--seed", type=int, default=0, help="Seed of the sample."),
        click.option("--normalization-rule-name", help="nmt_nfkc (the default), nfkc, *_cf or identity."),
        click.option("--normalization-rule-tsv", help="A file of normalization rules instead."),
        click.option("--pretokenization-delimiter", help="No piece crosses this string."),
        click.option("--min-frequency", type=click.IntRange(1), default=1, help="Leave out words with a lower count."),
        click.option(
            "--split-by", type=click.Choice(["space", "none"]), default="space", show_default=True,
            help="none: pieces may contain several words.",
        ),
        click.option(
            "--set", "more", multiple=True, metavar="NAME=VALUE",
            help="Any other option of spm_train: --set unk_id=3. input_format=tsv reads lines of TEXT, a tab, COUNT.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    for parameter in getattr(function, "__click_params__", []):
        if not cuts_words and parameter.opts[0].removeprefix("--") in FOR_CUTS:
            parameter.hidden = True
    return function


@train.command(cls=Sectioned, sections=UNIGRAM)
@reading_options
@sentencepiece_options
@click.option("--em", type=click.Choice(["expectation", "viterbi"]), help="Count all segmentations or only the best.")
@click.option("--prior", type=click.Choice(["digamma", "mle"]), help="digamma makes rare pieces rarer.")
@click.option(
    "--prune", type=click.Choice(["loss", "probability", "frequency", "sparse"]),
    help="How to choose the pieces to remove. sparse: sentencepiece's sparse pruning, the fastest.",
)  # fmt: skip
@click.option("--objective", type=click.Choice(["likelihood", "tokens"]), help="tokens: minimize the number of tokens.")
@click.option("--em-iterations", type=click.IntRange(1), help="EM iterations per round. Default: 2.")
@click.option("--em-tolerance", type=float, help="End a round's EM once an iteration gains less than this share.")
@click.option("--max-rounds", type=click.IntRange(1), help="Most rounds; the last one drops all surplus pieces.")
@click.option("--shrinking-factor", type=float, help="Share of the pieces that a round keeps. Default: 0.75.")
@click.option("--seed-sentencepiece-size", type=int, help="Number of initial candidates. Default: 1000000.")
def unigram(**options: Any) -> None:
    """Train a Unigram model (SentencePiece).

    \b
    Example:
      pyunitok train unigram corpus.jsonl.zst -o en.model --vocab-size 32000
      pyunitok train unigram wiki/ -o wiki.model --vocab-size 64000 --objective tokens --split-by none
    """
    _train("unigram", options)


@train.command(cls=Sectioned, sections=SENTENCEPIECE)
@reading_options
@sentencepiece_options
def bpe(**options: Any) -> None:
    """Train byte-pair encoding (SentencePiece).

    \b
    Example:
      pyunitok train bpe books/ -o books.model --vocab-size 16000 --byte-fallback
    """
    _train("bpe", options)


@train.command(cls=Sectioned, sections=SENTENCEPIECE)
@reading_options
@partial(sentencepiece_options, cuts_words=False)
def word(**options: Any) -> None:
    """Train a word model (SentencePiece).

    \b
    Example:
      pyunitok train word corpus.txt -o words.model --vocab-size 50000
    """
    _train("word", options)


@train.command(cls=Sectioned, sections=SENTENCEPIECE)
@reading_options
@partial(sentencepiece_options, cuts_words=False)
def char(**options: Any) -> None:
    """Train a character model (SentencePiece).

    \b
    Example:
      pyunitok train char corpus.txt -o chars.model --vocab-size 5000
    """
    _train("char", options)


class Weight(AnyType):
    """FILE=W."""

    name = "weight"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        path, _, number = value.rpartition("=")
        try:
            return (path or self.fail(f"{value!r} is not FILE=W; try books/=2", param, ctx)), float(number)
        except ValueError:
            self.fail(f"{number!r} is not a number", param, ctx)


@train.command(cls=Sectioned, sections=LONGEST)
@partial(reading_options, out="The model.", memory="Half of it holds the text; larger texts are sampled.")
@click.option("--to", type=click.Choice(["native", "rwkv"]), help="The file's format. Default: rwkv for NAME.txt.")
@click.option(
    "--split-by", type=click.Choice(["space", "none"]), default="none", show_default=True,
    help="space: a piece holds one word at most.",
)  # fmt: skip
@click.option("--max-words", type=click.IntRange(1), default=4, show_default=True, help="Most words in a piece.")
@click.option("--split-digits", is_flag=True, help="Every digit is a piece of its own.")
@click.option("--max-digits", type=click.IntRange(1), default=3, show_default=True, help="Most digits in a row.")
@click.option(
    "--max-piece-bytes", type=click.IntRange(1, 256), default=32, show_default=True,
    help="Most bytes in a piece; runs of one byte, such as indentation, may have 128.",
)  # fmt: skip
@click.option(
    "--closed-words", is_flag=True,
    help="A piece ends where its word or number ends, as in unitok-v1: large vocabularies encode faster.",
)  # fmt: skip
@click.option(
    "--leading-spaces/--no-leading-spaces", default=True, show_default=True,
    help="A space belongs to the word after it: no piece but white space ends with a space.",
)  # fmt: skip
@click.option(
    "--weight", "weights", type=Weight(), multiple=True, metavar="IN=W",
    help="A token saved in this input counts W times. May be repeated.",
)  # fmt: skip
@click.option("--equal-bytes", is_flag=True, help="As if all inputs had the same number of bytes.")
@click.option(
    "--damping", type=click.IntRange(0), default=0, show_default=True,
    help="Text that an input repeats more often than this counts by its logarithm. 0: never.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="For the sample, where --max-memory needs one.")
def longest(**options: Any) -> None:
    """Train a greedy vocabulary, RWKV World's kind.

    Encoding always takes the longest piece. Training looks for the pieces that then give the fewest tokens. Ids
    follow the order of the pieces' bytes from 1 on; 0 ends a document. The text is held in memory, in up to
    half of --max-memory; larger texts are sampled.

    \b
    Example:
      pyunitok train longest corpus.jsonl.zst -o world.txt --vocab-size 65536
      pyunitok train longest en/ zh/ -o mix.utk --vocab-size 32000 --equal-bytes --weight zh/=2 --split-digits
      pyunitok train longest corpus/ -o fast.utk --vocab-size 65280 --closed-words
    """
    options["weights"] = dict(options["weights"])
    _train("longest", options)


@train.command(cls=Sectioned, sections=INPUTS)
@partial(reading_options, out="The model; with --also-size NAME.SIZE, one of each.")
@click.option("--compat", type=click.Choice(["bytepiece"]), help="Train exactly the model of bytepiece 0.6.3.")
@click.option(
    "--also-size", "also", type=click.IntRange(1), multiple=True, metavar="N",
    help="Make a model of this size, too. May be repeated; the models are then NAME.N.",
)  # fmt: skip
@click.option("--order", type=click.IntRange(1, 7), default=6, show_default=True, help="Bytes of the longest n-grams.")
@click.option("--max-piece-length", type=click.IntRange(1), default=36, show_default=True, help="In bytes.")
@click.option(
    "--min-count", type=click.IntRange(1), default=2, show_default=True,
    help="Leave out rarer n-grams and pieces. 32 or more for large corpora.",
)  # fmt: skip
@click.option("--isolate-digits", is_flag=True, help="Make every digit a piece of its own.")
@click.option(
    "--ensure-unicode/--no-ensure-unicode", default=True, show_default=True, help="No piece begins inside a character."
)
def bytepiece(also: tuple[int, ...], **options: Any) -> None:
    """Train a BytePiece model.

    A model of byte n-grams finds the pieces. The texts are read twice, so stdin and pipes are copied to a temporary
    file.

    \b
    Example:
      pyunitok train bytepiece corpus.jsonl.zst -o zh.model --vocab-size 32000
      pyunitok train bytepiece wiki/ -o wiki.model --vocab-size 80000 --also-size 40000 --min-count 32
    """
    if also:
        options["vocab_size"] = [options["vocab_size"], *also]
    _train("bytepiece", options)


def _train(kind: str, options: dict[str, Any]) -> None:
    out, page = Path(options["out"]), options.pop("report")
    files = outputs(kind, out, options["vocab_size"], byte_level=options.get("byte_level", False))
    names = " and ".join([str(files[0]), *(file.name for file in files[1:])])
    if page is not None:
        check_report(Path(page))
        require_plots()
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    settings = [pair.partition("=") for pair in given.pop("more", ())]
    for name, equals, _ in settings:
        if not equals:
            raise click.UsageError(f"--set takes NAME=VALUE, not {name!r}")
    given["separator"] = parse_separator(given.pop("doc"))
    inputs = list(given.pop("inputs"))

    def write_page(trained: Trained) -> None:
        report_page.write(trained, Path(page), str(out), _how(kind))

    with Bar() as bar:
        trained = run(
            inputs, kind=kind, progress=bar.show, settings={name: value for name, _, value in settings},
            report=None if page is None else (Path(page), write_page), **given,
        )  # fmt: skip
    if trained is None:
        click.echo(f"already complete: {names}", err=True)
        return
    for name, value in [*trained.rows(), ("written", names)]:
        click.echo(f"{name:<14} {value}")
    if page is not None:
        click.echo(f"{'report':<14} {page}")


def _how(kind: str) -> list[tuple[str, str]]:
    """For the report: what the command line asked for."""
    context = click.get_current_context()
    given = []
    for option in context.command.params:
        name, value = str(option.name), context.params.get(str(option.name))
        on_line = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not isinstance(option, click.Option) or not on_line or name in ("out", "report", "overwrite", "checkpoint"):
            continue
        if isinstance(value, bool):
            given.append(option.opts[0] if value else (option.secondary_opts or option.opts)[0])
            continue
        for item in value if option.multiple and value else [value]:
            given.append(f"{option.opts[0]} {'='.join(map(str, item)) if isinstance(item, tuple) else item}")
    inputs = ", ".join(map(shown, context.params["inputs"]))
    return [("kind", f"{kind}, pyunitok {__version__}"), ("inputs", inputs), ("options", redacted(" ".join(given)))]


class Bar:
    """A line on the terminal for the phase that runs: what, how far, how long."""

    def __enter__(self) -> Bar:
        self._phase, self._shown = "", 0.0
        self._bar: Any = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, phase: str, done: int, total: int) -> None:
        """See trained.Progress."""
        now = time.monotonic()
        if phase == self._phase and now - self._shown < 0.1:
            return
        self._shown = now
        if phase != self._phase:
            self.__exit__()
            unit, scale = ("B", True) if phase.partition(",")[0] in BYTE_PHASES else ("", False)
            self._bar = make_bar(desc=phase, total=total or None, unit=unit, unit_scale=scale, disable=None)
            self._phase = phase
        self._bar.update(done - self._bar.n)
