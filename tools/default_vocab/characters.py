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


RARE = (  # that RWKV World has, and the training text has at least once, or the language needs: Korean, then Chinese
    "\u0352ญธḩẽάέήίόύ∮∷≃⊤⍵☉☴⚭⣿⥤ⴰ�"
    "갔객견곡골군굴궁귀규극긴김깨께끼났낸냈넷녀념논놀농뉴능닌덕돈돼됐된될득듯딸떠떨뜻람랑랜럼렇렌련렸령료류률린"
    "맛망맡맥맨먹몬몰몸못민박벌범벤벽병봉빈빌빛살새셔솔송쉬쉽슨승싱싸써씨악압억엄엇엘염였완왔왕왜욕움웃육익쟁존"
    "죄죠죽준즐짜째착찬찰철츠칙친컬컴컵쿠큰탁탄탈턴털텐팀팔폭푸풀풍핵허혀협혹혼홍황획훈흐흥희힘"
    "丨丶丼丿乂乇乜亵亶仝仨伫佘佟佶侘俅俦俪倓倜倬偈偻傕傩僞儁儆兖冇冼凃凫剡勍勖匮卍卽厍厓厮叽吡吽吿呤呦呯咁咂咤"
    "咭哐哔哞唑唠唵啉啐啧啬啰啶喆喏喹喽嗐嗒嗔嗖嗝嗪嗳噻嚜嚭囍囗囵囷囹圜坵垚垩埌堇墉墻夂奂奬妗妩妫妲姗姝姮姹娅娆"
    "娈娲娴婕婧嫱嬅孢宀宓宬寀寔寳尙尨尴屄屌屙屮屾岀岄岘岚岢峁峇峋崚崽嵊嵋嵬嶙嶷巅巿帙幄幇幺廋廪弑弢彘彧徭忏忒忡"
    "忤怅怦怿恁恂恸恺恽惬愰抻挹捋掰揄揶揸搡搧摞撷撸擀擧敍敎斓旒旛旸旻旼昉昙昝昴昵昶晄晖晗晙晟晧晳晸暎暐暧暻暾曌"
    "曛曺杈杩枭枳柰栀栊栾桎桢桦梏椁椹楂楡楸榄榈榧槎槑槟槲槿樨欒歆殄殑殒殓殞殡殳氚氩沚沣泫泮泸泺泾洄洙浏浐浒浔浠"
    "浣浼涑淏淩淯淸淼渎渕渟渼湜湫湳溟溱滉滠滢滸潇潢潴澍澐澔濆濑瀅瀣灏灝灬炀炅炖炘炜炝炷烜烝烨焄焓焖焘焯煅煇煊煐"
    "煲煸熜熠熵燁燔燿爲牀犇犟猊猕猝猬獒獾玎玑玘玦玧玮玹玺珈珉珏珑珙珝珣珥珩珰珲珹珺珽琇琚琬琮琰琲瑀瑄瑋瑗瑢瑥瑨"
    "瑱瑷璁璇璎璐璠璺瓒瓯甙甤甯甾畀畲疱痫瘆瘙瘾癫皙眈眞睐睾矍矶砀硌硏硐碛碜礴祂祎祓祛祜祯禀禊禑稣穰窣窦竝竦笃笏"
    "笫筌筝筱箐箒箫箬籁粑粲糅糍紈絣緖繇纛纨纭纰绌绔绛绫绮绯绶绺绾缁缇缗缙缜缟缤缪缭罂罒罠羁羟翊聃肽胫脘脛腩腭膑"
    "膣膵膻舖艸艹芊芎芡芩芪芫芮苋苕苡苴苷苺苻苾茣茭茯荇荑荥荨荪荭荳莅莪莳莴莺菀菘菡菫萁萜萦葚葯葶蒯蒹蓁蓦蓼蔘蔺"
    "蔻蕖蕤蕲薏藓藜藿蘂蘖蚝蜚蜱蝮蝼螈螯蟊衮衲衾裆裱褙褛褰褴襁觎觐觑詈諡謇謔謳讧讪诃诏诒诘诠诤诰诳诶诿谂谌谒谕谘"
    "谙谛谟谥谪谲贄贲贻赈赟趸跄跣跷跻踉踰蹇蹑躏轭轶辄辇辍辎辘逄逋逑逡逯邗邙邨邬邰邴邺郏郗郜郞郦鄕鄢鄯酆酯酰醯鈺"
    "鉞銛銮銹鋏鍘鍮鍼鎭鏞鑛鑫钇钊钏钛钰钴钹钺钼铎铐铑铛铠铢铤铨铮铯铿锂锉锏锒锛锟锢锲锵锶锺镂镉镌镒镕镖镗镛镞镧"
    "镯閾闫闱闳闵闾阆阈阊阖阙阚陟隗隰隽雎霁霙霭靑靓靺鞑韬颉颍颚颞颢飒飓饋饌饨饪饴饷馀馐馔驸驿骞骢髅鬓鬪魃鯰鱿鲇"
    "鲑鲛鲟鲠鲢鲨鲵鳄鳅鳌鳍鳗鳙鳝鵺鷄鸨鸩鸪鸱鸾鹉鹗鹘鹦鹫鹭麽黾龃龅龈龉龊龌龕龛郎凉"
)


def characters() -> set[bytes]:
    """Those that are pieces, and the beginnings of all others."""
    letters = {chr(code) for first, last in LETTERS for code in range(first, last + 1)} | set(SYMBOLS + RARE)
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
