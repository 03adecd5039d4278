/* proto.c - the pieces of a SentencePiece model file, read where they lie
 *
 *     0A n [ 0A n piece | 15 score | 18 type ]     a piece: its three fields in any order; the score is a float32
 *     12 n [ trainer_spec ]
 *     1A n [ normalizer_spec ] ...                 other fields, all with a length: the rest
 *
 * Numbers are varints. Only what SentencePiece writes is read, and refused where it is longer than need be; of a field
 * that occurs twice in a piece the last counts, and without a type it is NORMAL, as in protobuf.
 */

#include "ground/common.h"
#include "structures/distinct.h"

#define LENGTH_DIGITS_MAX 4 /* of a varint: lengths below 2^28 */

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

/* The next bytes, whose number the varint before them gives; 0: malformed. */
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

typedef struct piece_fields {
    cursor text;
    float score;
    uint8_t type;
} piece_fields;

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
        } else if (tag == 0x18 && c.at < c.end && *c.at >= UNITOK_PIECE_NORMAL && *c.at <= UNITOK_PIECE_BYTE) {
            ret->type = *c.at++;
        } else {
            return 0;
        }
    }
    return ret->text.at < ret->text.end;
}

/* A field of the file that is no piece: its tag has one byte or two, and it has a length. */
static int skip_field(cursor *c)
{
    cursor value;
    uint32_t tag = *c->at++;
    if (tag & 0x80 && (c->at == c->end || *c->at & 0x80)) return 0;
    if (tag & 0x80) tag = (tag & 0x7F) | (uint32_t)*c->at++ << 7;
    return tag >> 3 && (tag & 7) == 2 && take_bytes(c, &value);
}

int64_t unitok_proto_read(const uint8_t *bytes, int64_t n_bytes, uint8_t *pieces, int64_t *offsets, float *scores,
                          uint8_t *types, uint8_t *rest, int64_t *ret_n_rest_bytes)
{
    cursor c = {bytes, bytes + n_bytes};
    int64_t n = 0, n_rest = 0;
    offsets[0] = 0;
    while (c.at < c.end) {
        const uint8_t *begin = c.at;
        cursor inside;
        piece_fields piece;
        if (*c.at != 0x0A) {
            if (!skip_field(&c)) return -1;
            memcpy(rest + n_rest, begin, (size_t)(c.at - begin));
            n_rest += c.at - begin;
            continue;
        }
        c.at++;
        if (!take_bytes(&c, &inside) || !read_piece(inside, &piece)) return -1;
        int64_t length = piece.text.end - piece.text.at;
        memcpy(pieces + offsets[n], piece.text.at, (size_t)length);
        scores[n] = piece.score;
        types[n] = piece.type;
        offsets[n + 1] = offsets[n] + length;
        n++;
    }
    *ret_n_rest_bytes = n_rest;
    distinct_table table;
    distinct found = distinct_build(pieces, offsets, n, &table);
    distinct_free(&table);
    return found == DISTINCT_YES ? n : found == DISTINCT_MAYBE ? -1 : -2;
}
