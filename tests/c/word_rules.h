/* word_rules.h - small word rules: ASCII letters and digits, ignoring case; U+00DF folds to ss,
 * U+0301 is a mark, and each character from U+3042 to U+3093 is a word */
#pragma once

#include <string.h>

#include "unitok_clean.h"

static inline int32_t toy_word_rules(unitok_word_rules **ret, unitok_error *error)
{
    static uint8_t classes[UNITOK_WORD_CODE_POINTS];
    static uint32_t folds[UNITOK_WORD_CODE_POINTS];
    static const uint32_t longer[3] = {'s', 's', 0};
    memset(classes, UNITOK_WORD_NONE, sizeof classes);
    for (uint32_t c = 0; c < UNITOK_WORD_CODE_POINTS; c++) {
        int is_upper = c >= 'A' && c <= 'Z';
        folds[c] = is_upper ? c | 0x20 : c;
        if (is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            classes[c] = UNITOK_WORD_JOINED;
        if (c >= 0x3042 && c <= 0x3093) classes[c] = UNITOK_WORD_ALONE;
    }
    classes[0xDF] = UNITOK_WORD_JOINED;
    folds[0xDF] = UNITOK_WORD_CODE_POINTS;
    classes[0x301] = UNITOK_WORD_MARK;
    return unitok_word_rules_new(classes, folds, longer, 1, 7, ret, error);
}
