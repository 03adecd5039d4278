/* proto.c - reads the pieces of a SentencePiece model file in place
 *
 *     0A n [ 0A n piece | 15 score | 18 type ]     a piece: its three fields in any order; the score is a float32
 *     12 n [ trainer_spec ]
 *     1A n [ ... | 12 n charsmap | ... ]           normalizer_spec: contains the charsmap; the
 *                                                  other fields go to `rest`
 *     ...                                          other fields, each with a length: go to `rest`
 *
 * Numbers are varints. The reader accepts only the layout that SentencePiece writes and rejects
 * varints that are longer than necessary. As in protobuf, the last occurrence of a field in a piece
 * counts, and a piece without a type is NORMAL.
 *
 * Only the pieces, which are nearly all of the file, are read here. Everything else, except the
 * charsmap, is written to `rest`, a small protobuf message for the general parser. So only one
 * implementation reads those fields, and this reader may reject any unusual layout: then protobuf
 * parses the complete file.
 *
 * The piece "▁a" with the score -2, for example:
 *
 *     0A 0B                        field 1 of the file, 11 bytes
 *        0A 04  E2 96 81 61        its field 1: the text
 *        15     00 00 00 C0        its field 2: the score; field 3 is left out, so the piece is NORMAL
 */

#include <math.h>

#include "ground/common.h"
#include "structures/distinct.h"
#include "structures/vocabulary.h"

#define LENGTH_DIGITS_MAX 4 /* bytes of a varint, so lengths are below 2^28 */

/* A range of bytes that is being read; `at` moves to `end`. */
typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

/* Reads a varint and then that many bytes; 0: malformed. The limit, which is below protobuf's,
 * keeps a length from overflowing; no field of a real file comes near it. */
static int take_bytes(cursor *c, cursor *ret)
{
    int64_t length = 0;
    for (int k = 0; k < LENGTH_DIGITS_MAX && c->at < c->end; k++) {
        uint8_t digit = *c->at++;
        length |= (int64_t)(digit & 0x7F) << 7 * k;
        if (digit & 0x80) continue;
        if (length > c->end - c->at) return 0;
        *ret = (cursor){c->at, c->at + length};
        c->at += length;
        return 1;
    }
    return 0;
}

/* The fields of a piece that the library uses; `text` points into the file. */
typedef struct piece_fields {
    cursor text;
    float score;
    uint8_t type;
} piece_fields;

/* The tags are one byte each: field number << 3 | wire type. So 0A is field 1, with a length; 15 is
 * field 2, four bytes; and 18 is field 3, a varint. Any other tag is rejected. */
static int read_piece(cursor c, piece_fields *ret)
{
    *ret = (piece_fields){{c.end, c.end}, 0, UNITOK_PIECE_NORMAL};
    while (c.at < c.end) {
        uint8_t tag = *c.at++;
        if (tag == 0x0A) {
            if (!take_bytes(&c, &ret->text)) return 0;
        } else if (tag == 0x15 && c.end - c.at >= 4) {
            memcpy(&ret->score, c.at, 4);
            c.at += 4;
        } else if (tag == 0x18 && c.at < c.end && *c.at >= UNITOK_PIECE_NORMAL &&
                   *c.at <= UNITOK_PIECE_BYTE) {
            ret->type = *c.at++;
        } else {
            return 0;
        }
    }
    return ret->text.at < ret->text.end;
}

/* Counts piece k; returns 0 if SentencePiece would not write it. A NUL in a piece would end it
 * early in other readers, and two unknown pieces have no meaning. */
static int count_piece(const piece_fields *piece, int64_t k, unitok_proto *ret)
{
    size_t n_bytes = (size_t)(piece->text.end - piece->text.at);
    if (n_bytes > UNITOK_PROTO_PIECE_BYTES_MAX || memchr(piece->text.at, 0, n_bytes)) return 0;
    if (!isfinite(piece->score)) ret->is_finite = 0;
    if (piece->type == UNITOK_PIECE_UNKNOWN) {
        if (ret->unknown_id >= 0) return 0;
        ret->unknown_id = k;
    } else if (piece->type == UNITOK_PIECE_BYTE) {
        if (vocabulary_byte(piece->text.at, (int64_t)n_bytes) < 0) return 0;
        ret->n_byte_pieces++;
    } else if (piece->type != UNITOK_PIECE_CONTROL) {
        ret->has_texts = 1;
    }
    return 1;
}

/* Skips a field of the file other than a piece: a tag of one or two bytes, and a length. Field
 * numbers of two bytes occur in extensions. No other wire type occurs at this level. */
static int skip_field(cursor *c)
{
    cursor value;
    uint32_t tag = *c->at++;
    if (tag & 0x80 && (c->at == c->end || *c->at & 0x80)) return 0;
    if (tag & 0x80) tag = (tag & 0x7F) | (uint32_t)*c->at++ << 7;
    return tag >> 3 && (tag & 7) == 2 && take_bytes(c, &value);
}

/* Finds the charsmap in a normalizer_spec, and the field around it; both are empty if there is
 * none. Returns 0 if the spec is malformed or contains two charsmaps, which would have to be
 * merged: protobuf can do this, but this reader does not. Varints are skipped byte by byte. */
static int find_charsmap(cursor c, cursor *ret_field, cursor *ret)
{
    *ret = *ret_field = (cursor){c.end, c.end};
    while (c.at < c.end) {
        const uint8_t *begin = c.at;
        uint8_t tag = *c.at++;
        cursor value;
        if (tag & 0x80) return 0;
        if ((tag & 7) == 0) {
            while (c.at < c.end && *c.at & 0x80) c.at++;
            if (c.at++ == c.end) return 0;
        } else if ((tag & 7) != 2 || !take_bytes(&c, &value)) {
            return 0;
        } else if (tag == 0x12) {
            if (ret_field->at < ret_field->end) return 0;
            *ret_field = (cursor){begin, c.at};
            *ret = value;
        }
    }
    return 1;
}

/* Copies a range and returns where the next one goes. Even empty ranges have a valid pointer,
 * because memcpy requires one. */
static uint8_t *put(uint8_t *out, const uint8_t *begin, const uint8_t *end)
{
    memcpy(out, begin, (size_t)(end - begin));
    return out + (end - begin);
}

/* Writes a normalizer_spec without its charsmap. Returns NULL if the layout is unusual. The spec is
 * shorter without the charsmap, so the tag and a new length are written before the remaining
 * fields. */
static uint8_t *put_normalizer(cursor spec, const uint8_t *file, uint8_t *out, unitok_proto *ret)
{
    cursor field, charsmap;
    if (!find_charsmap(spec, &field, &charsmap)) return NULL;
    if (field.at < field.end) {
        if (ret->charsmap_at) return NULL; /* found in an earlier normalizer_spec */
        ret->charsmap_at = charsmap.at - file;
        ret->n_charsmap_bytes = charsmap.end - charsmap.at;
    }
    *out++ = 0x1A;
    int64_t length = (spec.end - spec.at) - (field.end - field.at);
    for (; length >= 0x80; length >>= 7) *out++ = (uint8_t)(length | 0x80);
    *out++ = (uint8_t)length;
    return put(put(out, spec.at, field.at), field.end, spec.end);
}

/* One pass over the file: each field is either a piece, whose fields go to the arrays, or is copied
 * to `rest`. Returns the number of pieces, -1 if protobuf must decide, or -2 if two pieces are
 * equal. */
int64_t unitok_proto_read(const uint8_t *bytes, int64_t n_bytes, uint8_t *pieces, int64_t *offsets,
                          float *scores, uint8_t *types, uint8_t *rest, unitok_proto *ret)
{
    cursor c = {bytes, bytes + n_bytes};
    uint8_t *out = rest;
    int64_t n = 0;
    *ret = (unitok_proto){.unknown_id = -1, .is_finite = 1};
    offsets[0] = 0;
    while (c.at < c.end) {
        const uint8_t *begin = c.at;
        cursor inside;
        piece_fields piece;
        /* Everything except pieces is copied; the normalizer's spec is copied without its
         * charsmap. */
        if (*c.at != 0x0A) {
            int is_normalizer = *c.at == 0x1A;
            if (!skip_field(&c)) return -1;
            if (is_normalizer) {
                cursor field = {begin + 1, c.at}, spec;
                if (!take_bytes(&field, &spec)) return -1;
                out = put_normalizer(spec, bytes, out, ret);
                if (!out) return -1;
            } else {
                out = put(out, begin, c.at);
            }
            continue;
        }
        c.at++;
        if (!take_bytes(&c, &inside) || !read_piece(inside, &piece) || !count_piece(&piece, n, ret))
            return -1;
        int64_t length = piece.text.end - piece.text.at;
        memcpy(pieces + offsets[n], piece.text.at, (size_t)length);
        scores[n] = piece.score;
        types[n] = piece.type;
        offsets[n + 1] = offsets[n] + length;
        n++;
    }
    ret->n_rest_bytes = out - rest;
    distinct found = distinct_check(pieces, offsets, n);
    return found == DISTINCT_YES ? n : found == DISTINCT_MAYBE ? -1 : -2;
}
