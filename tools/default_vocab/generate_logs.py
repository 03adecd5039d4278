# ruff: noqa: E501 - a line of log, a line of code
"""Generates log lines with invented messages, in formats that the documentation of programs defines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from generate_values import (
    DAYS,
    EXTENSIONS,
    LEVELS,
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
    duration,
    hexes,
    host,
    ip,
    ipv6,
    lower_camel,
    mac,
    message,
    name,
    number,
    pairs,
    past,
    path,
    pod,
    port,
    rfc3339,
    scalar,
    target,
    until,
    url,
    uuid,
)  # fmt: skip

Write = Callable[[Draw], str]


def bsd_time(r: Draw) -> str:
    return f"{r.choice(MONTHS)} {r.randint(1, 28):2} {clock(r)}"


def tag(r: Draw) -> str:
    return r.choice((f"{r.choice(SERVICES)}[{r.randint(1, 99999)}]", "kernel", f"{name(r)}[{r.randint(100, 9999)}]", "systemd[1]", "cron[812]"))


def request_line(r: Draw) -> str:
    return f"{r.choice(METHODS)} {target(r)} HTTP/{r.choice(('1.1', '1.1', '2.0', '1.0'))}"


def agent(r: Draw) -> str:
    """Product tokens as in RFC 9110 and in MDN's page on the User-Agent header."""
    n = r.randint(60, 140)
    return r.choice((
        f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{n}.0.0.0 Safari/537.36",
        f"Mozilla/5.0 (X11; Linux x86_64; rv:{n}.0) Gecko/20100101 Firefox/{n}.0",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Safari/605.1.15",
        f"curl/8.{n % 20}.0", "-", f"python-requests/2.{n % 40}.0", "Go-http-client/1.1", f"{r.choice(SERVICES)}/{n % 10}.{n % 7}",
    ))  # fmt: skip


def common(r: Draw) -> str:
    at = f"{r.randint(1, 28):02}/{r.choice(MONTHS)}/{r.randint(2000, 2027)}:{clock(r)} {r.choice(('+0000', '+0200', '-0700'))}"
    return f'{ip(r)} - {r.choice(("-", "-", "-", r.choice(USERS)))} [{at}] "{request_line(r)}" {r.choice(STATUSES)} {number(r)}'


def combined(r: Draw) -> str:
    return f'{common(r)} "{r.choice(("-", url(r)))}" "{agent(r)}"'


def fields(r: Draw, more: int) -> dict[str, object]:
    ret: dict[str, object] = {}
    for _ in range(more):
        ret[r.choice((name(r, "_"), lower_camel(r), name(r, ".")))] = r.choice((number(r), r.choice(STATES), uuid(r), host(r), True, False, round(r.random(), 3), None))
    return ret


def json_line(r: Draw) -> str:
    keys = r.choice((("time", "level", "msg"), ("timestamp", "level", "message"), ("ts", "level", "msg"), ("@timestamp", "log.level", "message"), ("time", "severity", "message")))
    level = r.choice(LEVELS)
    values = (rfc3339(r), r.choice((level, level.lower(), level.title())), message(r))
    row = dict(zip(keys, values, strict=True)) | fields(r, r.randint(0, 5))
    return json.dumps(row, separators=r.choice(((",", ":"), (", ", ": "))))


def logger(r: Draw) -> str:
    """A class name as printed by log4j's %c, %c{1} and %logger{36}."""
    full = class_name(r)
    *parts, last = full.split(".")
    return r.choice((full, last, ".".join([*(part[0] for part in parts), last])))


def thread(r: Draw) -> str:
    return r.choice(("main", f"pool-{r.randint(1, 9)}-thread-{r.randint(1, 40)}", f"http-nio-8080-exec-{r.randint(1, 20)}", f"{name(r)}-{r.randint(0, 30)}"))


# Each format is one row: the name of its specification, and a function that writes a line.
LINES: Sequence[tuple[str, Write]] = (
    ("RFC 3164", lambda r: f"{bsd_time(r)} {host(r)} {tag(r)}: {message(r)}"),
    ("RFC 3164, with priority", lambda r: f"<{r.randint(0, 191)}>{bsd_time(r)} {host(r)} {tag(r)}: {message(r)}"),
    ("RFC 5424", lambda r: f"<{r.randint(0, 191)}>1 {rfc3339(r)} {host(r)} {r.choice(SERVICES)} {r.choice(('-', str(r.randint(1, 99999))))} {r.choice(('-', 'ID47', name(r).upper()))} {r.choice(('-', f'[{name(r)}@32473 {pairs(r)}]'))} {message(r)}"),
    ("rsyslog RSYSLOG_FileFormat", lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 999999):06}+00:00 {host(r)} {tag(r)}: {message(r)}"),
    ("Apache and nginx: combined", combined),
    ("Apache: common", common),
    ("Apache: error, version 2.4", lambda r: f"[{r.choice(DAYS)} {r.choice(MONTHS)} {r.randint(1, 28):02} {clock(r)}.{r.randint(0, 999999):06} {r.randint(2012, 2027)}] [{r.choice(('core', 'mpm_event', 'proxy', 'ssl', 'authz_core', 'php'))}:{r.choice(('error', 'notice', 'warn', 'info'))}] [pid {r.randint(1, 99999)}:tid {r.randint(1, 99999)}] [client {ip(r)}:{port(r)}] AH{r.randint(0, 9999):05}: {message(r)}"),
    ("nginx: error", lambda r: f"{date(r, '/')} {clock(r)} [{r.choice(('error', 'warn', 'notice', 'crit', 'info'))}] {r.randint(1, 9999)}#{r.randint(0, 9999)}: *{number(r)} {message(r)}, client: {ip(r)}, server: {host(r)}, request: \"{request_line(r)}\", upstream: \"http://{ip(r)}:{port(r)}{target(r)}\", host: \"{host(r)}\""),
    ("systemd.journal-fields, journalctl -o short-iso", lambda r: f"{date(r)}T{clock(r)}+0000 {host(r)} {tag(r)}: {message(r)}"),
    ("journalctl -o json", lambda r: json.dumps({"__REALTIME_TIMESTAMP": str(r.randint(10**15, 2 * 10**15)), "PRIORITY": str(r.randint(0, 7)), "_HOSTNAME": host(r), "_PID": str(r.randint(1, 99999)), "_UID": "0", "SYSLOG_IDENTIFIER": r.choice(SERVICES), "_SYSTEMD_UNIT": f"{name(r)}.service", "_BOOT_ID": hexes(r, 32), "_TRANSPORT": "stdout", "MESSAGE": message(r)})),
    ("systemd: unit status messages", lambda r: f"{bsd_time(r)} {host(r)} systemd[1]: {r.choice(('Starting', 'Started', 'Stopping', 'Stopped', 'Reached target', 'Mounting', 'Listening on'))} {name(r)}.{r.choice(('service', 'socket', 'target', 'timer', 'mount', 'slice'))} - {name(r, ' ').title()}."),
    ("Kubernetes: klog", lambda r: f"{r.choice('IIIIWEF')}{r.randint(1, 12):02}{r.randint(1, 28):02} {clock(r)}.{r.randint(0, 999999):06} {r.randint(1, 99999):7} {name(r, '_')}.go:{r.randint(10, 2000)}] {r.choice((message(r), json.dumps(message(r)) + ' ' + klog_fields(r)))}"),
    ("Kubernetes: CRI log format", lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 999999999):09}Z {r.choice(('stdout', 'stderr'))} {r.choice('FFFP')} {message(r)}"),
    ("Docker: json-file", lambda r: json.dumps({"log": message(r) + "\n", "stream": r.choice(("stdout", "stderr")), "time": rfc3339(r)}, separators=(",", ":"))),
    ("docker compose logs", lambda r: f"{r.choice(SERVICES)}-{r.randint(1, 3)}  | {message(r)}"),
    ("log4j: %d %p %c - %m", lambda r: f"{date(r)} {clock(r)},{r.randint(0, 999):03} {r.choice(LEVELS)} {logger(r)} - {message(r)}"),
    ("log4j: %d %-5p [%t] %c: %m", lambda r: f"{date(r)} {clock(r)},{r.randint(0, 999):03} {r.choice(LEVELS):5} [{thread(r)}] {logger(r)}: {message(r)}"),
    ("log4j: %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m", lambda r: f"{date(r, '/')[2:]} {clock(r)} {r.choice(LEVELS)} {camel(r)}: {message(r)}"),
    ("log4j: [%d] %p %m (%c)", lambda r: f"[{date(r)} {clock(r)},{r.randint(0, 999):03}] {r.choice(LEVELS)} {message(r)} ({logger(r)})"),
    ("logback: %d{HH:mm:ss.SSS} [%thread] %-5level %logger{36} -- %msg", lambda r: f"{clock(r)}.{r.randint(0, 999):03} [{thread(r)}] {r.choice(LEVELS):5} {logger(r)} -- {message(r)}"),
    ("Spring Boot reference: default format", lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 999):03}Z {r.choice(LEVELS):>5} {r.randint(1, 99999)} --- [{name(r)}] [{thread(r):>15}] {logger(r):40} : {message(r)}"),
    ("java.util.logging.SimpleFormatter", lambda r: f"{r.choice(MONTHS)} {r.randint(1, 28):02}, {r.randint(2000, 2027)} {r.randint(1, 12)}:{clock(r)[3:]} {r.choice(('AM', 'PM'))} {class_name(r)} {lower_camel(r)}\n{r.choice(('INFO', 'WARNING', 'SEVERE', 'FINE'))}: {message(r)}"),
    ("Python logging: BASIC_FORMAT", lambda r: f"{python_level(r)}:{name(r, '.')}:{message(r)}"),
    ("Python logging: %(asctime)s - %(name)s - %(levelname)s - %(message)s", lambda r: f"{date(r)} {clock(r)},{r.randint(0, 999):03} - {name(r, '.')} - {python_level(r)} - {message(r)}"),
    ("Python logging: %(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s", lambda r: f"{date(r)} {clock(r)},{r.randint(0, 999):03} {python_level(r):8} [{name(r, '_')}.py:{r.randint(1, 900)}] {message(r)}"),
    ("loguru: default format", lambda r: f"{date(r)} {clock(r)}.{r.randint(0, 999):03} | {python_level(r):8} | {name(r, '.')}:{name(r, '_')}:{r.randint(1, 900)} - {message(r)}"),
    ("Go log: LstdFlags", lambda r: f"{date(r, '/')} {clock(r)} {message(r)}"),
    ("Go log/slog: TextHandler", lambda r: f"time={rfc3339(r)} level={r.choice(LEVELS)} msg={json.dumps(message(r))} {pairs(r)}"),
    ("Go log/slog: JSONHandler", lambda r: json.dumps({"time": rfc3339(r), "level": r.choice(LEVELS), "msg": message(r)} | fields(r, 3), separators=(",", ":"))),
    ("Go zap: NewProduction", lambda r: json.dumps({"level": r.choice(("info", "warn", "error", "debug")), "ts": round(r.uniform(1.4e9, 1.8e9), 6), "caller": f"{r.choice(SERVICES)}/{name(r, '_')}.go:{r.randint(1, 900)}", "msg": message(r)} | fields(r, 2), separators=(",", ":"))),
    ("logfmt", lambda r: f"ts={rfc3339(r)} caller={name(r, '_')}.go:{r.randint(1, 900)} level={r.choice(('info', 'warn', 'error', 'debug'))} component={name(r)} {pairs(r, 1, 6)}"),
    ("logfmt", lambda r: f"at={r.choice(('info', 'error'))} method={r.choice(METHODS)} path={json.dumps(target(r))} host={host(r)} request_id={uuid(r)} fwd=\"{ip(r)}\" status={r.choice(STATUSES)} bytes={number(r)} duration={duration(r).replace(' ', '')}"),
    ("JSON lines", json_line), ("JSON lines", json_line), ("JSON lines", json_line),
    ("Rust env_logger: default format", lambda r: f"[{date(r)}T{clock(r)}Z {r.choice(LEVELS):5} {name(r, '_')}::{name(r, '_')}] {message(r)}"),
    ("Rust tracing_subscriber: full format", lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 999999):06}Z {r.choice(LEVELS):>5} {name(r, '_')}::{name(r, '_')}: {message(r)} {pairs(r)}"),
    ("HAProxy configuration manual 8.2.3: HTTP log format", lambda r: f"{bsd_time(r)} {host(r)} haproxy[{r.randint(1, 99999)}]: {ip(r)}:{port(r)} [{r.randint(1, 28):02}/{r.choice(MONTHS)}/{r.randint(2010, 2027)}:{clock(r)}.{r.randint(0, 999):03}] {name(r)} {name(r)}/{host(r)} {r.randint(0, 99)}/{r.randint(0, 9)}/{r.randint(0, 99)}/{number(r)}/{number(r)} {r.choice(STATUSES)} {number(r)} - - {r.choice(('----', 'SC--', 'cD--', 'SH--'))} {r.randint(0, 99)}/{r.randint(0, 99)}/{r.randint(0, 9)}/{r.randint(0, 9)}/0 0/0 \"{request_line(r)}\""),
    ("PostgreSQL: log_line_prefix '%m [%p] '", lambda r: f"{date(r)} {clock(r)}.{r.randint(0, 999):03} UTC [{r.randint(1, 99999)}] {r.choice(('', f'{r.choice(USERS)}@{name(r, chr(95))} '))}{r.choice(('LOG', 'LOG', 'ERROR', 'STATEMENT', 'DETAIL', 'HINT', 'WARNING', 'FATAL'))}:  {r.choice((message(r), statement(r), 'duration: ' + f'{r.uniform(0, 999):.3f} ms  statement: ' + statement(r)))}"),
    ("MySQL reference: error log", lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 999999):06}Z {r.randint(0, 99)} [{r.choice(('System', 'Warning', 'Error', 'Note'))}] [MY-{r.randint(10000, 13999):06}] [{r.choice(('Server', 'InnoDB', 'Repl'))}] {message(r)}"),
    ("Redis: redis.conf, log format", lambda r: f"{r.randint(1, 99999)}:{r.choice('MSCX')} {r.randint(1, 28):02} {r.choice(MONTHS)} {r.randint(2015, 2027)} {clock(r)}.{r.randint(0, 999):03} {r.choice('.-*#')} {message(r)}"),
    ("MongoDB manual: structured log", lambda r: json.dumps({"t": {"$date": rfc3339(r)}, "s": r.choice("IWED"), "c": r.choice(("NETWORK", "STORAGE", "COMMAND", "REPL", "-")), "id": r.randint(20000, 5999999), "ctx": f"conn{number(r)}", "msg": message(r), "attr": fields(r, 3)}, separators=(",", ":"))),
    ("printk", lambda r: f"[{r.randint(0, 99999):5}.{r.randint(0, 999999):06}] {device(r)}: {message(r)}"),
    ("printk", lambda r: f"[{r.randint(0, 99):5}.{r.randint(0, 999999):06}] {device(r)}: [mem 0x{hexes(r, 16)}-0x{hexes(r, 16)}] {r.choice(STATES)}"),
    ("printk by syslog", lambda r: f"{bsd_time(r)} {host(r)} kernel: [{r.randint(0, 99999):5}.{r.randint(0, 999999):06}] {device(r)}: {message(r)}"),
    ("iptables-extensions(8): LOG", lambda r: f"{bsd_time(r)} {host(r)} kernel: {name(r)} IN=eth{r.randint(0, 3)} OUT= MAC={mac(r)}:{mac(r)}:08:00 SRC={ip(r)} DST={ip(r)} LEN={r.randint(40, 1500)} TOS=0x00 PREC=0x00 TTL={r.randint(30, 255)} ID={r.randint(0, 65535)} DF PROTO={r.choice(('TCP', 'UDP', 'ICMP'))} SPT={port(r)} DPT={port(r)} WINDOW={r.randint(0, 65535)} RES=0x00 {r.choice(('SYN', 'ACK', 'RST', 'ACK FIN'))} URGP=0"),
    ("tcpdump(8)", lambda r: f"{clock(r)}.{r.randint(0, 999999):06} IP {ip(r)}.{port(r)} > {ip(r)}.{port(r)}: Flags [{r.choice(('S', 'S.', '.', 'P.', 'F.', 'R'))}], seq {number(r)}:{number(r)}, ack {number(r)}, win {r.randint(0, 65535)}, length {r.randint(0, 1460)}"),
    ("ping(8)", lambda r: f"64 bytes from {r.choice((ip(r), ipv6(r)))}: icmp_seq={r.randint(1, 999)} ttl={r.randint(40, 128)} time={r.uniform(0, 200):.1f} ms"),
    ("Android: logcat -v threadtime", lambda r: f"{date(r)[5:]} {clock(r)}.{r.randint(0, 999):03} {r.randint(100, 32000):5} {r.randint(100, 32000):5} {r.choice('VDDIIWEF')} {camel(r)}: {message(r)}"),
    ("Windows: wevtutil qe /f:text", lambda r: f"Event[{r.randint(0, 999)}]:\n  Log Name: {r.choice(('Application', 'System', 'Security'))}\n  Source: {camel(r)}\n  Date: {rfc3339(r)}\n  Event ID: {r.randint(1, 9999)}\n  Task: N/A\n  Level: {r.choice(('Information', 'Warning', 'Error'))}\n  Opcode: Info\n  Keyword: Classic\n  User: N/A\n  User Name: N/A\n  Computer: {host(r)}\n  Description: \n{message(r)}\n"),
    ("Windows: IIS, W3C extended", lambda r: f"{date(r)} {clock(r)} {ip(r)} {r.choice(METHODS)} {target(r).partition('?')[0]} - {port(r)} - {ip(r)} {agent(r).replace(' ', '+')} - {r.choice(STATUSES)} 0 0 {number(r)}"),
    ("AWS documentation: VPC flow log", lambda r: f"2 {r.randint(10**11, 10**12)} eni-{hexes(r, 17)} {ip(r)} {ip(r)} {port(r)} {port(r)} {r.choice((6, 17, 1))} {number(r)} {number(r)} {r.randint(14 * 10**8, 18 * 10**8)} {r.randint(14 * 10**8, 18 * 10**8)} {r.choice(('ACCEPT', 'REJECT'))} OK"),
    ("GitHub Actions: timestamps", lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 9999999):07}Z {r.choice(('', '', '##[group]', '##[endgroup]', '##[error]', '##[warning]', '[command]'))}{r.choice((message(r), build_step(r)))}"),
    ("dpkg.log", lambda r: f"{date(r)} {clock(r)} {r.choice(('status installed', 'status unpacked', 'status half-configured', 'configure', 'install', 'upgrade'))} lib{name(r)}{r.randint(1, 9)}:amd64 {version(r)}-{r.randint(1, 9)}"),
    ("apt-get(8)", lambda r: r.choice((f"Get:{r.randint(1, 99)} http://deb.example.org/debian stable/main amd64 {name(r)} amd64 {version(r)} [{number(r)} kB]", f"Setting up {name(r)} ({version(r)}-{r.randint(1, 9)}) ...", f"Unpacking {name(r)} ({version(r)}-{r.randint(1, 9)}) ...", f"Selecting previously unselected package {name(r)}.", "Reading package lists... Done"))),
    ("pip", lambda r: r.choice((f"Collecting {name(r)}>={version(r)}", f"  Downloading {name(r, '_')}-{version(r)}-py3-none-any.whl ({r.randint(1, 999)} kB)", f"Requirement already satisfied: {name(r)} in {path(r)} ({version(r)})", f"Successfully installed {name(r)}-{version(r)} {name(r)}-{version(r)}", f"  Using cached {name(r, '_')}-{version(r)}.tar.gz ({r.randint(1, 99)}.{r.randint(0, 9)} MB)"))),
    ("npm", lambda r: r.choice((f"npm warn deprecated {name(r)}@{version(r)}: {message(r)}", f"npm error code E{r.choice(('404', 'RESOLVE', 'ACCES', 'NOENT'))}", f"npm error path {path(r)}", f"added {number(r)} packages, and audited {number(r)} packages in {r.randint(1, 99)}s", f"{r.randint(1, 99)} packages are looking for funding", f"> {name(r)}@{version(r)} {r.choice(('build', 'test', 'start', 'lint'))}"))),
    ("cargo", lambda r: r.choice((f"   Compiling {name(r)} v{version(r)}", f"  Downloaded {name(r)} v{version(r)}", f"    Finished `{r.choice(('dev', 'release', 'test'))}` profile [unoptimized + debuginfo] target(s) in {r.uniform(0, 99):.2f}s", f"     Running unittests src/lib.rs (target/debug/deps/{name(r, '_')}-{hexes(r, 16)})", f"test {name(r, '_')}::tests::{name(r, '_')} ... {r.choice(('ok', 'ok', 'ok', 'FAILED', 'ignored'))}", f"test result: ok. {number(r)} passed; 0 failed; {r.randint(0, 9)} ignored; 0 measured; 0 filtered out; finished in {r.uniform(0, 9):.2f}s"))),
    ("pytest", lambda r: r.choice((f"tests/test_{name(r, '_')}.py::test_{name(r, '_')} {r.choice(('PASSED', 'PASSED', 'FAILED', 'SKIPPED', 'ERROR', 'XFAIL'))} [{r.randint(0, 100):3}%]", f"tests/test_{name(r, '_')}.py {''.join(r.choices('......F.s', k=r.randint(3, 60)))} [{r.randint(0, 100):3}%]", f"FAILED tests/test_{name(r, '_')}.py::test_{name(r, '_')} - AssertionError: assert {number(r)} == {number(r)}", f"======= {number(r)} passed, {r.randint(0, 9)} failed, {r.randint(0, 9)} skipped in {r.uniform(0, 99):.2f}s ======="))),
    ("go test -v", lambda r: r.choice((f"=== RUN   Test{camel(r)}", f"--- PASS: Test{camel(r)} ({r.uniform(0, 3):.2f}s)", f"--- FAIL: Test{camel(r)} ({r.uniform(0, 3):.2f}s)", f"ok  \texample.com/{name(r)}/{name(r)}\t{r.uniform(0, 9):.3f}s", f"    {name(r, '_')}_test.go:{r.randint(1, 900)}: got {scalar(r)}, want {scalar(r)}"))),
    ("make and CMake", lambda r: r.choice((f"[{r.randint(0, 100):3}%] Building {r.choice(('C', 'CXX'))} object CMakeFiles/{name(r)}.dir/src/{name(r, '_')}.c{r.choice(('', 'pp'))}.o", f"[{r.randint(0, 100):3}%] Linking CXX executable {name(r)}", f"gcc -O2 -g -Wall -Wextra -I./include -c -o build/{name(r, '_')}.o src/{name(r, '_')}.c", f"make[{r.randint(1, 4)}]: Entering directory '{path(r)}'", f"make: *** [Makefile:{r.randint(1, 300)}: {name(r)}] Error {r.randint(1, 2)}", f"-- Looking for {name(r, '_')}.h - found"))),
    ("gcc and clang: diagnostics", lambda r: diagnostic(r)),
    ("rsync -v, tar -v", lambda r: r.choice((path(r), f"-rw-r--r-- root/root {number(r):9} {date(r)} {clock(r)[:5]} {path(r)}", f"sent {number(r)} bytes  received {number(r)} bytes  {number(r)}.00 bytes/sec"))),
    ("ls -l, GNU coreutils", lambda r: f"{r.choice(('-rw-r--r--', 'drwxr-xr-x', '-rwxr-xr-x', 'lrwxrwxrwx', '-rw-------'))} {r.randint(1, 20):2} {r.choice(USERS)} {r.choice(USERS)} {number(r):8} {r.choice(MONTHS)} {r.randint(1, 28):2} {r.choice((clock(r)[:5], ' 20' + str(r.randint(10, 27))))} {name(r, r.choice('-_.'))}.{r.choice(EXTENSIONS)}"),
    ("ps aux, procps", lambda r: f"{r.choice(USERS):8} {r.randint(1, 99999):7} {r.uniform(0, 99):4.1f} {r.uniform(0, 99):4.1f} {number(r):7} {number(r):6} {r.choice(('?', 'pts/0'))}        {r.choice(('Ss', 'S', 'R+', 'Sl', 'I<'))}   {clock(r)[:5]}   {r.randint(0, 99)}:{r.randint(0, 59):02} {r.choice((path(r), f'[{name(r)}/{r.randint(0, 9)}]'))}"),
    ("kubectl get", lambda r: f"{pod(r):45} {r.choice(('1/1', '0/1', '2/2'))}     {r.choice(('Running', 'Running', 'Pending', 'CrashLoopBackOff', 'Completed', 'ImagePullBackOff')):17} {r.randint(0, 40)}          {r.randint(1, 99)}{r.choice('smhd')}"),
    ("training progress", lambda r: f"step {number(r)} | epoch {r.randint(0, 99)} | loss {r.uniform(0, 9):.4f} | lr {r.uniform(1, 9.9):.2f}e-0{r.randint(3, 6)} | grad norm {r.uniform(0, 5):.3f} | {number(r)} tokens/s | {duration(r)}"),
    ("tqdm", lambda r: f"{name(r)}: {r.randint(0, 100):3}%|{'█' * r.randint(0, 10):10}| {number(r)}/{number(r)} [{clock(r)[3:]}<{clock(r)[3:]}, {r.uniform(0, 99):.2f}{r.choice(('it/s', 's/it'))}]"),
    ("plain", lambda r: f"[{clock(r)}] {message(r)}"), ("plain", lambda r: f"[{r.choice(LEVELS)}] {message(r)}"),
    ("plain", lambda r: f"{date(r)} {clock(r)} {r.choice(LEVELS):5} {message(r)}"), ("plain", lambda r: f"{r.choice(LEVELS)}: {message(r)}"),
    ("plain", lambda r: f"{date(r)} {clock(r)}.{r.randint(0, 999):03} [{r.choice(LEVELS).lower()}] <{r.randint(0, 99)}.{r.randint(1, 9999)}.0> {message(r)}"),
    ("plain", lambda r: f"{r.randint(10**9, 18 * 10**8)} {host(r)} {r.choice(SERVICES)} {r.choice(LEVELS).lower()} {message(r)}"),
)  # fmt: skip


def python_level(r: Draw) -> str:
    return r.choice(("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL"))


def klog_fields(r: Draw) -> str:
    values = (f'pod="{name(r)}/{pod(r)}"', f'err="{r.choice(REASONS)}"', f'node="{host(r)}"', f"count={number(r)}", f'name="{name(r)}"')
    return " ".join(r.sample(values, r.randint(1, 4)))


def version(r: Draw) -> str:
    return ".".join(str(r.randint(0, n)) for n in r.choice(((9, 30), (9, 30, 20), (9, 30, 20), (30, 9, 9))))


def device(r: Draw) -> str:
    return r.choice((f"eth{r.randint(0, 3)}", f"pci 0000:{hexes(r, 2)}:{hexes(r, 2)}.{r.randint(0, 7)}", f"usb {r.randint(1, 4)}-{r.randint(1, 9)}", f"nvme{r.randint(0, 3)}n1", f"sd{r.choice('abcdef')}", "ACPI", "CPU" + str(r.randint(0, 63)), name(r, "_")))


def statement(r: Draw) -> str:
    table, column = name(r, "_"), name(r, "_")
    return r.choice((
        f"SELECT {column}, {name(r, '_')} FROM {table} WHERE {column} = $1 ORDER BY {column} LIMIT {r.randint(1, 100)}",
        f"INSERT INTO {table} ({column}, created_at) VALUES ($1, $2) RETURNING id", f"UPDATE {table} SET {column} = {number(r)} WHERE id = {number(r)}",
        f"DELETE FROM {table} WHERE {column} IS NULL", f"SELECT count(*) FROM {table} AS t JOIN {name(r, '_')} AS u ON t.id = u.{table}_id",
    ))  # fmt: skip


def build_step(r: Draw) -> str:
    return r.choice(("Run " + name(r, " "), f"{past(r.choice(VERBS)).capitalize()} {r.choice(NOUNS)} in {duration(r)}", f"Cache restored from key: {name(r)}-{hexes(r, 40)}", f"Process completed with exit code {r.randint(0, 2)}.", f"sha256:{hexes(r, 64)}", f"Digest: {base64(r, 43)}="))


def diagnostic(r: Draw) -> str:
    at = f"src/{name(r, '_')}.{r.choice(('c', 'cpp', 'h', 'cc'))}:{r.randint(1, 2000)}:{r.randint(1, 80)}"
    variable, call = name(r, "_"), name(r, "_")
    text, source = r.choice((
        (f"warning: unused variable '{variable}' [-Wunused-variable]", f"int {variable} = {number(r)};"),
        (f"error: '{variable}' undeclared (first use in this function)", f"return {call}({variable});"),
        ("warning: comparison of integer expressions of different signedness: 'int' and 'size_t' [-Wsign-compare]", f"if ({variable} < sizeof({call}))"),
        (f"error: use of undeclared identifier '{variable}'", f"{call}(&{variable}, {number(r)});"),
        (f"note: expected 'const char *' but argument is of type '{variable}_t'", f"static void {call}(const char *{variable})"),
    ))  # fmt: skip
    line = at.split(":")[1]
    return f"{at}: {text}\n{line:>5} |     {source}\n      |     ^{'~' * (len(variable) - 1)}"


def logs(r: Draw, n_bytes: int) -> Iterator[str]:
    """Files of 20 to 60 lines. All lines of a file have the same format; the formats take turns."""
    def files() -> Iterator[str]:
        for _, write in r.sample(LINES, len(LINES)):
            yield "\n".join(write(r) for _ in range(r.randint(20, 60))) + "\n"
    return until(n_bytes, files)
