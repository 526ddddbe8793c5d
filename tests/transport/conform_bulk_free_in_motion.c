/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory can be unregistered and unmapped while peers access it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness_bulk.h"

enum { ROUNDS = 16, ACCESSES = 8, LEN = 1 << 20, SEED = 5 };

static uint8_t *area_map(struct harness *h)
{
    void *area = mmap(
        NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(h, area != MAP_FAILED);
    harness_fill(area, LEN, SEED);
    return area;
}

static bool is_an_end(hg_return_t ret)
{
    return ret == HG_SUCCESS || ret == HG_NOENTRY || ret == HG_CANCELED;
}

static void round_of(struct harness *h, uint8_t *locals, unsigned polls)
{
    uint8_t *area = area_map(h);
    struct amg_segment segment = {area, LEN};
    struct harness_call calls[2 * ACCESSES];
    struct harness_shown right;
    struct amg_mem *mine = NULL;
    hg_return_t rc = HG_BUSY;

    harness_expose(h, &segment, 1, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    for (uint32_t i = 0; i < 2 * ACCESSES; i++) {
        uint8_t *local = locals + (size_t)i * LEN;

        memset(local, 0, LEN);
        h->is_uncancellable = i / 2 % 2 == 0;
        rc = i % 2 == 0 ? harness_get(h, &right, 0, 0, local, LEN, &calls[i])
                        : harness_put(h, &right, 0, 0, local, LEN, &calls[i]);
        CHECK(h, rc == HG_SUCCESS);
    }
    for (unsigned i = 0; i < polls; i++)
        harness_poll(h);
    /* Every third round: a timeout that may be too short, and then polls. */
    UNTIL(h, h->t->bulk.unreg(h->domain, mine,
                 polls % 3 == 0 ? 0 : HARNESS_UNREG_MS) == HG_SUCCESS);
    CHECK(h, munmap(area, LEN) == 0);
    harness_wait_all(h, calls, 2 * ACCESSES);
    for (uint32_t i = 0; i < 2 * ACCESSES; i++)
        CHECK(h, is_an_end(calls[i].op.ret));
    harness_sync(h);
}

static void test(struct harness *h)
{
    uint8_t *locals = malloc((size_t)2 * ACCESSES * LEN);

    CHECK(h, locals != NULL);
    for (unsigned i = 0; i < ROUNDS; i++)
        round_of(h, locals, i * i);
    free(locals);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
