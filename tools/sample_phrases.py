"""The phrase grammars of the ten languages in the sample corpus, written for it: no text from elsewhere.

language -> symbol -> ways to write it; <symbol> stands for one of them, <Symbol> for one with a capital.
Every slot takes any of its entries without inflection: numbers come as 11-99, or as multiples of five where
a language counts by the last digit. sample_corpus.py expands them and adds the symbols for numbers.
"""

from __future__ import annotations

Grammar = dict[str, tuple[str, ...]]

PROSE: dict[str, Grammar] = {
    "en": {
        "who": (
            "the gardener", "the stationmaster", "the old librarian", "a quiet cook", "the ferryman",
            "the clockmaker", "our neighbour", "the young engineer", "a patient teacher", "the baker",
            "the bookbinder", "a visitor from <town>", "<name>", "the weather observer", "the bridge keeper",
            "someone from the mill",
        ),
        "does": (
            "describes", "measures", "remembers", "watches", "photographs", "studies", "sketches",
            "looks after", "checks", "admires", "often mentions", "carefully cleans", "paints", "asks about",
            "walks past",
        ),
        "what": (
            "the copper kettle", "the narrow footbridge", "an old pump", "the long shelf",
            "the vegetable beds", "the brass steam gauge", "the map of the river", "the greenhouse",
            "the yellow tram", "the water wheel", "a box of seed packets", "the catalogue of <year>",
            "the printing press", "the rain barrel", "the platform clock", "the apple tree", "the barometer",
            "a stack of <n> atlases", "the iron stove", "engine number <big>",
        ),
        "where": (
            "near the harbour", "behind the station", "in the reading room", "at the edge of the orchard",
            "beside the canal", "under the glass roof", "in the village of <town>", "on platform <n>",
            "by the kitchen window", "along the river bank", "at the end of the lane", "in the workshop",
            "above the weir", "next to the market",
        ),
        "when": (
            "before breakfast", "after the rain", "at <h>:<mm>", "on <month> <d>", "every Thursday",
            "in the spring of <year>", "late in the evening", "for <n> minutes", "as soon as the fog lifts",
            "once a week", "when the first train leaves", "without any hurry",
        ),
        "fact": (
            "it rained for <n> hours and the river rose by <x> centimetres",
            "the train to <town> leaves at <h>:<mm>", "the library holds <big> books and <n> maps",
            "a good broth simmers for <n> minutes", "the pump moves <n5> litres an hour",
            "the wind turned to the north at <h>:<mm>", "beans need <n> days from seed to flower",
            "the lock at <town> was built in <year>", "the lowest temperature was <x>.<x> degrees",
            "nobody knows who planted the pear tree", "a slow oven makes the better bread",
            "the catalogue lists <n5> titles about bridges", "the gauge shows <n> percent",
            "snow covered the tracks until <month>", "the water is clear enough to count the stones",
            "it takes <n> steps to reach the tower", "the last tram carried only <n> passengers",
            "an oiled bearing makes no noise",
        ),
        "s": (
            "<when>, <who> <does> <what> <where>.", "<who> <does> <what> <where>.",
            "<who> <does> <what>, and <who> <does> <what> <when>.", "<fact>.", "<fact>, but <fact>.",
            "<name> said: “<Fact>.”", "“<Fact>,” wrote <name> in <year>; “<fact>.”",
            "although <fact>, <who> <does> <what>.", "does anyone know why <who> <does> <what> <when>?",
            "because <fact>, nobody <does> <what> <where>.", "(<Fact>; see page <n5>.)", "in short: <fact>!",
        ),
        "title": (
            "Notes from <town>, <month> <year>", "How <who> <does> <what>", "A year beside the canal",
            "The <n5> recipes of <name>", "Timetable and weather for <month> <d>", "What <who> never <does>",
            "Chapter <n>: <what>",
        ),
        "item": (
            "<what> (<n> cm)", "<n5> grams of flour", "<who>, <where>", "<town>: <x>.<x> mm",
            "<month> <d>, <h>:<mm>: <fact>", "nothing new <where>",
        ),
        "name": ("<first> <root><end>", "Mr <root><end>", "Mrs <root><end>", "Dr <first> <root><end>"),
        "first": (
            "Ada", "Edwin", "Mabel", "Oscar", "Nora", "Clive", "Hazel", "Rufus", "Ivy", "Walter", "Edith",
            "Hugo",
        ),
        "town": ("<root><end>", "<root><end>", "Upper <root><end>"),
        "root": (
            "Ash", "Brook", "Elder", "Fen", "Hazel", "Lang", "Mill", "Oak", "Penn", "Raven", "Stan", "Thorn",
            "Wether", "Wool",
        ),
        "end": ("ford", "ham", "wick", "ley", "ton", "bury", "field", "combe"),
        "month": (
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ),
    },
    "de": {
        "who": (
            "der Gärtner", "die Bibliothekarin", "der Lokführer", "die Köchin", "der Fährmann",
            "eine junge Ingenieurin", "der Uhrmacher", "unsere Nachbarin", "der Müller",
            "ein Besucher aus <town>", "<name>", "die Lehrerin", "der Brückenwärter", "die Buchbinderin",
            "ein älterer Bäcker", "die Wetterbeobachterin",
        ),
        "does": (
            "beschreibt", "misst", "betrachtet", "fotografiert", "zeichnet", "untersucht", "überprüft",
            "bewundert", "reinigt", "pflegt", "kennt", "erwähnt", "besucht", "streicht", "sucht",
        ),
        "what": (
            "den kupfernen Kessel", "die schmale Brücke", "das alte Stellwerk", "die Wasserpumpe",
            "den Apfelbaum", "das Gewächshaus", "die Karte des Flusses", "das Barometer",
            "den gelben Triebwagen", "die Druckmaschine", "den Katalog von <year>", "die Gemüsebeete",
            "das Mühlrad", "den langen Bücherschrank", "die Bahnsteiguhr", "den eisernen Ofen",
            "die Regentonne", "das Schiffshebewerk", "die Lokomotive Nr. <big>",
            "eine Kiste mit <n> Samentüten",
        ),
        "where": (
            "am Hafen", "hinter dem Bahnhof", "im Lesesaal", "am Rand des Obstgartens", "neben dem Kanal",
            "unter dem Glasdach", "in <town>", "auf Gleis <n>", "am Küchenfenster", "entlang des Flussufers",
            "in der Werkstatt", "oberhalb des Wehrs", "vor dem Markt", "im Erdgeschoss",
        ),
        "when": (
            "vor dem Frühstück", "nach dem Regen", "um <h>:<mm> Uhr", "am <d>. <month>", "jeden Donnerstag",
            "im Frühling <year>", "spät am Abend", "seit <n> Minuten", "bei dichtem Nebel",
            "einmal in der Woche", "ohne jede Eile", "während der Mittagspause",
        ),
        "fact": (
            "es regnete <n> Stunden lang, und der Fluss stieg um <n> Zentimeter",
            "der Zug nach <town> fährt um <h>:<mm> Uhr ab",
            "die Bibliothek besitzt <big> Bücher und <n> Landkarten", "eine gute Brühe zieht <n> Minuten",
            "die Pumpe fördert <n5> Liter in der Stunde", "der Wind dreht gegen <h> Uhr auf Nord",
            "Bohnen brauchen <n> Tage bis zur Blüte", "die Schleuse in <town> wurde <year> gebaut",
            "die tiefste Temperatur lag bei <x>,<x> Grad", "niemand weiß, wer den Birnbaum gepflanzt hat",
            "langsames Backen macht das bessere Brot", "das Verzeichnis nennt <n5> Titel über Brücken",
            "der Zeiger steht auf <n> Prozent", "der Schnee bedeckte die Gleise bis in den <month>",
            "das Wasser ist so klar, dass man die Steine zählen kann", "zum Turm führen <n5> Stufen",
            "die letzte Straßenbahn hatte nur <n> Fahrgäste", "ein geöltes Lager macht keinen Lärm",
        ),
        "s": (
            "<who> <does> <what> <where>.", "<when> <does> <who> <what> <where>.",
            "<who> <does> <what>, und <who> <does> <what> <when>.", "<fact>.", "<fact>, aber <fact>.",
            "<fact>; deshalb <does> <who> <what>.", "<name> sagt: „<Fact>.“",
            "„<Fact>“, schrieb <name> im Jahr <year>.", "<does> <who> <when> wirklich <what>?",
            "niemand <does> <what> <where>, denn <fact>.", "(Vgl. S. <n5>: <fact>.)", "kurz gesagt: <fact>!",
        ),
        "title": (
            "Aufzeichnungen aus <town>, <month> <year>", "<Who> <does> <what>", "Ein Jahr am Kanal",
            "Die <n5> Rezepte von <name>", "Fahrplan und Wetter für den <d>. <month>",
            "Größe, Maß und Übermaß der Maschinen", "Kapitel <n>: Am Wehr",
        ),
        "item": (
            "<n5> g Mehl", "<town>: <x>,<x> mm", "<d>. <month>, <h>:<mm> Uhr: <fact>", "<who> (<where>)",
            "nichts Neues <where>",
        ),
        "name": ("<first> <root><end>er", "Frau <root><end>er", "Herr <root>mann", "<first> <root>mann"),
        "first": (
            "Anneliese", "Bernd", "Cäcilie", "Dörte", "Emil", "Friedrich", "Götz", "Hannelore", "Jürgen",
            "Käthe", "Lorenz", "Mathilde",
        ),
        "town": ("<root><end>", "Bad <root><end>", "<root><end> an der Aue"),
        "root": (
            "Ahorn", "Birken", "Eichen", "Fisch", "Grün", "Hohen", "Lang", "Mühl", "Neu", "Ober", "Stein",
            "Wald", "Weiß", "König",
        ),
        "end": ("bach", "berg", "dorf", "feld", "hausen", "brück", "furt", "tal"),
        "month": (
            "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
            "November", "Dezember",
        ),
    },
    "fr": {
        "who": (
            "le jardinier", "la bibliothécaire", "le chef de gare", "la cuisinière", "le passeur",
            "une jeune ingénieure", "le vieil horloger", "notre voisine", "le meunier", "la relieuse",
            "<name>", "un visiteur venu par le train de <h> h <mm>", "la boulangère", "le gardien du pont",
            "une élève curieuse", "le facteur",
        ),
        "does": (
            "décrit", "mesure", "regarde", "photographie", "dessine", "étudie", "vérifie", "admire",
            "nettoie", "connaît", "cherche", "évoque souvent", "peint", "protège", "retrouve",
        ),
        "what": (
            "la bouilloire en cuivre", "la passerelle étroite", "une vieille pompe", "la longue étagère",
            "le potager", "le manomètre en laiton", "la carte du fleuve", "la serre", "le tramway jaune",
            "la roue à eau", "une boîte de graines", "le catalogue de <year>", "la presse à imprimer",
            "le tonneau à pluie", "l'horloge du quai", "le pommier", "le baromètre", "une pile de <n> atlas",
            "le poêle en fonte", "la locomotive nº <big>",
        ),
        "where": (
            "près du port", "derrière la gare", "dans la salle de lecture", "au bord du verger",
            "le long du canal", "sous la verrière", "à <town>", "sur le quai <n>", "à côté de la fenêtre",
            "au bout du chemin", "dans l'atelier", "en amont du barrage", "devant le marché", "à l'étage",
        ),
        "when": (
            "avant le petit déjeuner", "après la pluie", "à <h> h <mm>", "le <d> <month>", "chaque jeudi",
            "au printemps <year>", "tard le soir", "pendant <n> minutes", "malgré le brouillard",
            "une fois par semaine", "sans se presser", "dès l'aube",
        ),
        "fact": (
            "il a plu pendant <n> heures et la rivière a monté de <n> centimètres",
            "le train pour <town> part à <h> h <mm>", "la bibliothèque possède <big> livres et <n> cartes",
            "un bon bouillon frémit <n> minutes", "la pompe débite <n5> litres par heure",
            "le vent a tourné au nord vers <h> heures", "les haricots fleurissent au bout de <n> jours",
            "cette écluse fut construite en <year>", "la température la plus basse était de <x>,<x> degrés",
            "personne ne sait qui a planté le poirier", "un four doux donne un meilleur pain",
            "le catalogue compte <n5> titres sur les ponts", "l'aiguille indique <n> pour cent",
            "la neige a couvert les voies jusqu'à la fin de l'hiver",
            "l'eau est si claire qu'on y compte les cailloux", "il faut monter <n5> marches jusqu'à la tour",
            "le dernier tramway ne transportait que <n> voyageurs",
            "une machine bien huilée ne fait aucun bruit",
        ),
        "s": (
            "<who> <does> <what> <where>.", "<when>, <who> <does> <what> <where>.",
            "<who> <does> <what>, et <who> <does> <what> <when>.", "<fact>.", "<fact>, mais <fact>.",
            "<name> dit : « <Fact>. »", "« <Fact> », écrivait <name> en <year>.", "est-ce vrai ? <Fact>.",
            "personne ne regarde <what> <where>, car <fact>.", "(Voir p. <n5> : <fact>.)",
            "en bref : <fact> !",
        ),
        "title": (
            "Carnet de <town>, <month> <year>", "Comment <who> <does> <what>", "Une année au bord du canal",
            "Les <n5> recettes de <first>", "Horaires et météo du <d> <month>",
            "L'œuvre du meunier : où, quand, pourquoi ?", "Chapitre <n> : le cœur de la machine",
        ),
        "item": (
            "<n5> g de farine", "<town> : <x>,<x> mm", "<d> <month>, <h> h <mm> : <fact>", "<who> (<where>)",
            "rien de nouveau <where>",
        ),
        "name": ("<first> <root><end>", "Mme <root><end>", "M. <root><end>"),
        "first": (
            "Béatrice", "Cédric", "Maëlle", "François", "Gaëlle", "Maxime", "Noémie", "Jérôme", "Lucie",
            "René", "Zoé", "Théo",
        ),
        "town": ("<root><end>", "Saint-<saint>-sur-<root><end>", "<root><end>-le-Château"),
        "saint": ("François", "Jérôme", "René", "Théo"),
        "root": (
            "Beau", "Clair", "Mont", "Font", "Roche", "Bel", "Champ", "Val", "Haut", "Neuf", "Pierre", "Long",
        ),
        "end": ("mont", "val", "fort", "ville", "court", "bois", "pré", "brun"),
        "month": (
            "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
            "novembre", "décembre",
        ),
    },
    "es": {
        "who": (
            "el jardinero", "la bibliotecaria", "el jefe de estación", "la cocinera", "el barquero",
            "una joven ingeniera", "el relojero", "nuestra vecina", "el molinero", "la encuadernadora",
            "<name>", "un viajero de <town>", "el panadero", "la maestra", "el guardián del puente",
            "una niña curiosa",
        ),
        "does": (
            "describe", "mide", "recuerda", "observa", "fotografía", "dibuja", "estudia", "revisa", "admira",
            "limpia", "conoce", "busca", "menciona", "pinta", "cuida",
        ),
        "what": (
            "la tetera de cobre", "el puente estrecho", "una bomba antigua", "el estante largo", "la huerta",
            "el manómetro de latón", "el mapa del río", "el invernadero", "el tranvía amarillo",
            "la rueda del molino", "una caja de semillas", "el catálogo de <year>", "la imprenta",
            "el barril de lluvia", "el reloj del andén", "el manzano", "el barómetro",
            "un montón de <n> atlas", "la estufa de hierro", "la locomotora n.º <big>",
        ),
        "where": (
            "cerca del puerto", "detrás de la estación", "en la sala de lectura", "al borde del huerto",
            "junto al canal", "bajo el techo de cristal", "en <town>", "en el andén <n>",
            "al lado de la ventana", "por la orilla del río", "al final del camino", "en el taller",
            "frente al mercado", "en el patio",
        ),
        "when": (
            "antes del desayuno", "después de la lluvia", "a las <h>:<mm>", "el <d> de <month>",
            "cada jueves", "en la primavera de <year>", "por la noche", "durante <n> minutos",
            "a pesar de la niebla", "una vez por semana", "sin prisa", "al amanecer",
        ),
        "fact": (
            "llovió durante <n> horas y el río subió <n> centímetros", "el tren a <town> sale a las <h>:<mm>",
            "la biblioteca guarda <big> libros y <n> mapas", "un buen caldo hierve <n> minutos",
            "la bomba mueve <n5> litros por hora", "el viento giró al norte por la mañana",
            "las judías florecen a los <n> días", "la esclusa de <town> se construyó en <year>",
            "la temperatura más baja fue de <x>,<x> grados", "nadie sabe quién plantó el peral",
            "un horno lento hace mejor pan", "el catálogo reúne <n5> títulos sobre puentes",
            "la aguja marca el <n> por ciento", "la nieve cubrió las vías hasta <month>",
            "el agua está tan clara que se pueden contar las piedras", "hay <n5> escalones hasta la torre",
            "el último tranvía llevaba solo <n> pasajeros", "una máquina bien engrasada no hace ruido",
        ),
        "s": (
            "<who> <does> <what> <where>.", "<when>, <who> <does> <what> <where>.",
            "<who> <does> <what>, mientras que <who> <does> <what> <when>.", "<fact>.",
            "<fact>, pero <fact>.", "<name> dijo: «<Fact>».", "—<Fact> —escribió <name> en <year>.",
            "¿por qué <who> <does> <what> <when>?", "como <fact>, nadie <does> <what> <where>.",
            "(véase la página <n5>: <fact>).", "¡<fact>!", "aunque <fact>, <who> <does> <what>.",
        ),
        "title": (
            "Cuaderno de <town>, <month> de <year>", "Cómo <who> <does> <what>", "Un año junto al canal",
            "Las <n5> recetas de <first>", "Horario y tiempo para el <d> de <month>",
            "¿Qué hace la señora <root><end>?", "Capítulo <n>: <what>",
        ),
        "item": (
            "<n5> g de harina", "<town>: <x>,<x> mm", "<d> de <month>, <h>:<mm>: <fact>", "<who> (<where>)",
            "nada nuevo <where>",
        ),
        "name": ("<first> <root><end>", "<first> de <root><end>", "<first> <root><end> <root><end>"),
        "first": (
            "Begoña", "Iñaki", "Lucía", "Joaquín", "Inés", "Ramón", "Pilar", "Tomás", "Ángela", "Óscar",
            "Verónica", "Martín",
        ),
        "town": ("Villa <root><end>", "Puerto <root><end>", "San <saint> de <root><end>"),
        "saint": ("Joaquín", "Ramón", "Martín", "Óscar"),
        "root": ("Al", "Cas", "Mont", "Ped", "Sal", "Tor", "Val", "Ver", "Ruiz", "Zam", "Cal", "Lum"),
        "end": ("medo", "tillo", "alba", "raza", "daña", "beque", "oria", "uño"),
        "month": (
            "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
            "noviembre", "diciembre",
        ),
    },
    "ru": {
        "who": (
            "садовник", "библиотекарь", "начальник станции", "повариха", "паромщик", "молодой инженер",
            "часовщик", "наша соседка", "мельник", "учительница", "<name>", "гость из другого города",
            "пекарь", "сторож моста", "переплётчица", "наблюдатель погоды",
        ),
        "does": (
            "описывает", "измеряет", "вспоминает", "рассматривает", "фотографирует", "рисует", "изучает",
            "проверяет", "хвалит", "чистит", "показывает", "ищет", "красит", "бережёт", "замечает",
        ),
        "what": (
            "медный чайник", "узкий мостик", "старый насос", "длинную полку", "грядки с морковью",
            "латунный манометр", "карту реки", "теплицу", "жёлтый трамвай", "водяное колесо",
            "коробку с семенами", "каталог <year> года", "печатный станок", "бочку с дождевой водой",
            "часы на платформе", "яблоню", "барометр", "стопку атласов", "чугунную печь", "паровоз № <big>",
        ),
        "where": (
            "у пристани", "за вокзалом", "в читальном зале", "на краю сада", "возле канала",
            "под стеклянной крышей", "на улице <street>", "на платформе <n>", "у кухонного окна",
            "вдоль берега", "в конце переулка", "в мастерской", "выше плотины", "рядом с рынком",
        ),
        "when": (
            "перед завтраком", "после дождя", "в <h>:<mm>", "<d> <month>", "каждый четверг",
            "весной <year> года", "поздно вечером", "уже <n5> минут", "сквозь туман", "раз в неделю",
            "не торопясь", "на рассвете",
        ),
        "fact": (
            "дождь шёл <n5> часов, и вода в реке поднялась на <n> см", "поезд отправляется в <h>:<mm>",
            "в библиотеке хранится <n5> книг и карт", "хороший бульон варится <n5> минут",
            "насос перекачивает <n5> литров в час", "к <h> часам ветер повернул на север",
            "фасоль цветёт через <n5> дней", "шлюз построили в <year> году",
            "самая низкая температура была −<x>,<x> °C", "никто не знает, кто посадил грушу",
            "в медленной печи хлеб получается вкуснее", "в каталоге указано <n5> названий о мостах",
            "стрелка показывает <n> %", "снег лежал на путях до самого апреля",
            "вода так прозрачна, что видны все камни", "до башни ведут <n5> ступеней",
            "в последнем трамвае ехало всего <n5> пассажиров", "смазанный подшипник не шумит",
        ),
        "s": (
            "<who> <does> <what> <where>.", "<when> <who> <does> <what> <where>.",
            "<who> <does> <what>, а <who> <does> <what> <when>.", "<fact>.", "<fact>, но <fact>.",
            "<name> говорит: «<Fact>».", "«<Fact>», — гласит запись от <d> <month> <year> года.",
            "почему <who> <does> <what> <when>?", "так как <fact>, <who> не <does> <what> <where>.",
            "(см. стр. <n5>: <fact>.)", "короче говоря, <fact>!", "хотя <fact>, <who> <does> <what>.",
        ),
        "title": (
            "Записки с улицы <street>, <year> год", "Как <who> <does> <what>", "Год у канала",
            "Рецепты и расписания: выпуск <n>", "Погода на <d> <month>", "Глава <n>. <What>",
        ),
        "item": (
            "мука, <n5> г", "осадки: <x>,<x> мм", "<d> <month>, <h>:<mm>: <fact>", "<who> (<where>)",
            "<where> ничего нового",
        ),
        "name": ("<first> <root>ов", "<first> <root>ин", "<root>енко", "<first> <root>ский"),
        "first": (
            "Аркадий", "Борис", "Глеб", "Ефим", "Захар", "Игнат", "Кирилл", "Лев", "Матвей", "Остап",
            "Савелий", "Фёдор",
        ),
        "street": ("<root>овская", "<root>инская", "<root>ная"),
        "root": (
            "Берез", "Ветр", "Голуб", "Зим", "Камен", "Луг", "Клен", "Облак", "Полян", "Крылат", "Рябин",
            "Тихон",
        ),
        "month": (
            "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября",
            "ноября", "декабря",
        ),
    },
    "zh": {
        "who": (
            "园丁", "图书管理员", "站长", "老厨师", "摆渡人", "年轻的工程师", "钟表匠", "我们的邻居",
            "磨坊主人", "小学老师", "<name>", "从<town>来的客人", "面包师", "守桥人", "装订工", "气象观测员",
        ),
        "does": (
            "仔细观察", "测量", "描绘", "修理", "拍下", "研究", "检查", "打扫", "想起", "介绍", "寻找",
            "欣赏", "照看", "记录", "谈论",
        ),
        "what": (
            "那把铜壶", "一座窄桥", "旧水泵", "长长的书架", "几块菜地", "黄铜压力表", "河流地图", "温室",
            "黄色的电车", "水车", "一盒种子", "<year>年的目录", "印刷机", "雨水桶", "站台上的钟", "苹果树",
            "气压计", "<n>本地图册", "铁炉子", "<big>号机车",
        ),
        "where": (
            "港口附近", "车站后面", "阅览室里", "果园边上", "运河旁", "玻璃屋顶下", "<town>", "第<n>站台",
            "厨房窗前", "河岸上", "小路尽头", "工作间里", "水坝上游", "市场对面",
        ),
        "when": (
            "早饭以前", "雨停之后", "<h>点<mm>分", "<mo>月<d>日", "每个星期四", "<year>年春天", "深夜",
            "整整<n>分钟以来", "雾散的时候", "每周一次", "不慌不忙地", "天刚亮",
        ),
        "fact": (
            "雨下了<n>个小时，河水涨了<n>厘米", "开往<town>的火车<h>点<mm>分发车",
            "图书馆收藏了<big>册书和<n>张地图", "好汤要慢慢熬<n>分钟", "水泵每小时抽水<n5>升", "傍晚风向转北",
            "豆子播种后<n>天开花", "<town>的船闸建于<year>年", "最低气温是零下<x>.<x>度",
            "没有人知道梨树是谁种的", "小火烤出来的面包更香", "目录里有<n5>种关于桥梁的书",
            "指针停在百分之<n>", "铁轨上的雪一直到三月才化", "水清得可以数石头", "到塔顶要走<n5>级台阶",
            "末班电车上只有<n>位乘客", "上过油的轴承没有声音",
        ),
        "s": (
            "<when>，<who>在<where><does><what>。", "<who>在<where><does><what>。",
            "<who><does><what>，而<who><does><what>。", "<fact>。", "<fact>，但是<fact>。",
            "<name>说：“<fact>。”", "“<fact>，”<name>在<year>年写道，“<fact>。”",
            "为什么<who>要<does><what>呢？", "因为<fact>，所以没有人<does><what>。",
            "（见第<n5>页：<fact>。）", "总之，<fact>！", "虽然<fact>，<who>还是<does><what>。",
        ),
        "title": (
            "<town>笔记（<year>年<mo>月）", "<who>怎样<does><what>", "运河边的一年", "<name>的<n5>个菜谱",
            "<mo>月<d>日的天气与时刻表", "《<town>志》第<n>章",
        ),
        "item": (
            "面粉<n5>克", "<town>：<x>.<x>毫米", "<mo>月<d>日<h>点<mm>分：<fact>", "<who>（<where>）",
            "<where>没有新消息",
        ),
        "name": ("<family><given><given>", "<family><given>", "老<family>"),
        "family": ("林", "陈", "周", "吴", "郑", "何", "罗", "梁", "宋", "唐", "许", "沈", "韩", "冯", "曹"),
        "given": (
            "安", "雨", "明", "秋", "云", "山", "青", "书", "石", "禾", "宁", "川", "舟", "岚", "晴", "木",
            "远", "和",
        ),
        "town": ("<given><given>镇", "<given><given>桥", "<given>家渡"),
    },
    "ja": {
        "who": (
            "庭師", "図書館の司書", "駅長", "年老いた料理人", "渡し守", "若い技師", "時計屋", "隣の人",
            "水車小屋の主人", "小学校の先生", "<name>さん", "<town>から来た客", "パン屋", "橋の番人",
            "製本の職人", "気象観測員",
        ),
        "does": (
            "眺めている", "測っている", "思い出した", "写真に撮った", "描いている", "調べている", "点検した",
            "ほめていた", "掃除している", "探している", "紹介してくれた", "大切にしている", "塗り直した",
            "見守っている", "記録した",
        ),
        "what": (
            "銅のやかん", "細い橋", "古いポンプ", "長い本棚", "野菜畑", "真ちゅうの圧力計", "川の地図",
            "温室", "黄色い路面電車", "水車", "種の箱", "<year>年の目録", "印刷機", "雨水の樽",
            "ホームの時計", "りんごの木", "気圧計", "<n>冊の地図帳", "鉄のストーブ", "<big>号機関車",
        ),
        "where": (
            "港の近く", "駅の裏", "閲覧室", "果樹園のはずれ", "運河のそば", "ガラス屋根の下", "<town>",
            "<n>番ホーム", "台所の窓辺", "川岸", "小道の突き当たり", "作業場", "堰の上流", "市場の前",
        ),
        "when": (
            "朝食の前に", "雨が上がってから", "<h>時<mm>分に", "<mo>月<d>日に", "毎週木曜日", "<year>年の春",
            "夜遅く", "<n>分のあいだ", "霧が晴れると", "週に一度", "急がずゆっくりと", "夜明けごろ",
        ),
        "fact": (
            "雨が<n>時間降り続き、川の水位が<n>センチ上がった", "<town>行きの列車は<h>時<mm>分に出る",
            "図書館には<big>冊の本と<n>枚の地図がある", "おいしい出汁は<n>分かけて取る",
            "ポンプは毎時<n5>リットルの水をくみ上げる", "夕方から北風になった",
            "豆は種まきから<n>日で花が咲く", "<town>の水門は<year>年にできた",
            "最低気温は氷点下<x>.<x>度だった", "梨の木をだれが植えたのかはわからない",
            "弱火で焼くとパンがおいしくなる", "目録には橋の本が<n5>点のっている",
            "針は<n>パーセントを指している", "線路の雪は三月まで残った", "水がすんでいて石の数まで数えられる",
            "塔の上までは<n5>段ある", "終電の乗客は<n>人だけだった", "油をさした軸受けは音を立てない",
        ),
        "s": (
            "<when>、<who>は<where>で<what>を<does>。", "<who>は<where>で<what>を<does>。",
            "<who>が<what>を<does>ころ、<who>は<what>を<does>。", "<fact>。", "<fact>が、<fact>。",
            "<name>さんは「<fact>」と言った。", "「<fact>。<fact>。」と<name>さんは<year>年に書いている。",
            "なぜ<who>は<what>を<does>のだろうか？", "<fact>ので、<who>は<what>を<does>。",
            "（<n5>ページ参照：<fact>。）", "つまり、<fact>！",
        ),
        "title": (
            "<town>ノート（<year>年<mo>月）", "<who>と<what>", "運河のほとりの一年",
            "<name>さんの<n5>のレシピ", "<mo>月<d>日の天気と時刻表",
            "第<n>章　『<town>のウォーターホイール』",
        ),
        "item": (
            "小麦粉<n5>グラム", "<town>：<x>.<x>ミリ", "<mo>月<d>日<h>時<mm>分、<fact>", "<who>（<where>）",
            "<where>に変わりなし",
        ),
        "name": ("<hill><river>", "<hill><river><given>", "<given>"),
        "given": (
            "ハルカ", "ミナト", "ひなた", "そうた", "あおい", "ユイ", "けんじ", "さくら", "リョウ", "つむぎ",
        ),
        "hill": ("青", "北", "小", "高", "竹", "中", "西", "松", "水", "森", "石", "上"),
        "river": ("山", "川", "田", "原", "野", "沢", "島", "村", "橋", "谷"),
        "town": ("<hill><river>町", "<hill><river>駅", "<hill><river>村"),
    },
    "ko": {
        "who": (
            "정원사는", "도서관 사서는", "역장은", "나이 든 요리사는", "뱃사공은", "젊은 기술자는",
            "시계공은", "우리 이웃은", "방앗간 주인은", "초등학교 선생님은", "<name> 씨는",
            "<town>에서 온 손님은", "빵집 주인은", "다리 관리인은", "제본하는 사람은", "기상 관측원은",
        ),
        "does": (
            "바라본다", "잰다", "기억한다", "사진에 담는다", "그린다", "연구한다", "살펴본다", "칭찬한다",
            "닦는다", "찾는다", "소개한다", "아낀다", "칠한다", "지켜본다", "기록한다",
        ),
        "what": (
            "구리 주전자를", "좁은 다리를", "낡은 펌프를", "긴 책장을", "채소밭을", "황동 압력계를",
            "강의 지도를", "온실을", "노란 전차를", "물레방아를", "씨앗 상자를", "<year>년 목록을",
            "인쇄기를", "빗물 통을", "승강장 시계를", "사과나무를", "기압계를", "지도책 <n>권을",
            "무쇠 난로를", "<big>호 기관차를",
        ),
        "where": (
            "항구 근처에서", "역 뒤에서", "열람실에서", "과수원 가에서", "운하 옆에서", "유리 지붕 아래에서",
            "<town>에서", "<n>번 승강장에서", "부엌 창가에서", "강둑에서", "골목 끝에서", "작업실에서",
            "둑 위에서", "시장 앞에서",
        ),
        "when": (
            "아침을 먹기 전에", "비가 그친 뒤", "<h>시 <mm>분에", "<mo>월 <d>일에", "목요일마다",
            "<year>년 봄에", "밤늦게", "<n>분 동안", "안개가 걷히면", "일주일에 한 번", "서두르지 않고",
            "해 뜰 무렵",
        ),
        "fact": (
            "비가 <n>시간 동안 내려 강물이 <n>센티미터 불었다", "<town>행 기차는 <h>시 <mm>분에 떠난다",
            "도서관에는 책 <big>권과 지도 <n>장이 있다", "좋은 국물은 <n>분 동안 끓인다",
            "펌프는 한 시간에 물 <n5>리터를 퍼 올린다", "저녁부터 바람이 북풍으로 바뀌었다",
            "콩은 씨를 뿌린 지 <n>일 만에 꽃이 핀다", "<town>의 수문은 <year>년에 지어졌다",
            "최저 기온은 영하 <x>.<x>도였다", "배나무를 누가 심었는지 아무도 모른다",
            "약한 불에 구운 빵이 더 맛있다", "목록에는 다리에 관한 책이 <n5>종 실려 있다",
            "바늘은 <n>퍼센트를 가리킨다", "선로의 눈은 삼월까지 녹지 않았다", "물이 맑아서 돌을 셀 수 있다",
            "탑까지는 계단이 <n5>개 있다", "마지막 전차의 승객은 <n>명뿐이었다",
            "기름을 친 베어링은 소리가 나지 않는다",
        ),
        "s": (
            "<when> <who> <where> <what> <does>.", "<who> <where> <what> <does>.",
            "<who> <what> <does>. 그리고 <who> <when> <what> <does>.", "<fact>.", "<fact>. 하지만 <fact>.",
            "<name> 씨는 “<fact>.”라고 말했다.", "‘<fact>.’ <year>년 <mo>월의 기록이다.",
            "왜 <who> <when> <what> 찾을까?", "<fact>. 그래서 <who> <what> <does>.", "(<n5>쪽 참고: <fact>.)",
            "한마디로, <fact>!",
        ),
        "title": (
            "<town> 기록, <year>년 <mo>월", "운하 옆에서 보낸 한 해", "<name> 씨의 요리법 <n5>가지",
            "<mo>월 <d>일의 날씨와 시간표", "제<n>장: 물레방아",
        ),
        "item": (
            "밀가루 <n5>그램", "<town>: <x>.<x>mm", "<mo>월 <d>일 <h>시 <mm>분, <fact>",
            "<where> 새로운 소식 없음",
        ),
        "name": ("<family><given><given>", "<family><given><given>", "<given><given>"),
        "family": ("김", "이", "박", "최", "정", "강", "조", "윤", "장", "임", "한", "오", "서", "신"),
        "given": (
            "가", "나", "다", "라", "민", "서", "준", "하", "은", "유", "진", "지", "현", "수", "연", "솔",
            "빛", "람",
        ),
        "town": ("<given><given>리", "<given>산면", "<given><given>동"),
    },
    "ar": {
        "who": (
            "البستاني", "أمين المكتبة", "ناظر المحطة", "الطباخ العجوز", "صاحب القارب", "المهندس الشاب",
            "صانع الساعات", "جارنا", "الطحان", "المعلم", "<name>", "زائر من <town>", "الخباز", "حارس الجسر",
            "مجلّد الكتب", "مراقب الطقس",
        ),
        "does": (
            "يصف", "يقيس", "يتذكر", "يراقب", "يصوّر", "يرسم", "يدرس", "يفحص", "يمدح", "ينظف", "يعرف", "يصلح",
            "يدهن", "يذكر", "يحب",
        ),
        "what": (
            "الإبريق النحاسي", "الجسر الضيق", "المضخة القديمة", "الرف الطويل", "أحواض الخضار", "مقياس الضغط",
            "خريطة النهر", "البيت الزجاجي", "الترام الأصفر", "الناعورة", "صندوق البذور", "فهرس سنة <year>",
            "آلة الطباعة", "برميل المطر", "ساعة الرصيف", "شجرة التفاح", "البارومتر", "الأطالس الكبيرة",
            "الموقد الحديدي", "القاطرة رقم <big>",
        ),
        "where": (
            "قرب الميناء", "خلف المحطة", "في قاعة القراءة", "على طرف البستان", "بجانب القناة",
            "تحت السقف الزجاجي", "في <town>", "على الرصيف رقم <n>", "عند نافذة المطبخ", "على ضفة النهر",
            "في آخر الطريق", "في الورشة", "فوق السد", "أمام السوق",
        ),
        "when": (
            "قبل الفطور", "بعد المطر", "في الساعة <h>:<mm>", "في <d> <month>", "كل يوم خميس",
            "في ربيع <year>", "في آخر الليل", "منذ <n> دقيقة", "رغم الضباب", "مرة في الأسبوع", "بلا عجلة",
            "عند الفجر",
        ),
        "fact": (
            "استمر المطر <n> ساعة وارتفع ماء النهر", "يغادر القطار إلى <town> في الساعة <h>:<mm>",
            "في المكتبة <n> خريطة وكتب كثيرة", "يحتاج الحساء الجيد إلى <n> دقيقة",
            "تضخ المضخة <n> لترًا في الدقيقة", "تحولت الريح إلى الشمال مساءً", "يزهر الفول بعد <n> يومًا",
            "بُني السد في سنة <year>", "كانت أدنى درجة حرارة <x>٫<x>", "لا أحد يعرف من زرع شجرة الكمثرى",
            "الخبز في الفرن الهادئ ألذ", "في الفهرس <n> عنوانًا عن الجسور", "يشير العقرب إلى <n>٪",
            "بقي الثلج على السكة حتى <month>", "الماء صافٍ إلى حد أن الحصى يُعدّ", "إلى البرج <n> درجة",
            "كان في آخر ترام <n> راكبًا فقط", "الآلة المشحمة لا تصدر صوتًا", "رقم الصفحة ٤٢ والرقم التالي ٤٣",
        ),
        "s": (
            "<does> <who> <what> <where>.", "<when> <does> <who> <what> <where>.",
            "<does> <who> <what>، و<does> <who> <what> <when>.", "<fact>.", "<fact>، لكن الأمر بسيط: <fact>.",
            "قال <name>: «<fact>».", "«<fact>»؛ هكذا كتب <name> سنة <year>.",
            "لماذا <does> <who> <what> <when>؟", "لا <does> <who> <what> <where>؛ <fact>.",
            "(انظر الصفحة <n5>: <fact>.)", "باختصار: <fact>!",
        ),
        "title": (
            "دفتر <town>، <month> <year>", "كيف <does> <who> <what>", "سنة بجانب القناة",
            "وصفات <name>، العدد <n>", "الطقس والمواعيد يوم <d> <month>", "الفصل <n>: <what>",
        ),
        "item": (
            "طحين: <n5> غ", "<town>: <x>٫<x> مم", "<d> <month>، <h>:<mm>: <fact>", "<who> (<where>)",
            "لا جديد <where>",
        ),
        "name": ("<first>", "<first> ال<root>ي", "السيد <first> ال<root>ي"),
        "first": (
            "سمير", "عادل", "كريم", "نبيل", "هشام", "وليد", "ياسر", "فؤاد", "رشيد", "حسام", "جمال", "بشير",
        ),
        "root": ("نهر", "جبل", "بحر", "ورد", "نخل", "حجر", "سهل", "قمر", "كرم", "غرب"),
        "town": ("وادي ال<root>", "عين ال<root>", "تل ال<root>"),
        "month": (
            "يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو", "يوليو", "أغسطس", "سبتمبر", "أكتوبر",
            "نوفمبر", "ديسمبر",
        ),
    },
    "hi": {
        "who": (
            "माली", "पुस्तकालय का कर्मचारी", "स्टेशन मास्टर", "बूढ़ा रसोइया", "नाविक", "युवा इंजीनियर",
            "घड़ीसाज़", "हमारा पड़ोसी", "चक्की का मालिक", "अध्यापक", "<name>", "<town> से आया मेहमान",
            "नानबाई", "पुल का चौकीदार", "जिल्दसाज़", "मौसम का जानकार",
        ),
        "does": (
            "देखता है", "नापता है", "याद करता है", "ध्यान से जाँचता है", "कागज़ पर उतारता है",
            "पढ़ने वालों को दिखाता है", "साफ़ करता है", "खोजता है", "पसंद करता है", "सँभालकर रखता है",
            "रँगता है", "बार-बार ठीक करता है", "नहीं भूलता है", "पहचानता है",
        ),
        "what": (
            "ताँबे की केतली को", "सँकरे पुल को", "पुराने पंप को", "लंबी अलमारी को", "सब्ज़ी की क्यारियों को",
            "पीतल के मीटर को", "नदी के नक्शे को", "काँच के घर को", "पीली ट्राम को", "पनचक्की को",
            "बीजों के डिब्बे को", "सन <year> की सूची को", "छपाई की मशीन को", "बारिश के पानी की टंकी को",
            "प्लेटफ़ॉर्म की घड़ी को", "सेब के पेड़ को", "बैरोमीटर को", "<n> किताबों को", "लोहे के चूल्हे को",
            "इंजन संख्या <big> को",
        ),
        "where": (
            "बंदरगाह के पास", "स्टेशन के पीछे", "वाचनालय में", "बाग़ के किनारे", "नहर के बगल में",
            "काँच की छत के नीचे", "<town> में", "प्लेटफ़ॉर्म <n> पर", "रसोई की खिड़की पर", "नदी के तट पर",
            "गली के अंत में", "कारख़ाने में", "बाँध के ऊपर", "बाज़ार के सामने",
        ),
        "when": (
            "नाश्ते से पहले", "बारिश के बाद", "<h>:<mm> बजे", "<d> <month> को", "हर गुरुवार को",
            "सन <year> के वसंत से", "देर रात", "<n> मिनट तक", "कोहरा छँटते ही", "सप्ताह में एक बार",
            "बिना जल्दी किए", "सूर्योदय के समय",
        ),
        "fact": (
            "<n> घंटे तक बारिश हुई और नदी का पानी <n> सेंटीमीटर बढ़ गया",
            "<town> जाने वाली गाड़ी <h>:<mm> बजे छूटती है", "पुस्तकालय में <big> किताबें और <n> नक्शे हैं",
            "अच्छा शोरबा <n> मिनट तक पकता है", "पंप एक घंटे में <n5> लीटर पानी खींचता है",
            "शाम को हवा उत्तर की ओर मुड़ गई", "सेम में <n> दिन बाद फूल आते हैं",
            "<town> का बाँध सन <year> में बना था", "सबसे कम तापमान <x>.<x> डिग्री था",
            "कोई नहीं जानता कि नाशपाती का पेड़ किसने लगाया", "धीमी आँच पर रोटी अच्छी बनती है",
            "सूची में पुलों के बारे में <n5> पुस्तकें हैं", "सुई <n> प्रतिशत पर है",
            "पटरी पर बर्फ़ मार्च तक रही", "पानी इतना साफ़ है कि पत्थर गिने जा सकते हैं",
            "मीनार तक <n5> सीढ़ियाँ हैं", "आख़िरी ट्राम में केवल <n> यात्री थे",
            "तेल लगी मशीन आवाज़ नहीं करती",
        ),
        "s": (
            "<when> <who> <where> <what> <does>।", "<who> <where> <what> <does>।",
            "<who> <what> <does> और <who> <what> <does>।", "<fact>।", "<fact>, लेकिन <fact>।",
            "<name> ने कहा, “<fact>।”", "“<fact>,” यह बात <name> ने सन <year> में लिखी थी।",
            "क्या <who> <when> <what> <does>?", "<fact>, इसलिए <who> <what> <does>।",
            "(पृष्ठ <n5> देखें: <fact>।)", "संक्षेप में, <fact>!",
        ),
        "title": (
            "<town> की डायरी, <month> <year>", "<who> और उसका काम", "नहर के किनारे एक साल",
            "<name> के <n5> व्यंजन", "<d> <month> का मौसम और समय-सारणी", "अध्याय <n>: पनचक्की",
            "अंक १२३: वर्षा और ऋतु",
        ),
        "item": (
            "आटा <n5> ग्राम", "<town>: <x>.<x> मिमी", "<d> <month>, <h>:<mm>: <fact>", "<who> (<where>)",
            "<where> कुछ नया नहीं",
        ),
        "name": ("<first>", "<first> <root>कर", "श्री <first>"),
        "first": (
            "अर्जुन", "दीपक", "गोपाल", "हरीश", "किशोर", "मोहन", "नरेश", "प्रकाश", "राघव", "सुरेश", "विनोद",
            "आनंद",
        ),
        "root": ("वन", "जल", "गिरि", "शांति", "कमल", "चंदन", "नील", "राज", "सुर", "ताम्र"),
        "town": ("<root>पुर", "<root>नगर", "<root>गढ़"),
        "month": (
            "जनवरी", "फ़रवरी", "मार्च", "अप्रैल", "मई", "जून", "जुलाई", "अगस्त", "सितंबर", "अक्टूबर", "नवंबर",
            "दिसंबर",
        ),
    },
}
