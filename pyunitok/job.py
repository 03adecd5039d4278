"""tokenize() turns corpus files into a token file, with every option of the command. Job checks the arguments first.

    Options ──▶ Job: model opened, inputs found, outputs checked ──▶ run(): one machine, a URL, or a cluster
                                                                            └─▶ export, if a format was given
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pyunitok import export
from pyunitok.corpus import inputs as corpus_inputs
from pyunitok.corpus.paths import LeftOut
from pyunitok.corpus.reading import BLOCK_BYTES, MAX_LINE_BYTES, MAX_MEMORY_BYTES
from pyunitok.disk.outfile import check_target
from pyunitok.disk.url import is_url, without_file_scheme
from pyunitok.export.direct import Direct
from pyunitok.model.sampling import Sample
from pyunitok.run import cluster, pipeline
from pyunitok.run.journal import journal_path
from pyunitok.run.options import TokenizeOptions
from pyunitok.run.output import files_of_parts, own_files, parts_folder
from pyunitok.run.plan import SILENT, Callbacks, Plan, Progress, Start
from pyunitok.run.shard import RunShard, shard_suffix, take
from pyunitok.run.tally import Tally
from pyunitok.run.upload import Spool, own_urls, tokenize_to
from pyunitok.tokens.manifest import ERRORS_SUFFIX, METADATA_SUFFIX, Manifest, StrPath, is_token_file
from pyunitok.tokens.model import Model, open_model


def tokenize(
    inputs: StrPath | Iterable[StrPath], out: StrPath, model: Model = None, *,
    input_format: str = "auto", text_key: str = "text", separator: str | bytes | None = None,
    eod: int | str | None = "model", dtype: str = "auto", sample: Sample | None = None,
    threads: int | None = None, block_bytes: int = BLOCK_BYTES, max_line_bytes: int = MAX_LINE_BYTES,
    max_memory_bytes: int = MAX_MEMORY_BYTES, on_error: str = "raise", metadata: bool = False, verify: bool = False,
    shard: tuple[int, int] | None = None, ray: str | None = None, unit_bytes: int | None = None,
    keep_parts: bool = False, format: str | None = None, format_options: Mapping[str, Any] | None = None,
    copy: bool = False, keep_tokens: bool = False, overwrite: bool = False, spool: StrPath | None = None,
    verify_resume: bool = False, include: Iterable[str] = (), exclude: Iterable[str] = (),
    on_progress: Callable[[Progress], None] | None = None, on_start: Callable[[Start], None] | None = None,
) -> Manifest:  # fmt: skip
    """Tokenize files into `out`, a token file, as `pyunitok tokenize` does. Returns the manifest (OUT.json).

    inputs            a file, directory, glob pattern or URL, or several of them; "-" is stdin
    out               OUT, with OUT.ends and OUT.json next to it; if OUT is a URL, the finished files are uploaded
    model             a model file, a Tokenizer, or None for the vocabulary unitok-v1
    input_format      "text", "jsonl", "parquet", or "auto" to infer it from names and first bytes
    text_key          JSON lines, Parquet: the field or column with the text; "a.b" is the field b inside the field a
    separator         text: the separator between documents; None: each file is one document
    eod               the id after each document; None: no id; "model": the model's eod
    dtype             the type of the ids in the file: "uint16", "uint32" or "auto" (uint16 if every id fits)
    sample            sample a segmentation of each document; see sampling.Sample
    threads           cores to use; None: all, or one per task on a cluster
    block_bytes       the bytes of text per block; each thread encodes one block at a time
    max_line_bytes    JSON lines: the longest line accepted
    max_memory_bytes  the memory budget for reading and for unwritten ids
    on_error          what to do with a document that cannot be read: "raise" InputError; "skip" it and list it in
                      OUT.errors.jsonl; "skip-file" also skips and lists damaged files
    metadata          keep each document's file, line and JSON fields in OUT.meta.jsonl.zst
    verify            decode each block's ids and compare the result with its text
    shard             (i, n): tokenize only range i, counted from 0, of n contiguous ranges of the inputs, into
                      OUT.i-of-n; see run.merge
    ray               run on the Ray cluster at this address, "auto" or "local"; each task reads `unit_bytes` of the
                      inputs; keep_parts: leave the parts in OUT.parts
    format            write another tool's files (see export.FORMATS), named after OUT, with format_options (see
                      export.Options); copy: copy instead of linking; keep_tokens: keep OUT and OUT.ends too
    overwrite         start over, and replace OUT if it exists
    verify_resume     when resuming, verify the hashes of everything written, not only of the last 64 MiB of each file
    spool             the local folder for OUT if OUT is a URL; by default in the system's temporary folder
    include, exclude  patterns for the files to read in directories, and for the files to skip; see inputs.find
    on_progress       called after each block, in the calling thread
    on_start          called once before the first block

    Repeating the call resumes an interrupted run; the output is byte-identical. A finished run is not repeated.

    Raises OptionError if options conflict or a value is invalid; InputError, which names the file and the line or byte,
    if an input is broken or has changed (the output so far is kept, and the same call resumes there); OutputError,
    which names the file, if a file cannot be written or replaced; LimitError if max_memory_bytes is too low.

        manifest = pyunitok.tokenize("corpus/*.jsonl.zst", "ids.u16", "m.model", metadata=True)
        print(manifest.tokens, manifest.bytes_per_token)
    """
    arguments = locals()
    given: dict[str, Any] = {field.name: arguments[field.name] for field in fields(TokenizeOptions)}
    given |= {"include": tuple(include), "exclude": tuple(exclude), "format_options": format_options or {}}
    if isinstance(separator, str):
        given["separator"] = separator.encode("utf-8", "surrogateescape")
    callbacks = Callbacks(on_start or SILENT.on_start, on_progress or SILENT.on_progress)
    return Job(inputs, out, model, TokenizeOptions(**given)).run(callbacks)


class Job:
    """Checks the arguments of tokenize() without writing anything; run() does the work.

    plan      the plan, with the inputs that were found
    left_out  files that were found in directories but are not read
    spool     the local folder for OUT, if OUT is a URL
    exported  another tool's files, after run()
    """

    def __init__(
        self, inputs: StrPath | Iterable[StrPath], out: StrPath, model: Model, options: TokenizeOptions
    ) -> None:
        """Raises OptionError, InputError and OutputError like tokenize()."""
        self.left_out: list[LeftOut] = []
        self.exported: export.Exported | None = None
        given = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
        name = without_file_scheme(os.fspath(out))
        options.check(name)
        tokenizer = open_model(model)
        this = name + shard_suffix(*options.shard) if options.shard else name
        self.spool = Spool(this, Path(options.spool) if options.spool else None) if is_url(this) else None
        target = self.spool.out if self.spool else Path(this)
        for path in own_files(target).finished:
            check_target(path, overwrite=True)
        self._direct = _checked_export(target, options)
        mine = own_files(target)
        others = _files_of_shards(name, options.shard[1]) if options.shard else []
        # The files of an earlier run are skipped as inputs; any other file with such a name must not be overwritten.
        is_ours = is_token_file(target) or journal_path(target).exists()
        own = [*mine.unfinished, *files_of_parts(target), *others, *own_urls(this)]
        sources = corpus_inputs.find(
            [os.fspath(item) for item in given], input_format=options.input_format, text_key=options.text_key,
            include=options.include, exclude=options.exclude, left_out=self.left_out,
            allow_damaged=options.skip_files,
            own=map(str, [*own, *(mine.finished if is_ours else [])]),
            refuse=map(str, [] if is_ours else mine.finished),
        )  # fmt: skip
        if not (journal_path(target).exists() or parts_folder(target).exists()):  # a new run
            corpus_inputs.check_separator(sources, options.separator)
        part: RunShard | None = None
        if options.shard:
            sources, part = take(sources, *options.shard)
        self.plan = Plan(options, sources, target, tokenizer, shard=part)
        self.plan.check()

    def outputs(self) -> list[str]:
        """Every file that run() leaves. OUT.errors.jsonl is missing if nothing was skipped."""
        out, options = self.plan.out, self.plan.options
        extra = [METADATA_SUFFIX] * options.metadata + [ERRORS_SUFFIX] * options.skip_bad
        if self.spool:
            return [self.spool.url + suffix for suffix in ("", ".ends", ".json", *extra)]
        tokens = [] if self._direct and not options.keep_tokens else ["", ".ends"]
        files = [f"{out}{suffix}" for suffix in (*tokens, ".json", *extra)]
        return [*files, *(map(str, self._direct.files()) if self._direct else [])]

    def run(self, callbacks: Callbacks = SILENT) -> Manifest:
        """Tokenize, or finish an interrupted run; see tokenize()."""
        if self._direct:
            self._direct.make_folder()
            finished = self._direct.finished(self.plan.identity())
            if finished:
                Tally(self.plan).check_pipes(finished)
                callbacks.on_start(Start(finished.bytes, finished.documents, complete=True))
                return finished
        if self.spool:
            manifest = tokenize_to(self.spool, self.plan, callbacks)
        elif self.plan.options.ray:
            manifest = cluster.run(self.plan, callbacks)
        else:
            manifest = pipeline.tokenize(self.plan, callbacks)
        if self._direct:
            self.exported = self._direct.make()
        return manifest


def _checked_export(target: Path, options: TokenizeOptions) -> Direct | None:
    """The export, if a format was given. Raises OutputError if its options are invalid or its files cannot be written
    or replaced."""
    if not options.format:
        return None
    given = dict(options.format_options)
    given["name"] = given.get("name") or export.default_name(target)
    direct = Direct(
        target, options.format, export.Options(**given), copy=options.copy, keep=options.keep_tokens,
        overwrite=options.overwrite,
    )  # fmt: skip
    direct.check()
    return direct


def _files_of_shards(out: str, count: int) -> list[Path] | list[str]:
    """The files of OUT's shards that exist or, if OUT is a URL, all files that the shards may have."""
    if is_url(out):
        return [url for k in range(count) for url in own_urls(out + shard_suffix(k, count))]
    path = Path(out)
    named = re.compile(re.escape(path.name) + rf"\.\d+-of-{count}(\..*)?")
    there = path.parent.iterdir() if path.parent.is_dir() else ()
    return [file for file in there if named.fullmatch(file.name)]
