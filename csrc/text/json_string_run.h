/* json_string_run.h - reads JSON strings, BLOCK bytes at a time; included once for each level
 *
 * A string consists of text, escapes, control characters (which are errors) and the closing quote.
 * Text is copied in blocks until a block contains something else; the next block begins after that.
 * Decoding never makes text longer: even \uXXXX, six bytes, becomes at most three. So if BLOCK
 * bytes can be read, they can also be stored.
 *
 *     in    " T h e   q u i c k \ n b r o w n   f o x . "
 *             ╰── block: 0001 at \ ──╯
 *                                 ╰── next block: 0001 at " ──╯
 *
 * Parameters:
 *
 *     LEVEL(name)                   the names of this level's functions
 *     LEVEL_TARGET                  the attribute that its functions need, or nothing
 *     BLOCK                         8..64
 *     SPECIALS(in, out, high)       copies BLOCK bytes from in to out, unless out is NULL; makes *high nonzero if one of them
 *                                   is not ASCII; returns nonzero if one is a quote, a backslash or below 0x20
 *     FIRST(specials)               the index of the first of those
 */

/* A block is stored before it is known whether all of it is text; later text overwrites the rest.
 * The common escapes of two bytes are replaced here; json_escapes_take reads the others. */
LEVEL_TARGET static void LEVEL(take)(const uint8_t *in, int64_t n, uint8_t *out, json_string *ret)
{
    int64_t i = 1, o = 0;
    uint64_t high = 0;
    memset(ret, 0, sizeof *ret);
    for (;;) {
        while (n - i >= BLOCK) {
            uint64_t specials = SPECIALS(in + i, out + o, &high);
            if (specials) {
                i += FIRST(specials);
                o += FIRST(specials);
                break;
            }
            i += BLOCK;
            o += BLOCK;
        }
        if (i >= n) break;
        uint8_t c = in[i];
        if (c == '"') {
            ret->n_bytes = i + 1;
            ret->n_out = o;
            ret->any_high = high != 0;
            return;
        }
        if (c == '\\' && n - i > 1 && json_short_escapes[in[i + 1]]) {
            out[o++] = json_short_escapes[in[i + 1]];
            i += 2;
        } else if (c == '\\') {
            int64_t n_out = ret->n_out;
            int64_t length = json_escapes_take(in + i, n - i, i, out + o, ret);
            if (length == 0) return;
            i += length;
            o += ret->n_out - n_out;
        } else if (c < 0x20) {
            break;
        } else { /* near the end of the input */
            high |= c & 0x80;
            out[o++] = c;
            i++;
        }
    }
    json_string_fail(in, n, i, ret);
}

/* Like take, but writes nothing. Escapes are still checked. */
LEVEL_TARGET static void LEVEL(skip)(const uint8_t *in, int64_t n, json_string *ret)
{
    int64_t i = 1;
    uint64_t high = 0;
    memset(ret, 0, sizeof *ret);
    for (;;) {
        while (n - i >= BLOCK) {
            uint64_t specials = SPECIALS(in + i, NULL, &high);
            if (specials) {
                i += FIRST(specials);
                break;
            }
            i += BLOCK;
        }
        if (i >= n) break;
        uint8_t c = in[i];
        if (c == '"') {
            ret->n_bytes = i + 1;
            return;
        }
        if (c == '\\') {
            int64_t length = json_escapes_take(in + i, n - i, i, NULL, ret);
            if (length == 0) return;
            i += length;
        } else if (c < 0x20) {
            break;
        } else {
            i++;
        }
    }
    json_string_fail(in, n, i, ret);
}
