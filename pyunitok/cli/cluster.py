"""What tokenize does with --ray."""

from __future__ import annotations

from typing import Any

import click

from pyunitok.cli.report import Meter


def check_ray(address: str | None, out: str, shard: object, unit: int | None, keep_parts: bool, to: str | None) -> None:
    """UsageError where options do not go together."""
    from pyunitok.disk.remote import is_url

    if not address:
        if unit or keep_parts:
            raise click.UsageError("--unit and --keep-parts need --ray")
        return
    if shard:
        raise click.UsageError("--ray divides the run by itself: without --shard")
    if is_url(out):
        raise click.UsageError("--ray needs an OUT on a file system that all machines see, not a URL")
    if to and keep_parts:
        raise click.UsageError("--format needs OUT, and --keep-parts leaves none")


def tokenize_on_ray(plan: Any, address: str, unit: int | None, keep_parts: bool, meter: Any, resuming: Any) -> Any:
    """The manifest."""
    from pyunitok.ray import run
    from pyunitok.run.parts import parts_folder

    with Meter("merging") as merging:
        manifest = run(
            plan, address=address, unit_bytes=unit, keep_parts=keep_parts,
            on_progress=meter.show, on_start=resuming.on_start, on_merge=merging.show,
        )  # fmt: skip
    if keep_parts:
        click.echo(f"parts: `pyunitok merge {parts_folder(plan.out)} -o {plan.out}` joins them", err=True)
    return manifest
