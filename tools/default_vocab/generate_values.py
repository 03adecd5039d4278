# ruff: noqa: E501 - a template, a line
"""Invents values for generated text: names, numbers, times, identifiers, paths, addresses and messages.

All words and sentences were written for this file. The domains are reserved by RFC 2606.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

Draw = random.Random

NOUNS = ["account", "address", "agent", "alert", "archive", "artifact", "backup", "balancer", "batch", "bucket", "buffer", "build", "cache", "catalog", "certificate", "channel", "checkpoint", "chunk", "client", "cluster", "column", "config", "connection", "consumer", "container", "controller", "cursor", "dashboard", "database", "dataset", "deployment", "device", "directory", "disk", "document", "domain", "driver", "endpoint", "engine", "entry", "event", "export", "feature", "field", "file", "filter", "folder", "frame", "gateway", "group", "handler", "header", "health", "heartbeat", "host", "image", "import", "index", "instance", "interface", "invoice", "item", "job", "journal", "key", "label", "layer", "leader", "lease", "library", "license", "link", "listener", "lock", "manifest", "mapping", "member", "memory", "message", "metric", "migration", "mirror", "model", "module", "mount", "namespace", "network", "node", "object", "offset", "operation", "order", "package", "packet", "page", "parser", "partition", "password", "path", "payload", "payment", "peer", "permission", "pipeline", "plugin", "policy", "pool", "port", "process", "producer", "product", "profile", "project", "property", "proxy", "query", "queue", "quota", "record", "region", "registry", "replica", "report", "repository", "request", "resource", "response", "result", "retry", "role", "route", "router", "row", "rule", "runtime", "sample", "scheduler", "schema", "scope", "script", "secret", "segment", "sensor", "sequence", "server", "service", "session", "setting", "shard", "signal", "snapshot", "socket", "source", "stack", "stage", "state", "statistics", "status", "storage", "stream", "subscription", "subnet", "table", "tag", "target", "task", "template", "tenant", "thread", "ticket", "timer", "token", "topic", "trace", "transaction", "transfer", "trigger", "tunnel", "update", "upload", "user", "value", "version", "volume", "watcher", "webhook", "window", "worker", "workflow", "workspace", "zone"]
ADJECTIVES = ["active", "available", "blocked", "broken", "cached", "clean", "closed", "compressed", "corrupt", "critical", "current", "custom", "default", "deleted", "deprecated", "dirty", "disabled", "duplicate", "empty", "enabled", "encrypted", "expired", "external", "failed", "fast", "full", "global", "healthy", "idle", "incomplete", "inactive", "initial", "inner", "internal", "invalid", "large", "last", "local", "locked", "main", "manual", "missing", "new", "next", "obsolete", "old", "open", "optional", "orphaned", "outdated", "pending", "persistent", "primary", "private", "public", "random", "ready", "recent", "remote", "required", "secondary", "shared", "slow", "stale", "static", "temporary", "unavailable", "unexpected", "unknown", "unreachable", "unused", "valid", "virtual"]
VERBS = ["accept", "acquire", "add", "allocate", "apply", "attach", "authenticate", "begin", "build", "cancel", "check", "clean", "close", "collect", "commit", "compile", "complete", "compress", "configure", "connect", "copy", "create", "decode", "delete", "deploy", "detach", "disable", "discover", "download", "drop", "enable", "encode", "evict", "execute", "export", "fetch", "finish", "flush", "format", "generate", "import", "index", "initialize", "insert", "install", "invalidate", "join", "load", "lock", "merge", "migrate", "mount", "notify", "open", "parse", "pause", "prepare", "process", "promote", "publish", "purge", "push", "read", "rebuild", "receive", "refresh", "register", "reject", "release", "reload", "remove", "rename", "render", "replace", "replicate", "reset", "resize", "resolve", "restart", "restore", "resume", "retry", "revoke", "rotate", "run", "save", "scan", "schedule", "send", "serialize", "shut", "skip", "sort", "start", "stop", "store", "submit", "subscribe", "sync", "terminate", "transfer", "truncate", "unlock", "unmount", "update", "upgrade", "upload", "validate", "verify", "wait", "watch", "write"]
STATES = ["starting", "running", "stopped", "stopping", "paused", "waiting", "ready", "degraded", "failed", "succeeded", "cancelled", "unknown", "healthy", "unhealthy", "online", "offline", "draining", "syncing", "idle", "busy", "active", "inactive", "pending", "completed", "open", "closed", "half-open"]
REASONS = (
    "connection refused", "connection reset by peer", "connection timed out", "no such file or directory",
    "permission denied", "broken pipe", "no route to host", "name or service not known", "disk quota exceeded",
    "no space left on device", "too many open files", "resource temporarily unavailable", "operation not permitted",
    "invalid argument", "address already in use", "file exists", "unexpected end of file", "context deadline exceeded",
    "certificate has expired", "certificate signed by unknown authority", "checksum mismatch", "invalid token",
    "token has expired", "rate limit exceeded", "not found", "already exists", "unauthorized", "forbidden",
    "bad request", "internal error", "service unavailable", "out of memory", "deadlock detected", "lock timeout",
    "version conflict", "unsupported format", "missing required field", "value out of range", "duplicate key",
    "queue is full", "leader has changed", "no healthy upstream", "backoff limit reached", "health check failed",
    "operation cancelled by user", "read-only file system", "protocol error", "handshake failed", "not implemented",
)  # fmt: skip
SERVICES = ["api", "auth", "backup", "billing", "cache", "catalog", "checkout", "collector", "frontend", "gateway", "indexer", "inventory", "ledger", "mailer", "media", "metrics", "notifier", "orders", "payments", "planner", "profile", "proxy", "recorder", "reports", "scheduler", "search", "sessions", "shipping", "storage", "tracker", "uploader", "users", "web", "worker"]
USERS = ["admin", "operator", "deploy", "backup", "guest", "service", "monitor", "build", "release", "support", "root", "nobody", "www-data", "app"]
EXTENSIONS = ["html", "css", "js", "json", "xml", "txt", "csv", "png", "jpg", "svg", "pdf", "zip", "tar.gz", "log", "conf", "yaml", "toml", "py", "go", "c", "h", "sh", "sql", "md", "so"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
LEVELS = ["INFO"] * 11 + ["DEBUG"] * 5 + ["WARN"] * 3 + ["ERROR"] * 2 + ["TRACE", "FATAL"]
UNITS = ["bytes", "KB", "MB", "GB", "KiB", "MiB", "GiB", "ms", "s", "seconds", "minutes", "hours", "rows", "items", "requests", "connections", "records", "files"]
STATUSES = [200] * 12 + [201, 202, 204, 206, 301, 302, 304, 304, 400, 401, 403, 404, 404, 409, 422, 429, 500, 502, 503]
METHODS = ["GET"] * 8 + ["POST"] * 3 + ["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


def until(n_bytes: int, write: Callable[[], Iterable[str]]) -> Iterator[str]:
    """The texts that repeated calls of write() return, until their total reaches n_bytes."""
    size = 0
    while size < n_bytes:
        for text in write():
            size += len(text.encode())
            yield text


def hexes(r: Draw, n: int) -> str:
    return "".join(r.choices("0123456789abcdef", k=n))


def base64(r: Draw, n: int) -> str:
    return "".join(r.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=n))


def uuid(r: Draw) -> str:
    return "-".join(hexes(r, n) for n in (8, 4, 4, 4, 12))


def number(r: Draw) -> int:
    """A number of any size; small numbers are more frequent."""
    return r.randint(0, 10 ** r.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8)))


def ip(r: Draw) -> str:
    network = r.choice(("10.0", "10.1", "10.244", "172.16", "172.17", "192.168", "192.0", "198.51", "203.0", "127.0"))
    return f"{network}.{r.randint(0, 255)}.{r.randint(1, 254)}"


def ipv6(r: Draw) -> str:
    return r.choice(("2001:db8::", "fe80::", "fd00::")) + ":".join(hexes(r, 4) for _ in range(r.randint(1, 4)))


def mac(r: Draw) -> str:
    return ":".join(hexes(r, 2) for _ in range(6))


def port(r: Draw) -> int:
    return r.choice((80, 443, 8080, 3000, 5432, 6379, 9090, 8443, 22, *(r.randint(1024, 65535) for _ in range(6))))


def clock(r: Draw) -> str:
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}"


def date(r: Draw, joint: str = "-") -> str:
    return f"{r.randint(1998, 2027)}{joint}{r.randint(1, 12):02}{joint}{r.randint(1, 28):02}"


def rfc3339(r: Draw) -> str:
    fraction = r.choice(("", f".{r.randint(0, 999):03}", f".{r.randint(0, 999999):06}", f".{r.randint(0, 10**9):09}"))
    return f"{date(r)}T{clock(r)}{fraction}{r.choice(('Z', 'Z', '+00:00', '+02:00', '-07:00'))}"


def duration(r: Draw) -> str:
    return r.choice((
        f"{number(r)}ms", f"{number(r)} ms", f"{r.uniform(0, 99):.2f}s", f"{r.uniform(0, 9):.3f} seconds",
        f"{r.randint(1, 59)}m{r.randint(0, 59)}s", f"{r.uniform(0, 999):.3f}µs", f"{r.uniform(0, 99):.6f}ms",
    ))  # fmt: skip


def amount(r: Draw) -> str:
    return f"{r.choice((str(number(r)), f'{r.uniform(0, 999):.1f}', f'{r.uniform(0, 99):.2f}'))} {r.choice(UNITS)}"


def host(r: Draw) -> str:
    return r.choice((
        f"{r.choice(SERVICES)}-{r.randint(1, 40)}", f"{r.choice(SERVICES)}{r.randint(1, 20):02}",
        f"{r.choice(SERVICES)}.example.com", f"node-{r.randint(0, 99)}", f"ip-{ip(r).replace('.', '-')}",
        f"{r.choice(SERVICES)}.internal", "localhost",
    ))  # fmt: skip


def pod(r: Draw) -> str:
    """The name of a pod in a Kubernetes deployment."""
    letters = "bcdfghjklmnpqrstvwxz2456789"
    return f"{r.choice(SERVICES)}-{''.join(r.choices(letters, k=10))}-{''.join(r.choices(letters, k=5))}"


def name(r: Draw, joint: str = "-") -> str:
    """An identifier of one to three words."""
    words = [r.choice(r.choice((NOUNS, NOUNS, ADJECTIVES, VERBS))) for _ in range(r.choice((0, 1, 1, 2)))]
    return joint.join([*words, r.choice(NOUNS)])


def camel(r: Draw) -> str:
    return "".join(word.capitalize() for word in name(r, " ").split())


def lower_camel(r: Draw) -> str:
    word = camel(r)
    return word[0].lower() + word[1:]


def class_name(r: Draw) -> str:
    suffix = r.choice(("Service", "Manager", "Handler", "Controller", "Client", "Factory", "Impl", "Worker", "", ""))
    return f"com.example.{r.choice(SERVICES)}.{camel(r)}{suffix}"


def path(r: Draw) -> str:
    top = r.choice((
        "/var/log", "/var/lib", "/usr/lib", "/usr/share", "/usr/local/bin", "/etc", "/opt", "/srv", "/tmp", "/home/app",
        "/data", "/mnt/data", "/run", "./src", "src", "build", "/app", "/proc/sys", "/dev", "C:\\Program Files",
    ))  # fmt: skip
    joint = "\\" if top.startswith("C:") else "/"
    parts = [name(r, r.choice("-_")) for _ in range(r.randint(1, 3))]
    return joint.join([top, *parts]) + r.choice(("", f".{r.choice(EXTENSIONS)}", f".{r.choice(EXTENSIONS)}"))


def target(r: Draw) -> str:
    """The path and query of a request."""
    parts = [r.choice((plural(r.choice(NOUNS)), name(r), str(number(r)), uuid(r))) for _ in range(r.randint(1, 3))]
    top = r.choice(("", "", "/api", "/api/v1", "/api/v2", "/v1", "/static", "/assets", "/admin"))
    query = "&".join(f"{name(r, '_')}={r.choice((str(number(r)), r.choice(STATES)))}" for _ in range(r.randint(1, 3)))
    return "/".join([top, *parts]) + r.choice(("", "", "", f".{r.choice(EXTENSIONS)}", "?" + query, "/"))


def url(r: Draw) -> str:
    scheme, at = r.choice(("https://", "http://")), r.choice(("example.com", "example.org", host(r), f"{ip(r)}:{port(r)}"))
    return scheme + at + target(r)


def noun_phrase(r: Draw) -> str:
    return " ".join([r.choice(ADJECTIVES)] * (r.random() < 0.4) + [name(r, " ")])


def past(verb: str) -> str:
    irregular = {"begin": "began", "build": "built", "read": "read", "rebuild": "rebuilt", "run": "ran", "send": "sent",
                 "shut": "shut down", "write": "wrote", "skip": "skipped", "drop": "dropped", "stop": "stopped",
                 "submit": "submitted", "commit": "committed", "scan": "scanned", "reset": "reset"}  # fmt: skip
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "ed"


def plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch")) else "s")


def gerund(verb: str) -> str:
    doubled = ("begin", "run", "shut", "skip", "drop", "stop", "submit", "commit", "scan", "reset")
    stem = verb[:-1] if verb.endswith("e") else verb + verb[-1] * (verb in doubled)
    return stem + "ing"


def pairs(r: Draw, low: int = 1, high: int = 4) -> str:
    """Fields in logfmt."""
    return " ".join(f"{name(r, '_')}={scalar(r)}" for _ in range(r.randint(low, high)))


def scalar(r: Draw) -> str:
    return r.choice(SCALARS)(r)


SCALARS: Sequence[Callable[[Draw], str]] = (
    lambda r: str(number(r)), lambda r: str(number(r)), duration, ip, uuid, lambda r: hexes(r, 8), host,
    lambda r: r.choice(STATES), lambda r: r.choice(("true", "false", "null", "nil", "none", "ok", "0", "1")),
    lambda r: name(r), path, lambda r: f'"{noun_phrase(r)}"', lambda r: f"{r.random():.3f}", target,
)  # fmt: skip
MESSAGES: Sequence[Callable[[Draw], str]] = (
    lambda r: f"{past(r.choice(VERBS)).capitalize()} {noun_phrase(r)} in {duration(r)}",
    lambda r: f"{gerund(r.choice(VERBS)).capitalize()} {noun_phrase(r)} {scalar(r)}",
    lambda r: f"{gerund(r.choice(VERBS)).capitalize()} {number(r)} {plural(r.choice(NOUNS))} from {host(r)}",
    lambda r: f"failed to {r.choice(VERBS)} {noun_phrase(r)}: {r.choice(REASONS)}",
    lambda r: f"Failed to {r.choice(VERBS)} {noun_phrase(r)} {scalar(r)} after {r.randint(2, 9)} attempts: {r.choice(REASONS)}",
    lambda r: f"could not {r.choice(VERBS)} {path(r)}: {r.choice(REASONS)}",
    lambda r: f"Unable to {r.choice(VERBS)} the {noun_phrase(r)} ({r.choice(REASONS)}), retrying in {duration(r)}",
    lambda r: f"{noun_phrase(r).capitalize()} is {r.choice(STATES)}",
    lambda r: f"{noun_phrase(r).capitalize()} changed state from {r.choice(STATES)} to {r.choice(STATES)}",
    lambda r: f"{r.choice(NOUNS)} {uuid(r)} {past(r.choice(VERBS))}",
    lambda r: f"connection to {ip(r)}:{port(r)} {past(r.choice(VERBS))}: {r.choice(REASONS)}",
    lambda r: f"listening on {r.choice(('0.0.0.0', '[::]', '127.0.0.1', host(r)))}:{port(r)}",
    lambda r: f"{r.choice(METHODS)} {target(r)} {r.choice(STATUSES)} {duration(r)}",
    lambda r: f"request completed {pairs(r)}", lambda r: f"{r.choice(NOUNS)} {past(r.choice(VERBS))} {pairs(r)}",
    lambda r: f"{past(r.choice(VERBS)).capitalize()} {number(r)} of {number(r)} {plural(r.choice(NOUNS))} ({r.randint(0, 100)}%)",
    lambda r: f"user {r.choice(USERS)} {past(r.choice(VERBS))} {name(r)} from {ip(r)}",
    lambda r: f"using {r.choice(NOUNS)} {path(r)}", lambda r: f"{name(r, '_')}={scalar(r)}",
    lambda r: f"{r.choice(NOUNS)} usage is {r.randint(1, 100)}% ({amount(r)} of {amount(r)})",
    lambda r: f"slow {r.choice(NOUNS)}: {noun_phrase(r)} took {duration(r)}, threshold {duration(r)}",
    lambda r: f"{camel(r)}Exception: {r.choice(REASONS)}", lambda r: f"{r.choice(REASONS)}: {name(r, '_')}",
    lambda r: f"the {noun_phrase(r)} was {past(r.choice(VERBS))} because of {r.choice(REASONS)}",
    lambda r: f"waiting for {noun_phrase(r)} to {r.choice(VERBS)}", lambda r: f"next {name(r, ' ')} at {rfc3339(r)}",
    lambda r: f"[{name(r, '.')}] {gerund(r.choice(VERBS))} {scalar(r)}", lambda r: f"no {noun_phrase(r)} to {r.choice(VERBS)}",
    lambda r: f"{r.choice(NOUNS)} 0x{hexes(r, r.choice((4, 8, 16)))} {past(r.choice(VERBS))} by {name(r)}",
    lambda r: f"{camel(r)}: {amount(r)} {past(r.choice(VERBS))}, {amount(r)} left",
    lambda r: f"version {r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 20)} of {name(r)} is {r.choice(ADJECTIVES)}",
)  # fmt: skip


def message(r: Draw) -> str:
    """A line that a program might log."""
    return r.choice(MESSAGES)(r)
