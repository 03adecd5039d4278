/* test_nfc.c - unitok_nfc_is_sure before a guard page, wide steps against one character at a time
 */
#define _DEFAULT_SOURCE
#include "check.h"
#include "ground/common.h"
#include "guard.h"
#include "random.h"

#define MAX_BYTES 120

/* Characters, the first N_SURE of which are sure beside any of them. */
#define N_SURE 6
static const char *const characters[] = {
    "a",
    "\n",
    "\xC3\xA9",
    "\xC5\x81",
    "\xE4\xB8\xAD",
    "\xF0\x9F\x98\x80",
    "\xCC\x81" /* joins */,
    "\xE0\xA5\x98" /* falls apart */,
    "\xE1\x84\x80\xE1\x85\xA1" /* joins to one */,
    "\xCE\x87" /* becomes another */,
};
#define N_CHARACTERS (int)(sizeof characters / sizeof *characters)

static void test_characters(struct guard *in)
{
    uint8_t text[MAX_BYTES + 8];
    size_t n = 0, length = random_u64() % MAX_BYTES;
    int is_sure = 1, any = random_u64() % 2 ? N_SURE : N_CHARACTERS;
    while (n < length) {
        int k = random_u64() % 8 ? (int)(random_u64() % 3) : (int)(random_u64() % (uint64_t)any);
        memcpy(text + n, characters[k], strlen(characters[k]));
        n += strlen(characters[k]);
        is_sure &= k < N_SURE;
    }
    CHECK(unitok_nfc_is_sure(guard_copy(in, text, n), (int64_t)n) == is_sure);
    /* Cut anywhere, even in a character, nothing is read beyond. */
    size_t part = n ? random_u64() % n : 0;
    int part_is_sure = unitok_nfc_is_sure(guard_copy(in, text, part), (int64_t)part);
    CHECK(part_is_sure == 0 || part_is_sure == 1);
}

static void test_bytes(struct guard *in)
{
    uint8_t text[MAX_BYTES];
    size_t n = random_u64() % MAX_BYTES;
    for (size_t i = 0; i < n; i++)
        text[i] = (uint8_t)(random_u64() % 3 ? random_u64() : 0xE0 + random_u64() % 16);
    (void)unitok_nfc_is_sure(guard_copy(in, text, n), (int64_t)n);
}

int main(void)
{
    random_start(2026);
    struct guard in = guard_new(MAX_BYTES + 8);
    for (round_ = 0; round_ < 20000; round_++) {
        test_characters(&in);
        test_bytes(&in);
    }
    guard_free(&in);
    printf("nfc: 20000 rounds\n");
    return 0;
}
