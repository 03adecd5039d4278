"""Plans for tokenizing, made from keyword options, and functions that run them in parts or on a cluster."""

from dataclasses import replace

from pyunitok.run import cluster
from pyunitok.run.options import TokenizeOptions
from pyunitok.run.parts import tokenize_in_parts
from pyunitok.run.plan import Callbacks, Plan
from pyunitok.run.units import each


def make_plan(sources, out, tokenizer, eod=300, separator=None, *, shard=None, **options) -> Plan:
    return Plan(TokenizeOptions(eod=eod, separator=separator, **options), sources, out, tokenizer, shard)


def with_options(plan, **options) -> Plan:
    return replace(plan, options=replace(plan.options, **options))


def in_parts(plan, each=each, *, unit_bytes=None, keep_parts=False, **callbacks):
    plan = with_options(plan, unit_bytes=unit_bytes, keep_parts=keep_parts)
    return tokenize_in_parts(plan, each, Callbacks(**callbacks))


def on_cluster(plan, *, unit_bytes, keep_parts=False, address="auto", **callbacks):
    plan = with_options(plan, ray=address, unit_bytes=unit_bytes, keep_parts=keep_parts)
    return cluster.run(plan, Callbacks(**callbacks))
