/* fuzz_text_model.c - a libFuzzer target: from arbitrary bytes, builds a model that encodes text,
 * saves it, opens it again and calls every function on it
 *
 * The input: u8 n, n changes to the image (u16 position, u8 new value), then the model's stream
 * (text_models.h). A position of 0x8000 or more is in the header, which contains the kind, flags
 * and sizes; other positions are taken modulo the image's size. The library's caller verifies the
 * checksum, so the target does not update it. The last 200 bytes of the input are also the text. */
#include "text_models.h"
#include "models.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t n_input_bytes)
{
    static struct text_model t;
    struct bytes in = {input, input + n_input_bytes}, changes = in;
    unitok_model *m = NULL;
    running = "fuzz_text_model";
    int n_changes = next_byte(&in) % 16;
    for (int k = 0; k < 3 * n_changes; k++) next_byte(&in);
    text_model_read(&t, &in);
    if (build_complete(&t.spec, 0, UNITOK_CPU_AUTO, &m, NULL)) return 0;
    int64_t n_text = n_input_bytes < 200 ? (int64_t)n_input_bytes : 200,
            n_bytes = unitok_model_save(m, NULL, 0);
    uint8_t *text = malloc((size_t)n_text + 1), *image = malloc((size_t)n_bytes);
    memcpy(text, input + n_input_bytes - n_text, (size_t)n_text);
    CHECK(use_text_model(m, text, n_text));
    CHECK(unitok_model_save(m, image, n_bytes) == n_bytes);
    unitok_model_free(m);
    next_byte(&changes);
    for (int k = 0; k < n_changes; k++) {
        int64_t place = next_byte(&changes) << 8;
        place |= next_byte(&changes);
        image[place & 0x8000 ? 8 + place % 64 : place % n_bytes] = next_byte(&changes);
    }
    m = NULL;
    int32_t status = load_complete(image, n_bytes, 0, UNITOK_CPU_PORTABLE, &m, NULL);
    CHECK((status == UNITOK_OK) == (m != NULL) && (n_changes || !status));
    if (m) CHECK(use_text_model(m, text, n_text));
    unitok_model_free(m);
    free(image);
    free(text);
    return 0;
}
