/* SPDX-License-Identifier: BSD-3-Clause */
/* After memory was unregistered no put in flight writes to it, and no get in
 * flight returns what was written later. */
#include <stdlib.h>
#include <string.h>

#include "harness_bulk.h"

enum { ROUNDS = 12, ACCESSES = 6, LEN = 3 << 20, LATER = 0x5a };

static bool is_all(const uint8_t *bytes, size_t len, uint8_t value)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* Received are the exposed bytes, or 0 where nothing was moved. */
static void got_check(struct harness *h, const uint8_t *got)
{
    for (size_t i = 0; i < LEN; i++)
        CHECK(h, got[i] == 0x11 || got[i] == 0 || got[i] == 0x22);
}

static void round_of(
    struct harness *h, uint8_t *area, uint8_t *locals, unsigned polls)
{
    struct amg_segment segment = {area, LEN};
    struct harness_call calls[ACCESSES];
    struct harness_shown right;
    struct amg_mem *mine = NULL;

    memset(area, 0x11, LEN);
    harness_expose(h, &segment, 1, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    for (uint32_t i = 0; i < ACCESSES; i++) {
        uint8_t *local = locals + (size_t)i * LEN;
        hg_return_t rc = HG_SUCCESS;

        memset(local, i % 2 == 0 ? 0 : 0x22, LEN);
        rc = i % 2 == 0 ? harness_get(h, &right, 0, 0, local, LEN, &calls[i])
                        : harness_put(h, &right, 0, 0, local, LEN, &calls[i]);
        CHECK(h, rc == HG_SUCCESS);
    }
    for (unsigned i = 0; i < polls; i++)
        harness_poll(h);
    harness_hide(h, mine);
    memset(area, LATER, LEN);
    harness_wait_all(h, calls, ACCESSES);
    harness_sync(h);
    CHECK(h, is_all(area, LEN, LATER));
    for (uint32_t i = 0; i < ACCESSES; i += 2)
        got_check(h, locals + (size_t)i * LEN);
}

static void test(struct harness *h)
{
    uint8_t *locals = malloc((size_t)ACCESSES * LEN);

    CHECK(h, locals != NULL);
    for (unsigned i = 0; i < ROUNDS; i++)
        round_of(h, (uint8_t *)h->area.base + i * 64, locals, i * 2);
    free(locals);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.area_len = LEN + 4096}, test);
}
