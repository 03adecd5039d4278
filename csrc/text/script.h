/* script.h - the Unicode script of a code point, for trainers that separate scripts
 *
 * The scripts are those of Unicode 9.0, except that Hiragana, Katakana and the long vowel sign
 * count as Han, as in sentencepiece 0.2.3. Code points that Unicode 9.0 does not assign are Common.
 */
#pragma once

#include "ground/common.h"

#define SCRIPT_COMMON 0
/* combining marks: they take the script of the preceding character */
#define SCRIPT_INHERITED 1
#define SCRIPT_HAN 2
#define SCRIPT_CODE_POINTS 0x110000

/* Fills scripts[0..SCRIPT_CODE_POINTS-1]. */
void script_fill(uint8_t *scripts);
