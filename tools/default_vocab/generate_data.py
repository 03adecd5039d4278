# ruff: noqa: E501 - a template, a line
"""Generates structured text other than logs: configuration, data files, markup, traces and transcripts of tools."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence

from generate_logs import diagnostic, request_line, statement, version
from generate_values import (
    METHODS,
    MONTHS,
    NOUNS,
    REASONS,
    SERVICES,
    STATES,
    STATUSES,
    USERS,
    VERBS,
    Draw,
    base64,
    camel,
    class_name,
    clock,
    date,
    hexes,
    host,
    ip,
    lower_camel,
    message,
    name,
    noun_phrase,
    number,
    path,
    port,
    rfc3339,
    scalar,
    target,
    until,
    url,
    uuid,
)  # fmt: skip
from sentences import SENTENCES

Write = Callable[[Draw], str]


def some(r: Draw, low: int, high: int, write: Write, joint: str = "\n") -> str:
    return joint.join(write(r) for _ in range(r.randint(low, high)))


def snake(r: Draw) -> str:
    return name(r, "_")


def sentence(r: Draw) -> str:
    return r.choice(SENTENCES)


def value(r: Draw) -> object:
    return r.choice((number(r), number(r), round(r.uniform(-99, 99), r.randint(1, 6)), r.choice((True, False, None)), r.choice(STATES), name(r), uuid(r), url(r), rfc3339(r), ip(r), [], r.choice(NOUNS)))


def tree(r: Draw, depth: int) -> object:
    """A JSON value."""
    key = r.choice((snake, lower_camel, name))
    if depth == 0:
        return value(r)
    if r.random() < 0.3:
        return [tree(r, depth - 1) for _ in range(r.randint(1, 4))]
    return {key(r): tree(r, r.randint(0, depth - 1)) for _ in range(r.randint(2, 6))}


def json_file(r: Draw) -> str:
    return json.dumps(tree(r, 4), indent=r.choice((2, 2, 4, None, "\t")), separators=r.choice(((",", ": "), (",", ":"))) if r.random() < 0.3 else None)


def yaml_lines(item: object, indent: int = 0) -> list[str]:
    pad = "  " * indent
    if isinstance(item, dict):
        ret = []
        for key, inner in item.items():
            if isinstance(inner, (dict, list)) and inner:
                ret += [f"{pad}{key}:", *yaml_lines(inner, indent + 1)]
            else:
                ret.append(f"{pad}{key}: {json.dumps(inner) if not isinstance(inner, str) or ':' in inner else inner}")
        return ret
    if isinstance(item, list):
        ret = []
        for inner in item:
            first, *rest = yaml_lines(inner, indent + 1) or [""]
            ret += [f"{pad}- {first.strip()}", *rest]
        return ret
    return [pad + (item if isinstance(item, str) else json.dumps(item))]


def yaml_file(r: Draw) -> str:
    return "\n".join(yaml_lines({snake(r): tree(r, 3) for _ in range(r.randint(2, 6))}))


def kubernetes(r: Draw) -> str:
    app = name(r)
    return f"""apiVersion: apps/v1
kind: {r.choice(('Deployment', 'StatefulSet', 'DaemonSet'))}
metadata:
  name: {app}
  namespace: {name(r)}
  labels:
    app.kubernetes.io/name: {app}
spec:
  replicas: {r.randint(1, 9)}
  selector:
    matchLabels:
      app: {app}
  template:
    metadata:
      labels:
        app: {app}
    spec:
      containers:
        - name: {r.choice(SERVICES)}
          image: registry.example.com/{app}:{version(r)}
          imagePullPolicy: IfNotPresent
          ports:
            - containerPort: {port(r)}
          env:
            - name: {snake(r).upper()}
              value: "{scalar(r).strip('"')}"
          resources:
            requests:
              cpu: {r.randint(1, 9)}00m
              memory: {r.choice((64, 128, 256, 512))}Mi
          livenessProbe:
            httpGet:
              path: /healthz
              port: {port(r)}
          volumeMounts:
            - name: {name(r)}
              mountPath: {path(r)}
---"""


def hcl_value(r: Draw) -> str:
    plain, other = name(r), snake(r)
    return r.choice((f'"{plain}"', str(number(r)), "true", "false", f"var.{other}", f"local.{other}", f"module.{other}.id", f'["{plain}"]', f'"{plain}-${{var.{other}}}"', f'jsonencode({{ {other} = "{plain}" }})'))


def terraform(r: Draw) -> str:
    block = r.choice(('resource "aws_instance"', 'resource "aws_s3_bucket"', 'resource "google_compute_network"', 'resource "azurerm_resource_group"', "module", "variable", "output", 'data "aws_iam_policy_document"', "provider"))
    rows = [f"  {snake(r):20} = {hcl_value(r)}" for _ in range(r.randint(2, 6))]
    tags = [f'\n  tags = {{\n    Name        = "{name(r)}"\n    Environment = var.environment\n  }}'] * (r.random() < 0.5)
    return f'{block} "{snake(r)}" {{\n' + "\n".join([*rows, *tags]) + "\n}\n"


def dockerfile(r: Draw) -> str:
    base = r.choice(("python:3.12-slim", "node:22-alpine", "golang:1.23", "debian:bookworm-slim", "rust:1.83", "alpine:3.20", "ubuntu:24.04"))
    return f"""# syntax=docker/dockerfile:1
FROM {base} AS build
WORKDIR /app
ENV {snake(r).upper()}={scalar(r)}
ARG {snake(r).upper()}={version(r)}
RUN apt-get update && apt-get install -y --no-install-recommends \\
    {name(r)} \\
    && rm -rf /var/lib/apt/lists/*
COPY {name(r)}.lock package.json ./
RUN --mount=type=cache,target=/root/.cache {r.choice(('pip install -r requirements.txt', 'npm ci', 'go build ./...', 'cargo build --release', 'make -j4'))}
COPY --from=build /app/{name(r)} /usr/local/bin/{name(r)}
EXPOSE {port(r)}
USER {r.choice(USERS)}
HEALTHCHECK --interval=30s CMD curl -f http://localhost:{port(r)}/ || exit 1
ENTRYPOINT ["{name(r)}", "--{name(r)}"]
CMD ["{r.choice(VERBS)}"]
"""


def compose(r: Draw) -> str:
    services = some(r, 2, 4, lambda r: f'  {r.choice(SERVICES)}:\n    image: {name(r)}:{version(r)}\n    restart: unless-stopped\n    ports:\n      - "{port(r)}:{port(r)}"\n    environment:\n      {snake(r).upper()}: {scalar(r)}\n    volumes:\n      - {name(r)}:{path(r)}\n    depends_on:\n      - {r.choice(SERVICES)}')
    return f"services:\n{services}\nvolumes:\n  {name(r)}:\n"


def workflow(r: Draw) -> str:
    steps = some(r, 2, 6, lambda r: f"      - name: {name(r, ' ').capitalize()}\n        run: {r.choice(('make ', 'npm run ', 'python -m ', './scripts/'))}{name(r)}")
    return f"name: {r.choice(NOUNS)}\non:\n  push:\n    branches: [main]\n  pull_request:\njobs:\n  {r.choice(VERBS)}:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n        version: [\"{version(r)}\", \"{version(r)}\"]\n    steps:\n      - uses: actions/checkout@v4\n{steps}\n"


def sql_value(r: Draw) -> str:
    return r.choice((str(number(r)), "NULL", f"'{noun_phrase(r)}'", f"'{date(r)} {clock(r)}'", f"{r.uniform(0, 999):.2f}", "true", f"'{uuid(r)}'", f"'{r.choice(USERS)}@example.com'"))


def sql(r: Draw) -> str:
    """A dump of a table, as written by mysqldump, pg_dump or sqlite3, and queries."""
    table, quote = snake(r), r.choice(("`", '"', ""))
    columns = [snake(r) for _ in range(r.randint(3, 7))]
    types = ("integer", "bigint", "text", "varchar(255)", "timestamp with time zone", "numeric(10,2)", "boolean", "INT(11) UNSIGNED", "datetime", "uuid", "jsonb", "DOUBLE")
    rows = [f"  {quote}id{quote} integer PRIMARY KEY", *(f"  {quote}{column}{quote} {r.choice(types)}{r.choice(('', ' NOT NULL', ' DEFAULT NULL', ' UNIQUE', ' DEFAULT 0'))}" for column in columns)]
    out = [f"DROP TABLE IF EXISTS {quote}{table}{quote};", f"CREATE TABLE {quote}{table}{quote} (\n" + ",\n".join(rows) + "\n);"]
    names = ", ".join(quote + column + quote for column in columns)
    for i in range(r.randint(3, 20)):
        out.append(f"INSERT INTO {quote}{table}{quote} ({names}) VALUES ({i + 1}, {', '.join(sql_value(r) for _ in columns[1:])});")
    a, b = r.choice(columns), r.choice(columns)
    out += [
        f"CREATE INDEX idx_{table}_{a} ON {table} ({a});", f"ALTER TABLE {table} ADD CONSTRAINT fk_{a} FOREIGN KEY ({a}) REFERENCES {snake(r)} (id) ON DELETE CASCADE;",
        f"SELECT t.{a}, COUNT(*) AS n, AVG(t.{b})\nFROM {table} t\nLEFT JOIN {snake(r)} u ON u.{table}_id = t.id\nWHERE t.{a} >= {number(r)}\n  AND t.{b} IS NOT NULL\nGROUP BY t.{a}\nHAVING COUNT(*) > {r.randint(1, 9)}\nORDER BY n DESC\nLIMIT {r.randint(1, 100)};",
        f"UPDATE {table} SET {a} = {sql_value(r)} WHERE {b} IN (SELECT id FROM {snake(r)} WHERE {snake(r)} LIKE '%{r.choice(NOUNS)}%');",
        statement(r) + ";", f"COMMIT;\nBEGIN TRANSACTION;\nGRANT SELECT, INSERT ON {table} TO {r.choice(USERS)};",
    ]  # fmt: skip
    return "\n".join(out)


CELLS: Sequence[Write] = (
    lambda r: str(number(r)), lambda r: str(r.randint(0, 100)), lambda r: f"{r.uniform(-180, 180):.{r.randint(1, 6)}f}", lambda r: f"{r.random():.4g}", lambda r: f"{r.gauss(0, 10):.3f}",
    date, lambda r: f"{date(r)} {clock(r)}", lambda r: date(r, "/"), lambda r: r.choice(NOUNS), noun_phrase, lambda r: f'"{noun_phrase(r)}, {noun_phrase(r)}"', uuid,
    lambda r: r.choice(("", "NA", "NULL", "0", "1", "true", "false", "N/A", "yes", "no")), lambda r: f"{r.choice(USERS)}@example.com", lambda r: r.choice(STATES), lambda r: f'"{sentence(r)}"',
    lambda r: f"{r.choice('ABCDEFGH')}{r.randint(1, 99):02}", lambda r: f"{r.uniform(1, 9.99):.2e}",
)  # fmt: skip


def table(r: Draw) -> str:
    """RFC 4180 and related formats: cells separated by commas, semicolons, tabs or bars, or a Markdown table."""
    columns, joint = r.choices(CELLS, k=r.randint(3, 12)), r.choice((",", ",", ",", ";", "\t", "|", " | "))
    heading = r.choice((snake, camel, lambda r: name(r, " ").title()))
    rows = [[heading(r) for _ in columns]]
    if joint == " | ":
        rows.append([r.choice(("---", ":---", "---:", ":---:")) for _ in columns])
    rows += [[cell(r) for cell in columns] for _ in range(r.randint(10, 100))]
    ends = ("| ", " |") if joint == " | " else ("", "")
    return "\n".join(ends[0] + joint.join(row) + ends[1] for row in rows)


def assembly(r: Draw) -> str:
    """x86-64 and AArch64, as written by compilers and by objdump -d."""
    registers = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r12", "eax", "ebx", "ecx", "edx", "esi", "edi", "xmm0", "xmm1"]
    arm = ["x0", "x1", "x2", "x8", "x19", "x29", "x30", "w0", "w1", "w8", "sp", "xzr"]

    def intel(r: Draw) -> str:
        a, b = r.choice(registers), r.choice(registers)
        return r.choice((
            f"mov    {a},{b}", f"mov    QWORD PTR [rbp-0x{r.randint(4, 200):x}],{a}", f"lea    {a},[rip+0x{hexes(r, 4)}]        # {hexes(r, 6)} <{snake(r)}+0x{hexes(r, 2)}>",
            f"call   {hexes(r, 6)} <{snake(r)}>", f"jmp    {hexes(r, 6)} <{snake(r)}+0x{hexes(r, 2)}>", f"{r.choice(('je', 'jne', 'jg', 'jle', 'jb', 'ja'))}     {hexes(r, 6)} <{snake(r)}+0x{hexes(r, 2)}>",
            f"add    {a},0x{r.randint(1, 255):x}", f"sub    rsp,0x{r.randint(8, 256):x}", f"push   {a}", f"pop    {a}", "ret", "leave", "nop", f"xor    {a},{a}", f"test   {a},{a}", f"cmp    {a},{b}",
            f"movzx  {a},BYTE PTR [{b}+{a}*1]", f"imul   {a},{b},0x{r.randint(2, 99):x}", f"shr    {a},0x{r.randint(1, 31):x}", f"movss  xmm0,DWORD PTR [{b}]", "endbr64",
        ))  # fmt: skip

    def att(r: Draw) -> str:
        a, b = "%" + r.choice(registers), "%" + r.choice(registers)
        return r.choice((f"movq\t{a}, {b}", f"movl\t$0x{r.randint(0, 999):x}, {b}", f"leaq\t-{r.randint(8, 64)}(%rbp), {a}", f"addq\t${r.randint(1, 99)}, {a}", f"callq\t{snake(r)}@PLT", f"jmp\t.L{r.randint(1, 99)}", f"cmpl\t$0, {r.randint(-64, -4)}(%rbp)", "retq", f"pushq\t{a}", f".cfi_def_cfa_offset {r.choice((8, 16, 32))}"))

    def aarch64(r: Draw) -> str:
        a, b, c = (r.choice(arm) for _ in range(3))
        return r.choice((f"mov\t{a}, {b}", f"ldr\t{a}, [{b}, #{r.randint(0, 31) * 8}]", f"str\t{a}, [sp, #{r.randint(0, 31) * 8}]", f"stp\tx29, x30, [sp, #-{r.randint(1, 8) * 16}]!", f"add\t{a}, {b}, {c}", f"bl\t{snake(r)}", f"cbz\t{a}, .L{r.randint(1, 99)}", f"b.{r.choice(('eq', 'ne', 'lt', 'ge'))}\t.L{r.randint(1, 99)}", "ret", f"cmp\t{a}, #{r.randint(0, 255)}", f"adrp\t{a}, {snake(r)}"))

    form = r.randint(0, 2)
    if form == 0:
        at, out = r.randint(0x1000, 0x9000), [f"{r.randint(0x1000, 0x9000):016x} <{snake(r)}>:"]
        for _ in range(r.randint(10, 60)):
            encoded = " ".join(hexes(r, 2) for _ in range(r.randint(1, 7)))
            out.append(f"  {at:x}:\t{encoded:21}\t{intel(r)}")
            at += (len(encoded) + 1) // 3
        return "\n".join(out)
    label = snake(r)
    head = f"\t.text\n\t.globl\t{label}\n\t.type\t{label}, {'@' if form == 1 else '%'}function\n{label}:\n"
    return head + "\n".join((f".L{r.randint(1, 99)}:" if r.random() < 0.1 else "\t" + (att if form == 1 else aarch64)(r)) for _ in range(r.randint(10, 60))) + f"\n\t.size\t{label}, .-{label}"


def bases(r: Draw, n: int) -> str:
    return "".join(r.choices("ACGT", weights=(29, 21, 21, 29), k=n))


def fastq(r: Draw) -> str:
    instrument, length = f"{r.choice('ABKMN')}{r.randint(100, 99999):05}", r.choice((75, 100, 150))
    def read(r: Draw) -> str:
        quality = "".join(chr(33 + max(2, min(40, round(r.gauss(35, 5))))) for _ in range(length))
        return f"@{instrument}:{r.randint(1, 300)}:{hexes(r, 9).upper()}:{r.randint(1, 8)}:{r.randint(1101, 2228)}:{r.randint(1000, 30000)}:{r.randint(1000, 30000)} {r.choice('12')}:N:0:{bases(r, 8)}\n{bases(r, length)}\n+\n{quality if r.random() < 0.7 else 'F' * length}"
    return some(r, 4, 12, read)


def fasta(r: Draw) -> str:
    letters = r.choice(("ACGT", "ACGT", "acgt", "ACDEFGHIKLMNPQRSTVWY"))
    def record(r: Draw) -> str:
        sequence = "".join(r.choices(letters, k=r.randint(100, 800)))
        return f">{r.choice(('seq', 'contig_', 'scaffold', 'chr'))}{r.randint(1, 999)} {noun_phrase(r)} length={len(sequence)}\n" + "\n".join(textwrap.wrap(sequence, r.choice((60, 70, 80))))
    return some(r, 2, 5, record)


def variants(r: Draw) -> str:
    head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tSAMPLE\n"
    return head + some(r, 10, 30, lambda r: f"chr{r.randint(1, 22)}\t{r.randint(10**4, 10**8)}\t{r.choice(('.', f'rs{number(r)}'))}\t{bases(r, 1)}\t{bases(r, 1)}\t{r.uniform(10, 999):.2f}\tPASS\tDP={r.randint(1, 99)};AF={r.random():.3f}\tGT:DP:GQ\t{r.choice(('0/1', '1/1', '0/0'))}:{r.randint(1, 99)}:{r.randint(1, 99)}")


def ini(r: Draw) -> str:
    return some(r, 2, 6, lambda r: f"[{name(r)}]\n" + some(r, 2, 6, lambda r: f"{r.choice(('', '', '', '# ', ';'))}{snake(r)} = {scalar(r)}"), "\n\n")


def toml(r: Draw) -> str:
    return some(r, 2, 6, lambda r: f"[{r.choice(('', 'tool.', 'package.'))}{name(r)}]\n" + some(r, 2, 6, lambda r: f"{name(r)} = {r.choice((json.dumps(name(r)), str(number(r)), 'true', 'false', json.dumps([name(r), name(r)]), f'{{ version = {json.dumps(version(r))}, features = [{json.dumps(name(r))}] }}'))}"), "\n\n")


def unit_file(r: Draw) -> str:
    return f"[Unit]\nDescription={name(r, ' ').title()}\nAfter=network-online.target\nWants=network-online.target\n\n[Service]\nType={r.choice(('simple', 'oneshot', 'notify', 'forking'))}\nUser={r.choice(USERS)}\nExecStart={path(r)} --{name(r)}={scalar(r)}\nRestart=on-failure\nRestartSec={r.randint(1, 30)}\nEnvironment={snake(r).upper()}={number(r)}\n\n[Install]\nWantedBy=multi-user.target"


def nginx(r: Draw) -> str:
    locations = some(r, 1, 4, lambda r: f"    location {target(r).partition('?')[0]} {{\n        proxy_pass http://{name(r)}:{port(r)};\n        proxy_set_header Host $host;\n        proxy_set_header X-Real-IP $remote_addr;\n        proxy_read_timeout {r.randint(5, 300)}s;\n    }}", "\n\n")
    return f"upstream {name(r)} {{\n    server {ip(r)}:{port(r)} max_fails=3 fail_timeout=30s;\n    keepalive {r.randint(8, 64)};\n}}\n\nserver {{\n    listen {r.choice(('80', '443 ssl', '[::]:443 ssl'))};\n    server_name {host(r)};\n    root {path(r)};\n    index index.html;\n    ssl_certificate {path(r)};\n    client_max_body_size {r.randint(1, 100)}m;\n    gzip on;\n\n{locations}\n}}"


def protobuf(r: Draw) -> str:
    types = ("string", "int32", "int64", "uint64", "bool", "bytes", "double", "repeated string", "map<string, string>", "google.protobuf.Timestamp", "optional int32")
    messages = some(r, 2, 4, lambda r: f"// {sentence(r)}\nmessage {camel(r)} {{\n" + "\n".join(f"  {r.choice(types)} {snake(r)} = {i + 1};" for i in range(r.randint(2, 7))) + "\n}\n")
    return f'syntax = "proto3";\n\npackage {name(r, ".")}.v1;\n\noption go_package = "example.com/{name(r)};{r.choice(NOUNS)}pb";\n\n{messages}\nservice {camel(r)}Service {{\n  rpc {camel(r)}({camel(r)}Request) returns (stream {camel(r)}Response);\n}}'


def graphql(r: Draw) -> str:
    types = ("String!", "Int", "ID!", "Boolean!", "Float", "[String!]!", "DateTime")
    return some(r, 1, 3, lambda r: f"type {camel(r)} implements Node {{\n" + some(r, 2, 6, lambda r: f"  {lower_camel(r)}: {r.choice(types)}") + "\n}\n") + f"\nquery {camel(r)}($id: ID!, $first: Int = {r.randint(1, 50)}) {{\n  {lower_camel(r)}(id: $id) {{\n    id\n    {lower_camel(r)}(first: $first) {{\n      edges {{\n        node {{\n          {lower_camel(r)}\n        }}\n      }}\n      pageInfo {{ hasNextPage endCursor }}\n    }}\n  }}\n}}"


def calendar(r: Draw) -> str:
    """A calendar as in RFC 5545."""
    event = lambda r: f"BEGIN:VEVENT\nUID:{uuid(r)}@example.com\nDTSTAMP:{date(r, '')}T{clock(r).replace(':', '')}Z\nDTSTART;TZID=Europe/Berlin:{date(r, '')}T{clock(r).replace(':', '')}\nDTEND:{date(r, '')}T{clock(r).replace(':', '')}Z\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT={r.randint(2, 20)}\nSUMMARY:{noun_phrase(r)}\nDESCRIPTION:{sentence(r)}\nLOCATION:{name(r, ' ')}\nSTATUS:CONFIRMED\nEND:VEVENT"  # noqa: E731
    return "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Example//Calendar//EN\n" + some(r, 1, 4, event) + "\nEND:VCALENDAR"


def contact(r: Draw) -> str:
    """A contact as in RFC 6350."""
    return some(r, 1, 4, lambda r: f"BEGIN:VCARD\nVERSION:4.0\nFN:{name(r, ' ')}\nN:{r.choice(NOUNS)};{r.choice(NOUNS)};;;\nORG:Example\nTITLE:{r.choice(NOUNS)}\nTEL;TYPE=work,voice;VALUE=uri:tel:+1-555-{r.randint(100, 999)}-{r.randint(1000, 9999)}\nEMAIL:{r.choice(USERS)}@example.com\nADR;TYPE=work:;;{r.randint(1, 99)} Main Street;;;{r.randint(10000, 99999)};\nREV:{date(r, '')}T000000Z\nEND:VCARD")


def subtitles(r: Draw) -> str:
    out, at = [], 0
    for i in range(r.randint(10, 40)):
        start, at = at, at + r.randint(800, 5000)
        times = " --> ".join(f"{t // 3600000:02}:{t // 60000 % 60:02}:{t // 1000 % 60:02},{t % 1000:03}" for t in (start, at))
        out.append(f"{i + 1}\n{times}\n{sentence(r)}\n")
    return "\n".join(out)


def http(r: Draw) -> str:
    """An HTTP request and its response, as in RFC 9110."""
    return f"{request_line(r)}\nHost: {host(r)}\nUser-Agent: {name(r)}/{version(r)}\nAccept: application/json, text/html;q=0.9, */*;q=0.8\nAccept-Encoding: gzip, deflate, br\nAuthorization: Bearer {base64(r, 40)}\nCookie: session={hexes(r, 32)}; theme=dark\nConnection: keep-alive\n\nHTTP/1.1 {r.choice(('200 OK', '201 Created', '204 No Content', '304 Not Modified', '404 Not Found', '500 Internal Server Error'))}\nDate: Mon, {r.randint(1, 28):02} {r.choice(MONTHS)} {r.randint(2010, 2027)} {clock(r)} GMT\nContent-Type: application/json; charset=utf-8\nContent-Length: {number(r)}\nCache-Control: public, max-age={number(r)}\nETag: \"{hexes(r, 16)}\"\nVary: Accept-Encoding\nX-Request-Id: {uuid(r)}\nStrict-Transport-Security: max-age=31536000; includeSubDomains\nSet-Cookie: id={hexes(r, 8)}; Path=/; HttpOnly; Secure; SameSite=Lax\n\n{json.dumps(tree(r, 2))}\n\n$ curl -sS -X {r.choice(METHODS)} {url(r)} -H 'Content-Type: application/json' -d '{json.dumps(tree(r, 1))}'\n< HTTP/2 {r.choice(STATUSES)}"


def trace(r: Draw) -> str:
    """Stack traces of Java, Python, JavaScript, Go and Rust."""
    reason = r.choice(REASONS)
    return r.choice((
        lambda: f'Exception in thread "main" java.lang.{r.choice(("IllegalStateException", "NullPointerException", "IllegalArgumentException", "RuntimeException"))}: {reason}\n' + some(r, 3, 12, lambda r: f"\tat {class_name(r)}.{lower_camel(r)}({camel(r)}.java:{r.randint(10, 900)})") + f"\nCaused by: java.io.IOException: {reason}\n\tat {class_name(r)}.{lower_camel(r)}({camel(r)}.java:{r.randint(10, 900)})\n\t... {r.randint(2, 40)} more",
        lambda: "Traceback (most recent call last):\n" + some(r, 2, 8, lambda r: f'  File "{path(r)}.py", line {r.randint(1, 900)}, in {snake(r)}\n    {r.choice((f"return self.{snake(r)}({snake(r)})", f"{snake(r)} = {snake(r)}({snake(r)}, {snake(r)}={number(r)})", f"raise ValueError(f{json.dumps(noun_phrase(r))})"))}') + f"\n{r.choice(('ValueError', 'KeyError', 'TypeError', 'RuntimeError', 'OSError', 'AttributeError'))}: {reason}",
        lambda: f"{r.choice(('TypeError', 'ReferenceError', 'Error', 'RangeError'))}: {lower_camel(r)} is not a function\n" + some(r, 3, 10, lambda r: f"    at {r.choice(('', 'async ', 'new '))}{camel(r)}.{lower_camel(r)} ({r.choice(('file://', ''))}{path(r)}.js:{r.randint(1, 900)}:{r.randint(1, 80)})"),
        lambda: f"panic: runtime error: index out of range [{r.randint(1, 99)}] with length {r.randint(1, 99)}\n\ngoroutine {r.randint(1, 999)} [running]:\n" + some(r, 2, 8, lambda r: f"example.com/{r.choice(SERVICES)}/{r.choice(NOUNS)}.(*{camel(r)}).{camel(r)}(0xc{hexes(r, 9)}, 0x{hexes(r, 2)})\n\t{path(r)}.go:{r.randint(1, 900)} +0x{hexes(r, 3)}") + "\nexit status 2",
        lambda: f"thread 'main' panicked at src/{snake(r)}.rs:{r.randint(1, 900)}:{r.randint(1, 80)}:\ncalled `Result::unwrap()` on an `Err` value: {camel(r)} {{ code: {r.randint(1, 99)}, kind: {camel(r)}, message: {json.dumps(reason)} }}\nstack backtrace:\n" + "\n".join(f"{i:4}: {snake(r)}::{snake(r)}::{camel(r)}::{snake(r)}\n             at ./src/{snake(r)}.rs:{r.randint(1, 900)}:{r.randint(1, 80)}" for i in range(r.randint(3, 9))),
    ))()  # fmt: skip


def git_log(r: Draw) -> str:
    one = lambda r: f"{hexes(r, 7)} {r.choice(('', 'feat: ', 'fix: ', 'docs: ', f'{r.choice(NOUNS)}: ', 'chore(deps): '))}{r.choice(VERBS)} {noun_phrase(r)}"  # noqa: E731
    full = lambda r: f"commit {hexes(r, 40)}\nAuthor: {r.choice(USERS)} <{r.choice(USERS)}@example.com>\nDate:   Mon {r.choice(MONTHS)} {r.randint(1, 28)} {clock(r)} {r.randint(2005, 2027)} +0200\n\n    {r.choice(VERBS).capitalize()} {noun_phrase(r)}\n\n    {sentence(r)}\n\n {path(r)} | {r.randint(1, 99)} {'+' * r.randint(1, 9)}{'-' * r.randint(1, 9)}\n {r.randint(1, 9)} files changed, {number(r)} insertions(+), {number(r)} deletions(-)\n"  # noqa: E731
    return some(r, 5, 20, r.choice((one, full)))


def shell(r: Draw) -> str:
    """The transcript of a terminal session."""
    return some(r, 4, 15, lambda r: r.choice((
        f"$ cd {path(r)}", f"$ git checkout -b {name(r)}\nSwitched to a new branch '{name(r)}'", f"$ docker run --rm -it -p {port(r)}:{port(r)} {name(r)}:{version(r)}", f"$ grep -rn {r.choice(NOUNS)} {path(r)} | head -n {r.randint(1, 50)}\n{path(r)}:{r.randint(1, 900)}:{message(r)}",
        f"$ kubectl get pods -n {name(r)} -o wide", f"# systemctl status {name(r)}\n● {name(r)}.service - {name(r, ' ').title()}\n     Loaded: loaded (/etc/systemd/system/{name(r)}.service; enabled; preset: enabled)\n     Active: active (running) since {r.choice(('Mon', 'Tue', 'Fri'))} {date(r)} {clock(r)} UTC; {r.randint(1, 59)}min ago\n   Main PID: {r.randint(1, 99999)} ({r.choice(SERVICES)})",
        f"$ python -m {snake(r)} --{name(r)} {number(r)} --{name(r)} {path(r)}\n{message(r)}", f"$ ssh {r.choice(USERS)}@{host(r)} 'tail -f {path(r)}'", f"$ make {r.choice(VERBS)}\n{diagnostic(r)}", f"$ echo $? && export {snake(r).upper()}={scalar(r)}", f"$ sudo apt install {name(r)}", f"$ for f in *.txt; do {r.choice(VERBS)} \"$f\"; done",
    )))  # fmt: skip


def xml(r: Draw) -> str:
    def element(depth: int) -> str:
        tag = r.choice((snake, lower_camel, camel, name))(r)
        attributes = "".join(f' {lower_camel(r)}="{name(r)}"' for _ in range(r.choice((0, 0, 1, 2))))
        if depth == 0:
            return f"<{tag}{attributes}>{value(r)!s}</{tag}>" if r.random() < 0.8 else f"<{tag}{attributes}/>"
        return f"<{tag}{attributes}>\n" + textwrap.indent("\n".join(element(r.randint(0, depth - 1)) for _ in range(r.randint(2, 5))), "  ") + f"\n</{tag}>"
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + element(3)


def bibliography(r: Draw) -> str:
    return some(r, 2, 6, lambda r: f"@{r.choice(('article', 'book', 'inproceedings', 'misc', 'techreport'))}{{{r.choice(NOUNS)}{r.randint(1970, 2027)},\n  title     = {{{{{name(r, ' ').title()}}}}},\n  journal   = {{{name(r, ' ').title()}}},\n  volume    = {{{r.randint(1, 99)}}},\n  number    = {{{r.randint(1, 12)}}},\n  pages     = {{{r.randint(1, 400)}--{r.randint(400, 900)}}},\n  year      = {{{r.randint(1970, 2027)}}},\n  doi       = {{10.{r.randint(1000, 9999)}/{r.choice(NOUNS)}.{number(r)}}},\n  url       = {{{url(r)}}}\n}}", "\n\n")


DATA: Sequence[Write] = (
    json_file, json_file, yaml_file, kubernetes, terraform, terraform, dockerfile, compose, workflow, sql, sql, assembly, assembly, fastq, fasta, variants, ini, toml,
    unit_file, nginx, protobuf, graphql, calendar, contact, subtitles, http, trace, trace, git_log, shell, xml, bibliography,
)  # fmt: skip


def data(r: Draw, n_bytes: int) -> Iterator[str]:
    """Documents of all kinds in DATA, in turn."""
    return until(n_bytes, lambda: (write(r).rstrip("\n") + "\n" for write in r.sample(DATA, len(DATA))))


def tables(r: Draw, n_bytes: int) -> Iterator[str]:
    """Tables with a header row."""
    return until(n_bytes, lambda: [table(r) + "\n"])


def notebooks(r: Draw, code: Sequence[str], n_bytes: int) -> Iterator[str]:
    """Jupyter notebooks in nbformat 4: JSON with Python code and its output."""
    def notebook() -> Iterator[str]:
        cells: list[object] = []
        for i in range(r.randint(4, 12)):
            if r.random() < 0.3:
                source = [f"{'#' * r.randint(1, 3)} {name(r, ' ').capitalize()}\n", "\n", sentence(r)]
                cells.append({"cell_type": "markdown", "id": hexes(r, 8), "metadata": {}, "source": source})
                continue
            lines = r.choice(code).splitlines(keepends=True)
            at = r.randint(0, max(0, len(lines) - 12))
            output = {"data": {"text/plain": [f"{number(r)}"]}, "execution_count": i + 1, "metadata": {}, "output_type": "execute_result"}
            stream = {"name": "stdout", "output_type": "stream", "text": [message(r) + "\n"]}
            cells.append({"cell_type": "code", "execution_count": i + 1, "id": hexes(r, 8), "metadata": {}, "outputs": r.choice(([], [output], [stream])), "source": lines[at : at + r.randint(2, 12)]})
        kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}, "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "nbconvert_exporter": "python", "pygments_lexer": "ipython3", "version": "3.12.4"}}
        yield json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"
    return until(n_bytes, notebook)
