/* SPDX-License-Identifier: BSD-3-Clause */
/* A pull of more bytes than the origin exposes. The API refuses one that the
 * handle does not have, so the bytes of the handle are changed on their way:
 * its last segment is longer than the exposed one (bulk/bulk.c has the
 * format). The exposer must refuse it before any byte is copied. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "target.h"

enum {
    MORE = 64,
    HANDLE_CAP = 1024,
    FIRST_LEN_AT = 8 + 8,
    SEGMENT_LEN = 16,
    FILL = 0x5a,
};

struct beyond {
    struct served *served;
    void (*over)(struct served *served);
    hg_bulk_t forged;
    hg_bulk_t local;
    hg_size_t len;
    uint8_t bytes[];
};

static hg_return_t beyond_end(struct beyond *beyond, hg_return_t rc)
{
    struct served *served = beyond->served;
    struct world *world = served->world;
    hg_size_t at = 0;

    while (at < beyond->len && beyond->bytes[at] == FILL)
        at++;
    if (rc == HG_SUCCESS)
        book_finding(world->book,
            "pull %016" PRIx64 " got more bytes than rank %u exposes",
            served->call.id, served->call.origin);
    else if (at < beyond->len)
        book_finding(world->book,
            "pull %016" PRIx64 " was refused (%s), and has written byte %zu",
            served->call.id, HG_Error_to_string(rc), (size_t)at);
    EXPECT_OK(world, HG_Bulk_free(beyond->local));
    EXPECT_OK(world, HG_Bulk_free(beyond->forged));
    free(beyond);
    return HG_SUCCESS;
}

static hg_return_t beyond_ended(const struct hg_cb_info *info)
{
    struct beyond *beyond = info->arg;
    struct served *served = beyond->served;
    void (*over)(struct served * served) = beyond->over;

    (void)beyond_end(beyond, info->ret);
    over(served);
    return HG_SUCCESS;
}

/* A handle like that of the origin, and longer; HG_BULK_NULL: it has no room
 * here. */
static hg_bulk_t forge(struct served *served)
{
    char bytes[HANDLE_CAP];
    hg_bulk_t forged = HG_BULK_NULL;
    hg_size_t len = HG_Bulk_get_serialize_size(served->in.bulk, 0);
    size_t at =
        FIRST_LEN_AT +
        (HG_Bulk_get_segment_count(served->in.bulk) - 1) * (size_t)SEGMENT_LEN;
    uint64_t longer = 0;

    if (len > HANDLE_CAP || at + sizeof(longer) > len)
        return HG_BULK_NULL;
    EXPECT_OK(served->world, HG_Bulk_serialize(bytes, len, 0, served->in.bulk));
    memcpy(&longer, bytes + at, sizeof(longer));
    longer += MORE;
    memcpy(bytes + at, &longer, sizeof(longer));
    return HG_Bulk_deserialize(served->cls->cls, &forged, bytes, len) ==
                   HG_SUCCESS
               ? forged
               : HG_BULK_NULL;
}

void beyond_post(struct served *served, void (*over)(struct served *served))
{
    const struct hg_info *info = HG_Get_info(served->handle);
    hg_size_t len = HG_Bulk_get_size(served->in.bulk) + MORE;
    struct beyond *beyond = NULL;
    void *at = NULL;
    hg_return_t rc = HG_SUCCESS;

    /* A handle that comes home is that of the memory itself. */
    if (served->call.origin == served->call.target || len <= MORE)
        return;
    beyond = malloc(sizeof(*beyond) + len);
    if (beyond == NULL)
        abort();
    *beyond = (struct beyond){.served = served, .over = over, .len = len};
    memset(beyond->bytes, FILL, len);
    at = beyond->bytes;
    do
        rc = HG_Bulk_create(
            served->cls->cls, 1, &at, &len, HG_BULK_WRITE_ONLY, &beyond->local);
    while (faults_again(served->world, rc));
    EXPECT_OK(served->world, rc);
    beyond->forged = forge(served);
    if (beyond->forged == HG_BULK_NULL) {
        (void)beyond_end(beyond, HG_NOENTRY);
        return;
    }
    atomic_fetch_add(&served->parts, 1);
    rc = HG_Bulk_transfer(info->context, beyond_ended, beyond, HG_BULK_PULL,
        info->addr, beyond->forged, 0, beyond->local, 0, len, HG_OP_ID_IGNORE);
    if (rc != HG_SUCCESS) {
        (void)beyond_end(beyond, rc);
        over(served);
    }
}
