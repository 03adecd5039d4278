"""The table of trainers: one row for each kind of model that train() and `pyunitok train` make."""

from __future__ import annotations

from pyunitok.train import bytepiece_job, longest_job, sentencepiece_job

TRAINERS = {row.name: row for row in (*sentencepiece_job.TRAINERS, longest_job.TRAINER, bytepiece_job.TRAINER)}
