# ruff: noqa: E501, SIM905 - a line of log, a line of code
"""Text that no package has, generated: log files, chat, e-mail, tables, diffs, kaomoji in sentences. The same each time.

Formats are those that programs print; names, numbers, paths and sentences are drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand part"
    " place case week company system program question work government number night point home water room mother area money"
    " story fact month lot right study book eye job word business issue side kind head house service friend father power"
    " hour game line end member law car city community name president team minute idea kid body information back parent"
    " face others level office door health person art war history party result change morning reason research girl guy"
    " moment air teacher force education"
).split()
HOSTS = "web01 web02 db-primary db-replica-3 cache1 worker-17 node42 gateway mail proxy build-agent-5 master ip-10-0-3-17".split()
USERS = "root admin alice bob www-data postgres ubuntu deploy git guest nobody test oracle ftpuser jenkins".split()
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
UNITS = "sshd systemd kernel cron CRON dhclient NetworkManager dockerd containerd nginx postfix/smtpd ntpd sudo rsyslogd su".split()
PACKAGES = (
    "org.apache.http.impl.client com.example.service.OrderService org.eclipse.jetty.server.Server io.netty.channel.nio"
    " org.springframework.web.servlet.DispatcherServlet com.zaxxer.hikari.pool.HikariPool storage.BlockManager"
    " executor.Executor scheduler.TaskSetManager scheduler.DAGScheduler nova.compute.manager nova.api.openstack"
    " keystone.token.provider ipc.Client mapreduce.Job hdfs.StateChange server.NodeManager rpc.RpcServer"
    " zookeeper.server.NIOServerCnxn quorum.QuorumPeer util.NativeCodeLoader memory.MemoryStore"
).split()
LEVELS = ["INFO"] * 12 + ["WARN"] * 3 + ["DEBUG"] * 3 + ["ERROR"] * 2 + ["FATAL"]
EXTENSIONS = "html php js css png jpg gif json xml txt svg ico woff2".split()
Draw = random.Random


def ip(r: Draw) -> str:
    return ".".join(str(r.randint(1, 254)) for _ in range(4))


def hexes(r: Draw, n: int) -> str:
    return "".join(r.choices("0123456789abcdef", k=n))


def uuid(r: Draw) -> str:
    return "-".join(hexes(r, n) for n in (8, 4, 4, 4, 12))


def path(r: Draw) -> str:
    top = r.choice(["/var/log", "/usr/lib", "/home/" + r.choice(USERS), "/etc", "/opt/app", "/tmp", "/api/v1", "/data"])
    return top + "".join("/" + r.choice(WORDS) for _ in range(r.randint(1, 3))) + r.choice(["", ".conf", ".log", ".py", ".so.1"])


def clock(r: Draw) -> str:
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}"


def date(r: Draw) -> str:
    return f"{r.randint(2004, 2026)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"


def phrase(r: Draw, low: int = 2, high: int = 7) -> str:
    return " ".join(r.choices(WORDS, k=r.randint(low, high)))


def request(r: Draw) -> str:
    target = "/" + "/".join(r.choices(WORDS, k=r.randint(1, 3))) + r.choice(["", "/", f".{r.choice(EXTENSIONS)}", f"?id={r.randint(1, 99999)}"])
    return f"{r.choice(['GET', 'GET', 'GET', 'POST', 'PUT', 'HEAD', 'DELETE'])} {target} HTTP/1.1"


def message(r: Draw) -> str:
    """What an application says."""
    return r.choice(MESSAGES)(r)


MESSAGES: Sequence[Callable[[Draw], str]] = (
    lambda r: f"Connection from {ip(r)} port {r.randint(1024, 65535)} closed",
    lambda r: f"Failed password for invalid user {r.choice(USERS)} from {ip(r)} port {r.randint(1024, 65535)} ssh2",
    lambda r: f"Accepted publickey for {r.choice(USERS)} from {ip(r)} port {r.randint(1024, 65535)} ssh2: RSA SHA256:{hexes(r, 20)}",
    lambda r: f"pam_unix(sshd:session): session opened for user {r.choice(USERS)} by (uid={r.choice([0, 1000])})",
    lambda r: f"pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip(r)}  user={r.choice(USERS)}",
    lambda r: f"Started {phrase(r, 1, 3).title()} Service.",
    lambda r: f"({r.choice(USERS)}) CMD ({path(r)} > /dev/null 2>&1)",
    lambda r: f"Received block {uuid(r)} of size {r.randint(1, 1 << 26)} from /{ip(r)}",
    lambda r: f"Finished task {r.randint(0, 99)}.0 in stage {r.randint(0, 9)}.0 (TID {r.randint(0, 9999)}). {r.randint(900, 3000)} bytes result sent to driver",
    lambda r: f"Starting task {r.randint(0, 99)}.0 in stage {r.randint(0, 9)}.0 (TID {r.randint(0, 9999)}, {r.choice(HOSTS)}, partition {r.randint(0, 99)})",
    lambda r: f"Request processed in {r.randint(1, 3000)} ms, status: {r.choice([200, 200, 201, 204, 301, 400, 401, 403, 404, 500, 503])}, size: {r.randint(0, 99999)}",
    lambda r: f'[instance: {uuid(r)}] {phrase(r, 2, 4).capitalize()} completed successfully',
    lambda r: f"Exception while reading from {path(r)}: java.io.IOException: Connection reset by peer",
    lambda r: f"\tat com.example.{r.choice(WORDS)}.{r.choice(WORDS).title()}.{r.choice(WORDS)}({r.choice(WORDS).title()}.java:{r.randint(10, 900)})",
    lambda r: f"Cannot open {path(r)}: No such file or directory",
    lambda r: f"eth0: link up, {r.choice([100, 1000, 10000])} Mbps, full-duplex",
    lambda r: f"CPU{r.randint(0, 63)}: Core temperature above threshold, cpu clock throttled (total events = {r.randint(1, 9999)})",
    lambda r: f"usb {r.randint(1, 4)}-{r.randint(1, 9)}: new high-speed USB device number {r.randint(2, 40)} using xhci_hcd",
    lambda r: f"Out of memory: Killed process {r.randint(100, 99999)} ({r.choice(UNITS)}) total-vm:{r.randint(1000, 9999999)}kB, anon-rss:{r.randint(1000, 999999)}kB",
    lambda r: f"instruction cache parity error corrected at 0x{hexes(r, 8)}",
    lambda r: f"open through proxy {r.choice(WORDS)}.example.com:{r.choice([80, 443, 8080])} HTTPS",
    lambda r: f"close, {r.randint(0, 9999)} bytes sent, {r.randint(0, 99999)} bytes ({r.randint(1, 99)}.{r.randint(0, 9)} KB) received, lifetime {clock(r)[3:]}",
    lambda r: f"onStandStepChanged {r.randint(1000, 9999)}", lambda r: f"calculateCaloriesWithCache totalCalories={r.randint(1000, 999999)}",
    lambda r: f"Session: {r.randint(10000000, 99999999)}_{r.randint(1000, 9999)} initialized by client {r.choice(USERS)}.",
    lambda r: f"Removing expired entry key={hexes(r, 16)} ttl={r.randint(1, 86400)}s", lambda r: phrase(r).capitalize(),
    lambda r: f"user={r.choice(USERS)} action={r.choice(WORDS)} duration={r.randint(0, 9)}.{r.randint(0, 999):03}s result={r.choice(['ok', 'failed', 'timeout'])}",
)  # fmt: skip
FORMATS: Sequence[Callable[[Draw], str]] = (
    lambda r: f"{r.choice(MONTHS)} {r.randint(1, 28):2} {clock(r)} {r.choice(HOSTS)} {r.choice(UNITS)}[{r.randint(100, 32767)}]: {message(r)}",
    lambda r: f"{date(r)} {clock(r)},{r.randint(0, 999):03} {r.choice(LEVELS)} {r.choice(PACKAGES)}: {message(r)}",
    lambda r: f"{date(r)[2:].replace('-', '/')} {clock(r)} {r.choice(LEVELS)} {r.choice(PACKAGES)}: {message(r)}",
    lambda r: f"{date(r)} {clock(r)},{r.randint(0, 999):03} - {r.choice(LEVELS)}  [{phrase(r, 1, 1)}-{r.randint(1, 99)}:{r.choice(PACKAGES)}@{r.randint(10, 999)}] - {message(r)}",
    lambda r: f"{date(r)[2:].replace('-', '')} {clock(r).replace(':', '')} {r.randint(1, 9999)} {r.choice(LEVELS)} {r.choice(PACKAGES)}: {message(r)}",
    lambda r: f'{ip(r)} - - [{r.randint(1, 28):02}/{r.choice(MONTHS)}/{r.randint(2004, 2026)}:{clock(r)} +0000] "{request(r)}" {r.choice([200, 200, 200, 301, 304, 404, 500])} {r.randint(0, 99999)} "-" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{r.randint(60, 140)}.0.0.0 Safari/537.36"',
    lambda r: f"[{r.choice(DAYS)} {r.choice(MONTHS)} {r.randint(1, 28):02} {clock(r)} {r.randint(2004, 2026)}] [{r.choice(['error', 'notice', 'warn'])}] [client {ip(r)}] {message(r)}",
    lambda r: f"[{r.randint(0, 99999):5}.{r.randint(0, 999999):06}] {message(r)}",
    lambda r: f"{date(r)[5:]} {clock(r)}.{r.randint(0, 999):03} {r.randint(100, 9999):5} {r.randint(100, 9999):5} {r.choice('VDIWE')} {r.choice(WORDS).title()}Manager: {message(r)}",
    lambda r: f"{date(r)} {clock(r)}, {r.choice(['Info', 'Warning', 'Error'])}                  {r.choice(['CBS', 'CSI', 'DPX'])}    {message(r)}",
    lambda r: f"- {r.randint(1100000000, 1700000000)} {date(r).replace('-', '.')} {r.choice(HOSTS)} {r.choice(MONTHS)} {r.randint(1, 28)} {clock(r)} {r.choice(HOSTS)}/{r.choice(HOSTS)} {r.choice(UNITS)}: {message(r)}",
    lambda r: f"- {r.randint(1100000000, 1700000000)} {date(r).replace('-', '.')} R{r.randint(0, 77):02}-M{r.randint(0, 1)}-N{r.randint(0, 15):x}-C:J{r.randint(0, 18):02}-U{r.choice('01')}1 {date(r)}-{clock(r).replace(':', '.')}.{r.randint(0, 999999):06} RAS KERNEL {r.choice(LEVELS)} {message(r)}",
    lambda r: f"{date(r)}T{clock(r)}.{r.randint(0, 999):03}Z {r.choice(LEVELS).lower()} {message(r)}",
    lambda r: f'{{"time":"{date(r)}T{clock(r)}Z","level":"{r.choice(LEVELS).lower()}","msg":"{phrase(r)}","host":"{r.choice(HOSTS)}","pid":{r.randint(1, 99999)}}}',
    lambda r: f"{date(r).replace('-', '')}-{clock(r)}:{r.randint(0, 999)}|Step_{r.choice(['LSC', 'StandReportReceiver', 'SPUtils', 'ExtSDM'])}|{r.randint(30000000, 39999999)}|{message(r)}",
    lambda r: f"[{date(r)[5:].replace('-', '.')} {clock(r)}] {r.choice(['chrome.exe', 'outlook.exe', 'svchost.exe'])} - {r.choice(WORDS)}.example.com:443 {message(r)}",
    lambda r: f"{r.randint(1, 999999)} {r.choice(HOSTS)} unix.hw state_change.unavailable {r.randint(1000000000, 1700000000)} 1 {message(r)}",
)  # fmt: skip


def logs(r: Draw, n_bytes: int) -> Iterator[str]:
    """Files of some hundred lines, each in one format."""
    size = 0
    while size < n_bytes:
        write = r.choice(FORMATS)
        text = "\n".join(write(r) for _ in range(r.randint(50, 300))) + "\n"
        size += len(text)
        yield text


def emails(r: Draw, n_bytes: int) -> Iterator[str]:
    size = 0
    while size < n_bytes:
        sender, to, subject = r.choice(USERS), r.choice(USERS), phrase(r, 2, 5).capitalize()
        head = (
            f"From: {sender.title()} <{sender}@example.com>\nTo: {to}@example.org\nSubject: {r.choice(['', 'Re: ', 'Fwd: '])}{subject}\n"
            f"Date: {r.choice(DAYS)}, {r.randint(1, 28)} {r.choice(MONTHS)} {r.randint(2000, 2026)} {clock(r)} +0{r.randint(0, 9)}00\n"
            f"Message-ID: <{uuid(r)}@mail.example.com>\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n\n"
        )
        lines = [f"Hi {to.title()},", "", *(f"{r.choice(['', '> ', '> > '])}{phrase(r, 5, 12).capitalize()}." for _ in range(r.randint(4, 20))),
                 "", r.choice(["Best regards,", "Thanks,", "Cheers,", "Kind regards,"]), sender.title()]  # fmt: skip
        text = head + "\n".join(lines) + "\n"
        size += len(text)
        yield text


CELLS: Sequence[Callable[[Draw], str]] = (
    lambda r: str(r.randint(0, 10 ** r.randint(1, 7))), lambda r: f"{r.uniform(-180, 180):.{r.randint(1, 6)}f}",
    lambda r: f"{r.random():.4g}", date, lambda r: f"{date(r)} {clock(r)}", lambda r: r.choice(WORDS), phrase,
    lambda r: f'"{phrase(r)}, {phrase(r)}"', lambda r: r.choice(["", "NA", "0", "1", "true", "false"]),
    lambda r: f"{r.choice(USERS)}@example.com", lambda r: f"{r.randint(0, 999)},{r.randint(0, 999):03}".join('""'),
)  # fmt: skip


def tables(r: Draw, n_bytes: int) -> Iterator[str]:
    """Tables with a head, their cells between commas, semicolons or tabs."""
    size = 0
    while size < n_bytes:
        columns, joint = r.choices(CELLS, k=r.randint(3, 12)), r.choice([",", ",", ",", ";", "\t"])
        lines = [joint.join("_".join(r.choices(WORDS, k=r.randint(1, 2))) for _ in columns)]
        lines += [joint.join(cell(r) for cell in columns) for _ in range(r.randint(20, 200))]
        text = "\n".join(lines) + "\n"
        size += len(text)
        yield text


def chats(r: Draw, n_bytes: int, emoji: Sequence[str], kaomoji: Sequence[str]) -> Iterator[str]:
    """Short messages with emoji, kaomoji, mentions and tags."""
    size = 0
    while size < n_bytes:
        lines = []
        for _ in range(100):
            words = phrase(r, 1, 12)
            if r.random() < 0.3:
                words += r.choice(["!", "!!", "!!!", "?", "...", " lol", " haha", " :)", " :-)", " ;)", " <3", " xD"])
            if r.random() < 0.2:
                words = f"@{r.choice(USERS)} {words}"
            if r.random() < 0.2:
                words += f" #{r.choice(WORDS)}"
            if r.random() < 0.5:
                words += " " + "".join(r.choices(emoji, k=r.choice([1, 1, 1, 2, 3])))
            if r.random() < 0.15:
                words += " " + r.choice(kaomoji)
            if r.random() < 0.1:
                words += f" https://example.com/{r.choice(WORDS)}/{hexes(r, 6)}"
            lines.append(r.choice(["", "", f"{clock(r)[:5]} <{r.choice(USERS)}> ", f"[{clock(r)}] {r.choice(USERS)}: "]) + words)
        text = "\n".join(lines) + "\n"
        size += len(text.encode())
        yield text


def diffs(r: Draw, texts: Sequence[str], n_bytes: int) -> Iterator[str]:
    """Unified diffs of files of code: some lines removed, some added."""
    size = 0
    while size < n_bytes:
        lines = r.choice(texts).splitlines()[:2000]
        if len(lines) < 20:
            continue
        name, out = path(r), []
        out += [f"diff --git a{name} b{name}", f"index {hexes(r, 7)}..{hexes(r, 7)} 100644", f"--- a{name}", f"+++ b{name}"]
        for _ in range(r.randint(1, 4)):
            at = r.randint(0, len(lines) - 10)
            out.append(f"@@ -{at + 1},{7} +{at + 1},{r.randint(6, 9)} @@")
            out += [r.choice([" ", " ", " ", "-", "+"]) + line for line in lines[at : at + 8]]
        text = "\n".join(out) + "\n"
        size += len(text)
        yield text
