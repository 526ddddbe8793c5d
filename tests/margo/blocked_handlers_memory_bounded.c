/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten thousand handlers block at once, each at a cost of at most 16 KiB
 * besides the pages of its stack that it has touched. The handlers use two
 * pages of it. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"

/* Thread sanitizer supports at most 8,128 threads, with memory of its own for
 * each. */
#if defined(__SANITIZE_THREAD__)
enum { HANDLERS = 1000, COST_MAX = 4 * 1024 * 1024, STACK_PAGES = 2 };
#else
enum { HANDLERS = 10000, COST_MAX = 16 * 1024, STACK_PAGES = 2 };
#endif

static unsigned blocked;
static ABT_eventual gate;
static ABT_eventual all_here;

static void waits(hg_handle_t handle)
{
    if (++blocked == HANDLERS)
        ABT_eventual_set(all_here, NULL, 0);
    ABT_eventual_wait(gate, NULL);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(waits)

/* Resident bytes of this process. */
static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;

    CHECK(file != NULL && fscanf(file, "%*s %zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
    static margo_request requests[HANDLERS];
    static hg_handle_t handles[HANDLERS];
    size_t before = 0;
    size_t cost = 0;
    hg_id_t id = 0;

    /* One stream for all, so `blocked` needs no lock. */
    alone_open(NULL, NULL);
    ABT_eventual_create(0, &gate);
    ABT_eventual_create(0, &all_here);
    id = MARGO_REGISTER(pair.mid, "waits", void, void, waits);
    for (unsigned i = 0; i < HANDLERS; i++)
        handles[i] = alone_handle(id);
    before = resident();
    for (unsigned i = 0; i < HANDLERS; i++)
        CHECK_RC(margo_iforward(handles[i], NULL, &requests[i]), HG_SUCCESS);
    ABT_eventual_wait(all_here, NULL);
    cost = (resident() - before) / HANDLERS;
    printf("%zu bytes for each blocked handler, its stack counted\n", cost);
    CHECK(cost <= COST_MAX + STACK_PAGES * (size_t)sysconf(_SC_PAGESIZE));
    ABT_eventual_set(gate, NULL, 0);
    for (unsigned i = 0; i < HANDLERS; i++) {
        CHECK_RC(margo_wait(requests[i]), HG_SUCCESS);
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
    }
    CHECK(blocked == HANDLERS);
    ABT_eventual_free(&gate);
    ABT_eventual_free(&all_here);
    alone_close();
    return 0;
}
