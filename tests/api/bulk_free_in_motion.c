/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory may be freed and unmapped in the middle of a transfer by a peer: the
 * transfer ends with a code, the memory is not accessed any more, and all ranks
 * go on. */
#include <stdlib.h>
#include <sys/mman.h>

#include "api_bulk.h"

enum { LEN = 64 << 20, ROUNDS = 6 };

static uint8_t *map(struct api *api)
{
    uint8_t *bytes = mmap(
        NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(api, bytes != MAP_FAILED);
    return bytes;
}

static void round_run(
    struct api *api, uint8_t *bytes, hg_bulk_op_t op, unsigned turns)
{
    uint8_t *exposed = map(api);
    hg_bulk_t mine = api_bulk_expose_one(api, exposed, LEN, HG_BULK_READWRITE);
    hg_bulk_t local = api_bulk_expose_one(api, bytes, LEN, HG_BULK_READWRITE);
    struct api_call call = {0};
    struct api_shown left;
    hg_return_t rc;

    api_bulk_show(api, mine, 0, &left);
    OK(api, HG_Bulk_transfer(api->context, api_done, &call, op, left.addr,
                left.bulk, 0, local, 0, LEN, HG_OP_ID_IGNORE));
    for (unsigned i = 0; i < turns; i++)
        api_turn(api);
    UNTIL(api, HG_Bulk_free(mine) == HG_SUCCESS);
    CHECK(api, munmap(exposed, LEN) == 0);
    rc = api_wait(api, &call);
    CHECK(api, rc == HG_SUCCESS || rc == HG_NOENTRY || rc == HG_CANCELED);
    /* Now it is certainly freed. */
    api_sync(api);
    rc = api_bulk_move(api, op, &left, 0, local, 0, LEN);
    CHECK(api, rc == HG_NOENTRY);
    api_bulk_forget(api, &left);
    OK(api, HG_Bulk_free(local));
    api_sync(api);
}

static void test(struct api *api)
{
    uint8_t *bytes = map(api);

    api_bulk_start(api);
    for (unsigned i = 0; i < ROUNDS; i++)
        round_run(
            api, bytes, i % 2 == 0 ? HG_BULK_PULL : HG_BULK_PUSH, i * i * 4);
    CHECK(api, munmap(bytes, LEN) == 0);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
