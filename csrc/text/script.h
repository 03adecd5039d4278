/* script.h - the Unicode script of a code point, for trainers that keep scripts apart
 *
 * The scripts are those of Unicode 9.0 with Hiragana, Katakana and the long vowel sign counted as
 * Han, as sentencepiece 0.2.3 has them. What 9.0 did not assign is Common.
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
