"""The grammars of what is no prose in the sample corpus: code, shell, LaTeX, log lines, messages with emoji.

kind -> symbol -> ways to write it, as in sample_phrases.py; <1:symbol> also keeps what it wrote, and <1> is
that again until the end of the block. JSON is not here: sample_corpus.py has json write it.
"""

from __future__ import annotations

from sample_phrases import Grammar

WORDS: Grammar = {
    "noun": (
        "block", "buffer", "catalogue", "chapter", "counter", "document", "edge", "frame", "gauge", "list",
        "kettle", "label", "root", "line", "map", "node", "offset", "orchard", "page", "piece", "platform",
        "pump", "queue", "record", "river", "row", "segment", "rack", "slot", "station", "table", "token",
        "train", "valve", "wheel",
    ),
    "act": (
        "add", "align", "check", "close", "cut", "count", "drop", "fill", "find", "join", "mark", "measure",
        "merge", "move", "open", "pack", "print", "read", "skip", "sort", "split", "store", "turn", "walk",
        "write",
    ),
    "adj": (
        "active", "cold", "empty", "first", "full", "last", "late", "long", "next", "old", "open", "slow",
        "warm",
    ),
    "id": ("<noun>", "<adj>_<noun>", "n_<noun>s", "<noun>_<noun>", "<noun>_bytes", "<act>_<noun>"),
    "fn": ("<act>_<noun>", "<act>_<adj>_<noun>", "<noun>_<act>", "<act>_<noun>_<x>"),
    "type": ("<Noun><Noun>", "<Adj><Noun>", "<Noun>Table", "<Noun>Error"),
    "num": ("<x>", "<n>", "<big>", "0x<hex4>", "<n5>", "-<x>", "1 << <x>"),
    "why": (
        "the <adj> <noun> may hold <n> <noun>s", "every <noun> belongs to one <noun>",
        "no <noun> is <adj> here", "<act> before the <noun> is <adj>", "see <act>_<noun>",
        "O(n) in the <noun>s", "the caller keeps the <noun>", "offsets never decrease",
        "at most <big> bytes", "the <noun> ends where the next <noun> begins",
    ),
}

CODE: dict[str, Grammar] = {
    "python": {
        **WORDS,
        "block": (
            "def <1:fn>(<2:id>: bytes, <3:adj>: int = <n>) -> int:\n"
            '    """<Act>s the <noun>s of a <noun>: <why>."""\n'
            "    <4:noun>s = 0\n"
            "    for byte in <2>:\n"
            "        if byte == <num>:\n"
            "            <4>s += <3>  # <why>\n"
            "    return <4>s",
            "@dataclass(frozen=True, slots=True)\n"
            "class <1:type>:\n"
            "    <2:id>: int\n"
            "    <3:adj>: float = <dec>\n"
            '    name: str = "<noun>-<n>"\n'
            "\n"
            "    def <fn>(self) -> list[int]:\n"
            "        return [self.<2> * i for i in range(<num>) if i % <n> != <x>]",
            "def test_<1:fn>(tmp_path: Path) -> None:\n"
            '    path = tmp_path / "<2:noun>.bin"\n'
            '    path.write_bytes(b"<hex8>\\x<hex2>\\n" * <n>)\n'
            "    assert <1>(path, <num>) == <big>, '<why>'",
            "try:\n"
            "    <1:noun> = <fn>(<id>, <id>=<num>)\n"
            "except (OSError, <type>) as error:\n"
            '    raise <type>(f"<noun> {error!r}: <why>") from error\n'
            "else:\n"
            '    <1>.<act>(**{"<adj>": None, "<noun>": <num>})',
            "<1:id> = {\n"
            '    "<noun>": (<num>, <num>),\n'
            "    '<noun>': lambda <2:noun>, *rest: <2> @ <2>.T / <n>,\n"
            "}\n"
            "<id> = sorted(<1>.items(), key=lambda pair: pair[1][0], reverse=True)",
            "with open(<id>, 'rb') as file, mmap.mmap(file.fileno(), 0) as <1:noun>:\n"
            "    while (<2:adj> := <1>.find(b'\\n', <id>)) >= 0:\n"
            "        yield <1>[<id>:<2>]\n"
            "        <id> = <2> + 1",
        ),
    },
    "c": {
        **WORDS,
        "block": (
            "/* <Act>s the <noun>s of `<2:noun>`: <why>.\n"
            " * Returns their number, or -1 when memory is short. */\n"
            "int64_t <1:fn>(const uint8_t *<2>, int64_t n_bytes)\n"
            "{\n"
            "    int64_t <3:noun>s = 0;\n"
            "    for (int64_t i = 0; i < n_bytes; ++i) {\n"
            "        <3>s += (<2>[i] & 0x<hex2>u) == <num>; /* <why> */\n"
            "    }\n"
            "    return <3>s;\n"
            "}",
            "typedef struct <1:fn> {\n"
            "    uint32_t base[<n5>];\n"
            "    uint16_t *<id>; /* <why> */\n"
            "    int64_t n_<noun>s;\n"
            "    struct <1> *next;\n"
            "} <1>;",
            "#define N_<hex4>_MAX <big>\n"
            "#include <stdint.h>\n"
            '#include "<noun>.h"\n'
            "\n"
            "enum <fn> {\n"
            "    ID_<hex4> = <x>, /* <why> */\n"
            "    ID_<hex8> = <n>\n"
            "};",
            "static void <fn>(<1:noun>_t *self, int32_t <2:id>)\n"
            "{\n"
            "    if (!self || <2> < <num>) {\n"
            "        return;\n"
            "    }\n"
            "    switch (<2> >> <x>) {\n"
            "    case <x>:\n"
            "        self->n_<noun>s = (int32_t)(<2> * UINT64_C(0x<hex16>) >> 32);\n"
            "        break;\n"
            "    default:\n"
            '        memcpy(self->data + <n>, "<noun>\\0\\t\\"<hex4>\\"", <num>);\n'
            "    }\n"
            "}",
            "int main(int argc, char **argv)\n"
            "{\n"
            '\tprintf("%s: %d <noun>s, %.<x>f%%\\n", argv[0], argc, <dec>);\n'
            "\treturn <fn>(argv[1]) ? EXIT_FAILURE : EXIT_SUCCESS; // <why>\n"
            "}",
        ),
    },
    "shell": {
        **WORDS,
        "block": (
            "#!/bin/sh\n"
            "# <Why>.\n"
            "set -eu\n"
            '<1:noun>="${1:-<noun>-<n>}"\n'
            'for f in "$<1>"/*.<noun>; do\n'
            '\t[ -s "$f" ] || continue\n'
            "\twc -c \"$f\" | awk '{ print $1 / <n5> }' >> /tmp/<noun>.<hex4>\n"
            "done",
            "<1:fn>() {\n"
            "    local <2:noun>=$(( $# * <n> ))\n"
            '    echo "<why>: ${<2>}" >&2\n'
            "    return $(( <2> > <big> ))\n"
            "}\n"
            '<1> "$@" && sleep 0.<x> || exit <x>',
            "tar -C /srv/<noun> --exclude='*.<hex4>' -cf - . | zstd -<x> -T0 > <noun>-<year>-<mo2>.tar.zst",
            "find . -name '<noun>_*.<ext>' -size +<n>k -print0 | xargs -0 -P <x> grep -Eno "
            r"'^[a-z]+_<x>{2,}\s*=' | head -<n>",
            "cat > <noun>.conf <<'END'\n"
            "[<noun>]\n"
            "<adj> = <num>\n"
            '<id> = "<why>"\n'
            "path = ~/.<noun>/<hex8>\n"
            "END",
            "git log --since=<year>-<mo2>-<d2> --format='%h %s' -- <noun>/<noun>.<ext> | sort -u | tee "
            "/dev/null",
        ),
        "ext": ("c", "py", "jsonl", "txt", "md", "npy"),
    },
    "latex": {
        "v": (
            "x", "y", "z", "u_{<i>}", "a_{n-<x>}", r"\alpha", r"\beta_<i>", r"\mathbf{w}", r"\hat{q}",
            r"\varphi", "t",
        ),
        "i": ("i", "j", "k", "n", "m", "<x>"),
        "f": (
            "<v>", "<v>^{<x>}", "<n> <v>", r"\frac{<v>}{<v> + <n>}", r"\sqrt{<v>^2 + <n>}",
            r"\sin(<n> <v>)", r"\log_{<x>} \left| <v> \right|", "e^{-<x> <v>}", r"\lVert <v> \rVert_2",
            "<f> + <v>", r"\left( <v> - <f> \right)",
        ),
        "rel": ("=", r"\le", r"\ge", r"\approx", r"\equiv", "<", r"\neq"),
        "claim": (
            "$<f> <rel> <f>$", r"$\forall <v> \in \mathbb{R}: <f> <rel> <n>$",
            r"$\lim_{n \to \infty} <f> = <x>$", r"$O(n \log n)$ steps suffice",
            "the sequence $(<v>)$ is bounded by $<f>$", "$<f>$ is even for $<i> = <n5>$",
        ),
        "block": (
            "\\section{Case $n = <n>$}\\label{sec:<hex4>}\n"
            "Suppose that <claim>. Then <claim>, and so <claim>.",
            "\\begin{equation}\\label{eq:<hex4>}\n"
            "  \\sum_{i=<x>}^{<n>} <f> <rel> \\int_0^{<x>} <f>\\,\\mathrm{d}x\n"
            r"\end{equation}",
            "\\begin{align*}\n"
            "  <v> &= <f> \\\\\n"
            "      &= <f> + <f> \\\\\n"
            "      &<rel> <n>.<n> \\times 10^{-<x>}\n"
            r"\end{align*}",
            r"\begin{pmatrix} <f> & <x> \\ -<n> & <f> \end{pmatrix} % rank <x>",
            "\\textbf{Lemma <x>.<n>.} If <claim>, then <claim>.\n"
            r"\emph{Proof.} By \eqref{eq:<hex4>}, <claim>. \hfill$\square$",
            "In plain signs: ∑ᵢ αᵢ² ≤ <n>·π, ∀ε > 0 ∃δ: |x − <n>| < δ ⇒ f(x) ∈ [<x>, ∞), and 𝔼[𝑋] = <dec>.",
        ),
    },
    "log": {
        **WORDS,
        "level": ("DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"),
        "stamp": ("<year>-<mo2>-<d2>T<h2>:<mm>:<mm>.<n5>Z",),
        "block": (
            "<stamp> <level> [<noun>-<x>] <act> took <dec> ms (id=<hex8>, <noun>=<n>)",
            "<stamp> <level> [main] <act> /srv/<noun>/<hex4>.bin: <big> bytes, crc 0x<hex8>",
            '10.<x>.<n>.<n> - - [<d2>/Mar/<year>:<h2>:<mm>:<mm> +0000] "GET /<noun>/<hex8>?<adj>=<x> '
            'HTTP/1.1" 200 <big>',
            "<stamp> <level> [<noun>-<x>] retry <x>/9 for <noun> '<hex16>': <why>",
            "kernel: [<big>.<n5>] <noun><x>: temperature above <n> C, <adj> <noun>",
            "Traceback (most recent call last):\n"
            '  File "<noun>.py", line <n5>, in <fn>\n'
            "    <fn>(<num>)\n"
            "ValueError: <why>",
            "[#######>    ] <n>%\r[##########> ] 9<x>%\r[###########] 100% <noun>s: <big>",
            "<noun>\t<n>\t<dec>\t<hex4>\t\t<adj>",
        ),
    },
    "emoji": {
        "e": (
            "😀", "😂", "🥹", "😴", "🤖", "🌧️", "⛅", "🌈", "❄️", "🌻", "🍅", "🍞", "🍲", "🚂", "🚋", "🛶",
            "📚", "🔧", "⚙️", "🗺️", "👍🏽", "👋🏿", "🤝🏻", "👩\u200d🌾", "👨🏾\u200d🍳", "🧑\u200d🔧",
            "👨\u200d👩\u200d👧\u200d👦", "🏳️\u200d🌈", "🇩🇪", "🇯🇵", "🇮🇳", "🇧🇷", "1️⃣", "#️⃣",
            "❤️\u200d🔥", "✅", "➡️",
        ),
        "who": (
            "mia", "Олег", "小雨", "さくら", "민준", "نور", "रवि", "José", "Zoë", "kai_<n>", "Łucja",
            "Nguyễn",
        ),
        "words": (
            "the train is <n> min late", "suppe ist fertig", "c'est l'heure du thé",
            "¿quién riega los tomates?", "поезд уже ушёл", "今天又下雨了", "駅で待ってる", "책 다 읽었어",
            "الشاي جاهز", "किताब मिल गई", "já volto", "dobrý večer", "naïve café, <n> °C", "temp. <dec>°",
            "ok", "lol", "brb @ <h>:<mm>", "see https://example.org/<hex4>?q=<n>",
            "Z\u0335a\u0336l\u0337g\u0338o\u0334 e\u0301 vs é", "𝓕𝓪𝓷𝓬𝔂 𝟜𝟚 𝄞", "ｆｕｌｌ ｗｉｄｔｈ",
            "𠮷野家の前", "½ + ¼ = ¾", "→ ← ⇄ ★☆", "ﬁne ﬂour №<n>", "xin chào", "zażółć gęślą", "γειά σου",
            "שלום לכולם", "สวัสดี", "გამარჯობა", "გვიან", "ողջույն", "ሰላም",
        ),
        "block": (
            "<who>: <words> <e><e>", "<who>: <e>", "<e> <words>, <words> <e>",
            "> <words>\n"
            "<who>: <words>!!! <e><e><e>",
            "[<h>:<mm>] <who> — <words>…", "<e><e><e><e><e><e>", "#<words> #<n> <e>",
            "- [x] <words> <e>\n"
            "- [ ] <words>",
            "| <who> | <words> | <n> <e> |", "<who>: “<words>” — <words>\u200b \u00a0<e>",
        ),
    },
}
