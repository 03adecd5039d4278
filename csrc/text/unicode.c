/* unicode.c - looks up properties in unicode_table.h
 *
 *     category_runs    │ 0 │ Cc │ 0x20 │ Zs │ 0x21 │ Po │ …      first code point << 5 | category
 *     property "P"     a mask with a bit for each of Pc, Pd, Ps, Pe, Pi, Pf, Po
 *     its set          the runs of the categories in the mask, with adjacent runs joined
 *
 * Only the properties that patterns of real models use are supported; the tables are generated, so
 * a script is added in tools/unicode_table.py and here. Sets are built anew for each use, because
 * patterns are compiled once per model. */

#include "text/unicode.h"

#include "ground/alloc.h"
#include "text/unicode_table.h"

/* The general categories, in the order of the numbers in category_runs. */
static const char CATEGORIES[][3] = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
};
enum { N_CATEGORIES = sizeof CATEGORIES / sizeof *CATEGORIES };
enum { N_RUNS = sizeof category_runs / sizeof *category_runs };

/* The long names of categories; the short names are those in CATEGORIES, or their first letters. */
static const struct {
    const char *name, *categories;
} LONG_NAMES[] = {
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"digit", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"openpunctuation", "Ps"},
    {"closepunctuation", "Pe"},
    {"initialpunctuation", "Pi"},
    {"finalpunctuation", "Pf"},
    {"otherpunctuation", "Po"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"other", "C"},
    {"control", "Cc"},
    {"format", "Cf"},
    {"privateuse", "Co"},
    {"unassigned", "Cn"},
};

#define BORDERS(array) array, sizeof array / sizeof *(array)
static const struct {
    const char *name;
    const uint32_t *borders;
    int32_t n_borders;
} TABLES[] = {
    {"han", BORDERS(script_han)},           {"hiragana", BORDERS(script_hiragana)},
    {"katakana", BORDERS(script_katakana)}, {"hangul", BORDERS(script_hangul)},
    {"latin", BORDERS(script_latin)},       {"greek", BORDERS(script_greek)},
    {"cyrillic", BORDERS(script_cyrillic)}, {"arabic", BORDERS(script_arabic)},
    {"hebrew", BORDERS(script_hebrew)},     {"devanagari", BORDERS(script_devanagari)},
    {"thai", BORDERS(script_thai)},         {"hfpunctuation", BORDERS(hf_punctuation)},
};

/* Returns the categories named `name`, one bit each: "Lu" is one category, and "L" is all
 * categories that begin with L. */
static uint32_t category_mask(const char *name)
{
    uint32_t mask = 0;
    for (int k = 0; k < N_CATEGORIES; k++) {
        const char *category = CATEGORIES[k];
        int is_first = (name[0] | 0x20) == (category[0] | 0x20);
        if (is_first && (!name[1] || (name[1] == category[1] && !name[2]))) mask |= 1u << k;
    }
    return mask;
}

/* Adds the characters of these categories. Each run contributes at most one border, at its
 * beginning. */
static int add_categories(char_set *set, uint32_t mask)
{
    char_set added = {0};
    added.capacity = N_RUNS + 1;
    added.borders = mem_alloc((size_t)added.capacity * sizeof *added.borders);
    if (!added.borders) return 0;
    uint32_t is_member = 0;
    for (int k = 0; k < N_RUNS; k++) {
        uint32_t is_next = mask >> (category_runs[k] & 31) & 1;
        if (is_next != is_member) added.borders[added.n_borders++] = category_runs[k] >> 5;
        is_member = is_next;
    }
    if (is_member) added.borders[added.n_borders++] = CODE_POINTS;
    int ok = char_set_combine(set, &added, CHAR_SET_UNION);
    char_set_free(&added);
    return ok;
}

/* White_Space is category Z and these controls. Unicode guarantees that this will not change. */
int unicode_white_space(char_set *ret)
{
    return add_categories(ret, category_mask("Z")) && char_set_add(ret, 0x09, 0x0D) &&
           char_set_add(ret, 0x85, 0x85);
}

int unicode_digits(char_set *ret) { return add_categories(ret, category_mask("Nd")); }

/* Alphabetic is L, Nl, the circled letters, and marks. The circled letters are in category So, but
 * have the property Other_Alphabetic. The differences between the engines are listed in
 * unicode.h. */
int unicode_word(enum unicode_word which, char_set *ret)
{
    static const uint32_t LATIN_1[] = {0xB2, 0xB4, 0xB9, 0xBA, 0xBC, 0xBF},
                          JOINERS[] = {0x200C, 0x200E},
                          CIRCLED[] = {0x24B6,  0x24EA,  0x1F130, 0x1F14A,
                                       0x1F150, 0x1F16A, 0x1F170, 0x1F18A};
    char_set circled = char_set_over(BORDERS(CIRCLED)), more = {0};
    if (which == WORD_ONIG) more = char_set_over(BORDERS(LATIN_1));
    if (which == WORD_RUST) more = char_set_over(BORDERS(JOINERS));
    uint32_t mask = category_mask("L") | category_mask("M") | category_mask("Nd") |
                    category_mask("Nl") | category_mask("Pc");
    return add_categories(ret, mask) && char_set_combine(ret, &circled, CHAR_SET_UNION) &&
           char_set_combine(ret, &more, CHAR_SET_UNION);
}

/* Rust's char::is_numeric includes some digits that are not in onig's N, since its Unicode is
 * newer. */
static int add_hf_numeric(char_set *ret)
{
    return add_categories(ret, category_mask("N")) && char_set_add(ret, 0x11DE0, 0x11DE9) &&
           char_set_add(ret, 0x16FF4, 0x16FF6);
}

/* The name is normalized to lower case without separators, so that "Uppercase_Letter", "uppercase
 * letter" and "UppercaseLetter" are one key. No known name is as long as `key`. */
enum unicode_status unicode_property(const uint8_t *name, int64_t n, char_set *ret)
{
    char key[32];
    int length = 0;
    for (int64_t i = 0; i < n; i++) {
        if (name[i] == ' ' || name[i] == '_' || name[i] == '-') continue;
        if (length + 1 >= (int)sizeof key) return UNICODE_NO_PROPERTY;
        key[length++] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    }
    key[length] = 0;
    if (!strcmp(key, "whitespace") || !strcmp(key, "space"))
        return unicode_white_space(ret) ? UNICODE_OK : UNICODE_NO_MEMORY;
    if (!strcmp(key, "hfnumeric")) return add_hf_numeric(ret) ? UNICODE_OK : UNICODE_NO_MEMORY;
    for (size_t k = 0; k < sizeof TABLES / sizeof *TABLES; k++) {
        if (strcmp(key, TABLES[k].name)) continue;
        char_set table = char_set_over(TABLES[k].borders, TABLES[k].n_borders);
        return char_set_combine(ret, &table, CHAR_SET_UNION) ? UNICODE_OK : UNICODE_NO_MEMORY;
    }
    const char *categories = key;
    for (size_t k = 0; k < sizeof LONG_NAMES / sizeof *LONG_NAMES; k++)
        if (!strcmp(key, LONG_NAMES[k].name)) categories = LONG_NAMES[k].categories;
    uint32_t mask = length ? category_mask(categories) : 0;
    if (!mask) return UNICODE_NO_PROPERTY;
    return add_categories(ret, mask) ? UNICODE_OK : UNICODE_NO_MEMORY;
}
