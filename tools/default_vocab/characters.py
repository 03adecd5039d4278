"""Characters that the default vocabulary has whatever the training text has of them, and beginnings of the others."""

from __future__ import annotations

import unicodedata

LETTERS = [  # of living scripts, whatever the training text has of them: first and last
    (0xA0, 0x17F), (0x1CD, 0x1DC), (0x218, 0x21B), (0x386, 0x3CE), (0x400, 0x45F), (0x490, 0x493), (0x561, 0x587),
    (0x5B0, 0x5BC), (0x5D0, 0x5EA), (0xE81, 0xEBD), (0xEC0, 0xECD), (0x1000, 0x1021), (0x102B, 0x103E),
    (0x3000, 0x301F), (0x3105, 0x3129), (0xFE30, 0xFE44), (0xFE49, 0xFE61), (0xFF01, 0xFF5E), (0xFFE0, 0xFFE5),
]  # fmt: skip
SYMBOLS = (
    "ǧǫǵəɐɑɒɓɔɕɖɗɘɚɛɜɟɡɢɣɤɥɨɪɫɬɭɯɰɱɲɳɴɵɶɸɹɺɻɽɾʀʁʂʃʈʉʊʋʌʍʎʏʐʑʒʔʕʝʰʲʷʹʻʼʾʿˆˇˈˉˊˋˌːˑ˘˙˚˛˜ˠ\u0300\u0301\u0302\u0303\u0304\u0306"
    "\u0307\u0308\u030a\u030b\u030c\u030d\u0312\u0323\u0325\u0327\u0328\u0329\u032a\u032f\u0331\u0332\u0336\u0353\u0358\u0361ϕϵЂЄЇЉЊЋЏҚқҢңҮүҰұҲҳҺһӏӘәӨө"
    "ְַֹּׁׂאבםןףץẠạẢảẤấẦầẨẩẬậẮắẰằẶặẸẹẾếỀềỂểễỆệỉịỌọỏốồổỗộớờởỡợụủứừửữựỳỷỹ"
    "ḍḤḥḫḷṃṇṅṛṣṭẓἀἁἂἄἅἈἐἑἓἔἕἘἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷἸὀὁὂὃὄὅὈὐὑὔὕὖὗὙὡὢὤὥὦὧὨὰὲὴὶὸὺὼᾳᾶᾷῃῆῇῖῥῦῳῶῷ’"
    "‐‑‒–—―‖‘’‚“”„†‡•…‰′″‵‹›※‾⁄€₹₽₩₪₫₺₴⃣⁰ⁱ⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ᵉᵢ℃℉№℗™℮Ωℂℓℕℚℝℤℵ⅓⅔⅛ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅰⅱⅲ"
    "\u2002\u2003\u2009\u200a\u202c\u202f\ufeff\ufffcﬁﬂƏƒᴇḏḨḪḳṢṬṯẫẻₗάέήίόύѣѫҡՄ়ผൻർൽൾܐܝ߬⸮‟‧゛゜ゼ㎡｢｣"
    "곤괴균꾸님댓덤덴델됩떤떻램략렉룹맹며몽묘뮤므및뷔삭샤샵섬쇼숙암앤앨옥왁욱윤융잉잘졸즌징척촌춘칸칼켰쿄큼킨탐탑텔템퇴폐폴핀혁혈혔혜홀효휘"
    "←↑→↓↔↕↖↗↘↙↦↪↩↲↳↵⇐⇑⇒⇓⇔⇧∀∂∃∅∆∇∈∉∋−∏∑∓∕∗∘∙√∝∞∠∣∥∧∨∩∪∫∴∵∶∼∽≅≈≠≡≤≥≦≧≪≫≯⊂⊃⊆⊇⊕⊗⊙⊢⊥⋅⋆⋯⌘⟨⟩⟶"
    "①②③④⑤⑥⑦⑧⑨⑩ⒺⓃⓈⓌ─━│┃┄┅┈┉┌┍┏┐┑┓└┗┘┛├┣┤┫┬┭┮┳┴┻┼╋╌═║╔╗╚╝╠╣╥╦╩╬╭╮╯╰╱╲▀▁▂▃▄▅▆▇█▉▊▋▌▍▎▏▐░▒▓▔"
    "■□▪▫▬▲△▶►▷▸▼▽◀◄◆◇◊○◎●◢◣◦★☆☎☐☑☒☕☞☠☮☹☺☻♀♂♠♡♣♥♦♪♫♭♯♻⚠⚡⚽⛔⛄✂✅✈✊✋✌✓✔✕✖✗✘✨✿❀❄❌❓❗❤❯❶❷❸➔➖➜➡⠀⬛⬜⭐"
    "\ufe0e\ufe0f🎂🎄🎉🎊🎧🎵🎶🎁🏆🐱🐶🌈🌍🌙🌚🌞🌟🌷🌸🌹🌺🌻🌿🍀🍕🍺🍻🐍🐛🐾👀👁👇👈👉👊👋👌👍👎👏👑💀💃💋💎💐💓💔💕💖💗💙💚💛💜💝💞"
    "💡💣💤💥💦💩💪💬💯💰📅📈📌📖📚📝📞📢📣📦📱📷📸🔍🔒🔗🔥🔧🔴🔵🕺🖐🖤🗑😀😁😂😃😄😅😆😇😈😉😊😋😌😍😎😏😐😑😒😓😔😕😖😘😚😛😜😝😞"
    "😠😡😢😣😤😥😨😩😪😫😬😭😮😰😱😲😳😴😵😶😷🙁🙂🙃🙄🙅🙆🙇🙈🙉🙊🙋🙌🙏🚀🚨🚩🚫🛑🤍🤎🤐🤓🤔🤗🤘🤝🤞🤢🤣🤤🤦🤧🤨🤩🤪🤫🤬🤭🤮"
    "🤯🤷🥀🥂🥇🥰🥱🥲🥳🥴🥵🥶🥺🦄🦋🧐🧡🧠🫠🫡🏻🏼🏽🏾🏿"
)


def characters() -> set[bytes]:
    """Those that are pieces, and the beginnings of all others."""
    letters = {chr(code) for first, last in LETTERS for code in range(first, last + 1)} | set(SYMBOLS)
    assigned = {letter.encode() for letter in letters if unicodedata.category(letter) != "Cn"}
    return assigned | prefixes() | ideographs()


def prefixes() -> set[bytes]:
    """First bytes of characters: no character of three bytes takes more than two ids, no symbol of four either."""
    seconds = {0xE0: range(0xA0, 0xC0), 0xED: range(0x80, 0xA0), 0xEE: (), 0xEF: range(0xA4, 0xC0)}  # EE..: private use
    ret = {bytes((lead, second)) for lead in range(0xE0, 0xF0) for second in seconds.get(lead, range(0x80, 0xC0))}
    ret |= {b"\xf0" + bytes([second]) for second in range(0x90, 0xB4)}
    planes = [(second, third) for second in (0x9D, 0x9E, 0x9F) for third in range(0x80, 0xC0)]
    return ret | {b"\xf0" + bytes(pair) for pair in planes if is_assigned(b"\xf0" + bytes(pair))}


def is_assigned(prefix: bytes) -> bool:
    """Whether there are characters that begin so."""
    return any(unicodedata.name((prefix + bytes([last])).decode(), "") for last in range(0x80, 0xC0))


def ideographs() -> set[bytes]:
    """The characters of the first level of the Chinese and Japanese character sets."""
    ret = set()
    rows = {"gb2312": (0xB0, 0xD8), "big5": (0xA4, 0xC7), "euc_jp": (0xB0, 0xD0)}
    for codec, (first, last) in rows.items():
        for lead in range(first, last):
            for second in range(0x40, 0xFF):
                try:
                    ret.add(bytes((lead, second)).decode(codec).encode())
                except UnicodeDecodeError:
                    continue
    return {piece for piece in ret if piece[0] >= 0xE3}
