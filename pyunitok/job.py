"""tokenize(): corpus files into a token file, with every option of the command; Job: the same in two steps.

    Options ──▶ Job: model opened, inputs found, outputs checked ──▶ run(): one machine, a URL, or a cluster
                └─▶ survey(): what run() would do                           └─▶ export, where a format was asked for
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyunitok.corpus import inputs as corpus_inputs
from pyunitok.corpus.formats import FORMATS
from pyunitok.corpus.paths import LeftOut
from pyunitok.corpus.reading import BLOCK_BYTES, MAX_LINE_BYTES, MAX_MEMORY_BYTES
from pyunitok.corpus.source import Source
from pyunitok.disk.outfile import check_target
from pyunitok.disk.url import is_url, without_file_scheme
from pyunitok.errors import ModelFormatError, OptionError
from pyunitok.model.batch import available_cores, check_threads
from pyunitok.model.tokenizer import Tokenizer
from pyunitok.run.journal import journal_path
from pyunitok.run.output import EXTRA, files_of_parts, own_files, parts_folder
from pyunitok.run.pipeline import tokenize as run_plan
from pyunitok.run.plan import Plan, Progress, Start
from pyunitok.run.tally import Tally
from pyunitok.tokens.manifest import ERRORS_SUFFIX, MAX_SHARDS, Manifest, is_token_file, sidecars
from pyunitok.vocab import known

if TYPE_CHECKING:
    from pyunitok.export import Exported
    from pyunitok.export.instead import Direct
    from pyunitok.model.sampling import Sample
    from pyunitok.run.shard import Shard
    from pyunitok.run.survey import Survey
    from pyunitok.run.upload import Spool

StrPath = str | os.PathLike[str]
Model = StrPath | Tokenizer | None


def tokenize(
    inputs: StrPath | Iterable[StrPath], out: StrPath, model: Model = None, *,
    input_format: str = "auto", text_key: str = "text", separator: str | bytes | None = None,
    eod: int | str | None = "model", dtype: str = "uint16", sample: Sample | None = None,
    threads: int | None = None, block_bytes: int = BLOCK_BYTES, max_line_bytes: int = MAX_LINE_BYTES,
    max_memory_bytes: int = MAX_MEMORY_BYTES, on_error: str = "raise", metadata: bool = False, verify: bool = False,
    shard: tuple[int, int] | None = None, ray: str | None = None, unit_bytes: int | None = None,
    keep_parts: bool = False, format: str | None = None, format_options: Mapping[str, Any] | None = None,
    copy: bool = False, keep_tokens: bool = False, overwrite: bool = False, spool: StrPath | None = None,
    verify_resume: bool = False,
    include: Iterable[str] = (), exclude: Iterable[str] = (),
    on_progress: Callable[[Progress], None] | None = None, on_start: Callable[[Start], None] | None = None,
) -> Manifest:  # fmt: skip
    """Tokenize files into `out`, a token file; what `pyunitok tokenize` does. Returns the manifest (OUT.json).

    inputs            files, directories, glob patterns or URLs, or one of them; "-" is stdin
    out               OUT, with OUT.ends and OUT.json beside it; a URL is uploaded to when the file is complete
    model             a model file, a Tokenizer, or None for the vocabulary unitok-v1
    input_format      "text", "jsonl", "parquet", or "auto": by the names and the first bytes
    text_key          JSON lines, Parquet: the field or column with the text; "a.b" is b inside a
    separator         text: what separates documents; None: each file is one
    eod               the id after each document; None: no id; "model": the model's own
    dtype             of the ids in the file: "uint16" or "uint32"
    sample            draw one of the ways to cut each document, see sampling.Sample
    threads           cores to use; None: all of them, or on a cluster one per task
    block_bytes       text read at a time, for each thread
    max_line_bytes    JSON lines: the longest line accepted
    max_memory_bytes  for reading and for ids that wait to be written
    on_error          a document that cannot be read: "raise" InputError; or "skip" it and list it in OUT.errors.jsonl;
                      or "skip-file": that, and leave out a damaged file as a whole, listed there too
    metadata          keep file, line and JSON fields of each document in OUT.meta.jsonl.zst
    verify            decode each block and compare it with its text
    shard             (i, n): only the i-th of n contiguous ranges of the inputs, into OUT.i-of-n; see run.merge
    ray               the address of a Ray cluster that does the work, "auto" or "local"; `unit_bytes` of the inputs for
                      each task; keep_parts: leave the parts in OUT.parts
    format            make another tool's files (see export.FORMATS), named after OUT, with format_options as of
                      export.Options; copy: do not link; keep_tokens: leave OUT and OUT.ends too
    overwrite         start again, and replace OUT if it exists
    verify_resume     where a run is resumed, read all that it has written and compare it with its hashes, and not only
                      the last 64 MiB of each file
    spool             where an OUT at a URL is made; in the system's temporary folder by default
    include, exclude  patterns: of the files in directories only these; and files that are not read, see inputs.find
    on_progress       called after each block, from this thread
    on_start          called once before the first block

    The same call again resumes an interrupted run; the output is byte-identical. A finished one is left as it is.

    OptionError where options do not go together. InputError names the file and the line or byte where an input is
    broken or has changed; what was written until then is kept, and the same call resumes there. OutputError names what
    is in the way. LimitError if the memory is too little.

        manifest = pyunitok.tokenize("corpus/*.jsonl.zst", "ids.u16", "m.model", metadata=True)
        print(manifest.tokens, manifest.bytes_per_token)
    """
    options = Options(
        input_format, text_key, separator, eod, dtype, sample, threads, block_bytes, max_line_bytes, max_memory_bytes,
        on_error, metadata, verify, shard, ray, unit_bytes, keep_parts, format, format_options or {}, copy, keep_tokens,
        overwrite, spool, verify_resume, tuple(include), tuple(exclude),
    )  # fmt: skip
    given = Callbacks()
    given = given if on_progress is None else replace(given, on_progress=on_progress)
    given = given if on_start is None else replace(given, on_start=on_start)
    return Job(inputs, out, model, options).run(given)


@dataclass(frozen=True)
class Options:
    """The options of tokenize(), which explains them."""

    input_format: str = "auto"
    text_key: str = "text"
    separator: str | bytes | None = None
    eod: int | str | None = "model"
    dtype: str = "uint16"
    sample: Sample | None = None
    threads: int | None = None
    block_bytes: int = BLOCK_BYTES
    max_line_bytes: int = MAX_LINE_BYTES
    max_memory_bytes: int = MAX_MEMORY_BYTES
    on_error: str = "raise"
    metadata: bool = False
    verify: bool = False
    shard: tuple[int, int] | None = None
    ray: str | None = None
    unit_bytes: int | None = None
    keep_parts: bool = False
    format: str | None = None
    format_options: Mapping[str, Any] = field(default_factory=dict)
    copy: bool = False
    keep_tokens: bool = False
    overwrite: bool = False
    spool: StrPath | None = None
    verify_resume: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def check(self, out: str) -> None:
        """OptionError if they do not go together, or one has no such value."""
        for name, value, values in (
            ("input_format", self.input_format, ("auto", *FORMATS)),
            ("dtype", self.dtype, tuple(DTYPES)),
            ("on_error", self.on_error, ON_ERROR),
        ):
            if value not in values:
                raise OptionError(f"{name} is one of {', '.join(values)}, not {value!r}")
        check_threads(self.threads)
        if out == "-":
            raise OptionError("OUT is three files and cannot be stdout; name a file")
        if self.spool and not is_url(out):
            raise OptionError("--spool needs an OUT that is a URL")
        if self.ray is not None:
            from pyunitok.run.cluster import check_address

            check_address(self.ray)
        if (self.unit_bytes or self.keep_parts) and not self.ray:
            raise OptionError("--unit and --keep-parts need --ray")
        if self.shard and not 0 <= self.shard[0] < self.shard[1] <= MAX_SHARDS:
            raise OptionError(f"a shard is I/N with I from 0 to N - 1, and N at most {MAX_SHARDS:,}")
        if self.ray and self.shard:
            raise OptionError("--ray divides the run itself, without --shard")
        if self.ray and self.on_error == "skip-file":
            raise OptionError("--on-error skip-file is for one machine: on a cluster a file may be divided")
        if self.ray and is_url(out):
            raise OptionError("--ray needs an OUT on a file system that all machines see, not a URL")
        if self.ray and self.format and self.keep_parts:
            raise OptionError("--format needs OUT, and --keep-parts leaves none")
        if self.format and is_url(out):
            raise OptionError("--format writes local files, and OUT is a URL")
        if not self.format and (self.copy or self.keep_tokens or self.format_options):
            raise OptionError("export options need --format")


ON_ERROR = ("raise", "skip", "skip-file")
DTYPES = {"uint16": "<u2", "uint32": "<u4"}


@dataclass(frozen=True)
class Callbacks:
    """What a caller of Job.run() hears.

    on_start     once before the first block
    on_progress  after each block
    on_merge     as the parts of a cluster are joined
    on_upload    (url, bytes) before each file is uploaded
    on_export    once another tool's files are made
    """

    on_start: Callable[[Start], None] = lambda _: None
    on_progress: Callable[[Progress], None] = lambda _: None
    on_merge: Callable[[Progress], None] = lambda _: None
    on_upload: Callable[[str, int], None] = lambda _url, _n_bytes: None
    on_export: Callable[[Exported], None] = lambda _: None


class Job:
    """A call of tokenize(), decided and checked; run() then does it. Nothing is written before.

    plan      what is to be done, with the inputs that were found
    left_out  files in directories that are not read
    spool     where OUT is made, if it belongs at a URL
    """

    def __init__(self, inputs: StrPath | Iterable[StrPath], out: StrPath, model: Model, options: Options) -> None:
        """OptionError, InputError and OutputError as tokenize()."""
        self.left_out: list[LeftOut] = []
        given = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
        self._options = options
        name = without_file_scheme(os.fspath(out))
        options.check(name)
        tokenizer = open_model(model)
        eod_id = _eod_id(options.eod, tokenizer)
        this = _name_of_shard(name, *options.shard) if options.shard else name
        self.spool = self._spool(this) if is_url(this) else None
        target = self.spool.out if self.spool else Path(this)
        for path in own_files(target).finished:
            check_target(path, overwrite=True)
        self._direct = self._checked_export(target)
        sources = self._found([os.fspath(item) for item in given], target, name, this)
        if not journal_path(target).exists():  # a run that was begun goes on, whatever is left of its inputs
            corpus_inputs.check_separator(sources, options.separator)
        part: Shard | None = None
        if options.shard:
            from pyunitok.run.shard import take

            sources, part = take(sources, *options.shard)
        self.plan = Plan(
            sources=sources, out=target, tokenizer=tokenizer, eod_id=eod_id, separator=_separator(options.separator),
            text_key=options.text_key, threads=options.threads or (1 if options.ray else available_cores()),
            block_bytes=options.block_bytes, max_line_bytes=options.max_line_bytes,
            max_memory_bytes=options.max_memory_bytes, skip_bad=options.on_error != "raise",
            skip_files=options.on_error == "skip-file", verify_resume=options.verify_resume,
            metadata=options.metadata, verify=options.verify, overwrite=options.overwrite, shard=part,
            dtype=DTYPES[options.dtype], sample=options.sample,
        )  # fmt: skip
        self.plan.check()

    def _spool(self, url: str) -> Spool:
        from pyunitok.run.upload import Spool

        return Spool(url, Path(self._options.spool) if self._options.spool else None)

    def outputs(self) -> list[str]:
        """Every file that run() leaves; OUT.errors.jsonl only where something is left out."""
        plan = self.plan
        extra = [EXTRA[0]] * plan.metadata + [ERRORS_SUFFIX] * plan.skip_bad
        if self.spool:
            return [self.spool.url + suffix for suffix in ("", ".ends", ".json", *extra)]
        tokens = [] if self._direct and not self._options.keep_tokens else [plan.out, sidecars(plan.out)[0]]
        files = [*tokens, sidecars(plan.out)[1], *(plan.out.with_name(plan.out.name + suffix) for suffix in extra)]
        return [*map(str, files), *(map(str, self._direct.files()) if self._direct else [])]

    @property
    def parts(self) -> Path:
        """Where the parts of a run on a cluster lie."""
        return parts_folder(self.plan.out)

    @property
    def keeps_parts(self) -> bool:
        return self._options.keep_parts

    def survey(self) -> Survey:
        """What run() would read and write; writes nothing."""
        from pyunitok.run.survey import survey

        return survey(self.plan)

    def run(self, callbacks: Callbacks | None = None) -> Manifest:
        """Do it, or what is left of it; see tokenize()."""
        hears = callbacks or Callbacks()
        if self._direct:
            self._direct.make_folder()
            tally = Tally(self.plan)
            finished = self._direct.finished(self.plan.identity())
            if finished:
                tally.check_pipes(finished)
                hears.on_start(Start(finished.bytes, finished.documents, complete=True))
                return finished
        manifest = self._tokenize(hears)
        if self._direct:
            hears.on_export(self._direct.make())
        return manifest

    def _tokenize(self, hears: Callbacks) -> Manifest:
        options = self._options
        if self.spool:
            from pyunitok.run.upload import tokenize_to

            return tokenize_to(self.spool, self.plan, hears.on_progress, hears.on_start, hears.on_upload)
        if options.ray:
            from pyunitok.run import cluster

            return cluster.run(
                self.plan, address=options.ray, unit_bytes=options.unit_bytes, keep_parts=options.keep_parts,
                on_progress=hears.on_progress, on_start=hears.on_start, on_merge=hears.on_merge,
            )  # fmt: skip
        return run_plan(self.plan, hears.on_progress, hears.on_start)

    def _checked_export(self, target: Path) -> Direct | None:
        options = self._options
        if not options.format:
            return None
        from pyunitok.export.instead import Direct, named

        chosen = named(target, options.format_options.get("name"), **_without_name(options.format_options))
        direct = Direct(
            target, options.format, chosen, copy=options.copy, keep=options.keep_tokens, overwrite=options.overwrite
        )  # fmt: skip
        direct.check()
        return direct

    def _found(self, given: list[str], target: Path, name: str, this: str) -> list[Source]:
        """The inputs, without what this run writes, or the other shards of this run do."""
        options, mine = self._options, own_files(target)
        others = _files_of_shards(name, options.shard[1]) if options.shard else []
        # A token file of an earlier run may lie among the inputs; anything else there must not be lost.
        is_ours = is_token_file(target) or journal_path(target).exists()
        own = [*mine.unfinished, *files_of_parts(target), *others, *(_own_urls(this) if is_url(this) else [])]
        return corpus_inputs.find(
            given, input_format=options.input_format, text_key=options.text_key,
            include=options.include, exclude=options.exclude, left_out=self.left_out,
            allow_damaged=options.on_error == "skip-file",
            own=map(str, [*own, *(mine.finished if is_ours else [])]),
            refuse=map(str, [] if is_ours else mine.finished),
        )  # fmt: skip


def open_model(model: Model) -> Tokenizer:
    """A tokenizer as it is, or of a model file or a name; None is the default vocabulary."""
    if isinstance(model, Tokenizer):
        return model
    if model is None:
        return Tokenizer.default()
    if model not in known.NAMES and not Path(model).is_file():
        names = " or ".join(known.NAMES)
        raise ModelFormatError(f"there is no model file {os.fspath(model)!r}; name a file, or {names}")
    return Tokenizer.from_file(model)


def _files_of_shards(out: str, count: int) -> list[Path] | list[str]:
    """What the shards of OUT may have written: here all that is there, at a URL all that may be."""
    if is_url(out):
        return [url for k in range(count) for url in _own_urls(_name_of_shard(out, k, count))]
    path = Path(out)
    named = re.compile(re.escape(path.name) + rf"\.\d+-of-{count}(\..*)?")
    there = path.parent.iterdir() if path.parent.is_dir() else ()
    return [file for file in there if named.fullmatch(file.name)]


def _name_of_shard(out: str, number: int, count: int) -> str:
    from pyunitok.run.shard import shard_suffix

    return out + shard_suffix(number, count)


def _own_urls(url: str) -> list[str]:
    from pyunitok.run.upload import own_urls

    return own_urls(url)


def _eod_id(eod: int | str | None, tokenizer: Tokenizer) -> int | None:
    if eod == "model":
        if tokenizer.eod_id is None:
            raise OptionError("this model has no eod id; choose one (--eod ID) or give --eod none")
        return int(tokenizer.eod_id)
    if eod is not None and (isinstance(eod, bool) or not isinstance(eod, int)):
        raise OptionError(f'eod is an id, None or "model", not {eod!r}')
    return eod


def _separator(separator: str | bytes | None) -> bytes | None:
    if separator is not None and not separator:
        raise OptionError("the separator is empty")
    return separator.encode("utf-8", "surrogateescape") if isinstance(separator, str) else separator


def _without_name(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "name"}
