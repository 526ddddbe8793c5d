/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle survives serialization, with or without its data; truncated or
 * changed bytes give no handle. */
#include <stdlib.h>
#include <string.h>

#include "api_bulk.h"

enum { LEN = 3000, CAP = 8192, COUNT = 3 };

static uint8_t exposed[LEN];
static uint8_t bytes[LEN];
static const hg_size_t lens[COUNT] = {1000, 0, 2000};

/* The bytes lead to the memory, or hold its data. */
static void round_trip(struct api *api, hg_addr_t self, hg_bulk_t mine,
    hg_bulk_t local, unsigned long flags)
{
    uint8_t buf[CAP];
    hg_size_t need = HG_Bulk_get_serialize_size(mine, flags);
    struct api_shown got = {.addr = self};

    CHECK(api, need > 0 && need <= CAP);
    CHECK(api, ((flags & HG_BULK_EAGER) != 0) == (need > LEN));
    api_fill(exposed, LEN, 1, 0);
    EXPECT(api, HG_OVERFLOW, HG_Bulk_serialize(buf, need - 1, flags, mine));
    OK(api, HG_Bulk_serialize(buf, CAP, flags, mine));
    /* A longer buffer is allowed. */
    OK(api, HG_Bulk_deserialize(api->cls, &got.bulk, buf, CAP));
    OK(api, HG_Bulk_free(got.bulk));
    OK(api, HG_Bulk_deserialize(api->cls, &got.bulk, buf, need));
    CHECK(api, HG_Bulk_get_size(got.bulk) == LEN);
    CHECK(api, HG_Bulk_get_segment_count(got.bulk) == COUNT);
    CHECK(api, HG_Bulk_get_flags(got.bulk) == HG_BULK_READ_ONLY);
    api_fill(exposed, LEN, 2, 0);
    memset(buf, 0, CAP);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &got, 0, local, 0, LEN));
    CHECK(api,
        api_is_filled(bytes, LEN, (flags & HG_BULK_EAGER) != 0 ? 1 : 2, 0));
    OK(api, HG_Bulk_free(got.bulk));
}

static void refusals(struct api *api, hg_bulk_t mine)
{
    uint8_t buf[CAP];
    hg_size_t need = HG_Bulk_get_serialize_size(mine, HG_BULK_EAGER);
    hg_bulk_t got = HG_BULK_NULL;

    EXPECT(api, HG_INVALID_ARG, HG_Bulk_serialize(NULL, CAP, 0, mine));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_serialize(buf, CAP, 0, HG_BULK_NULL));
    OK(api, HG_Bulk_serialize(buf, CAP, HG_BULK_EAGER, mine));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_deserialize(NULL, &got, buf, need));
    EXPECT(api, HG_INVALID_ARG, HG_Bulk_deserialize(api->cls, NULL, buf, need));
    EXPECT(
        api, HG_INVALID_ARG, HG_Bulk_deserialize(api->cls, &got, NULL, need));
    for (hg_size_t len = 0; len < need; len++) {
        /* Of exact length, so that a sanitizer sees an overrun. */
        uint8_t *cut = malloc(len + 1);

        CHECK(api, cut != NULL);
        memcpy(cut + 1, buf, len);
        EXPECT(api, HG_OVERFLOW,
            HG_Bulk_deserialize(api->cls, &got, cut + 1, len));
        free(cut);
    }
    buf[0]++;
    EXPECT(
        api, HG_PROTOCOL_ERROR, HG_Bulk_deserialize(api->cls, &got, buf, need));
    CHECK(api, got == HG_BULK_NULL);
}

static void test(struct api *api)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_bulk_t mine;
    hg_bulk_t writable;
    hg_bulk_t local;

    HG_Set_log_level("error");
    OK(api, HG_Addr_self(api->cls, &self));
    mine = api_bulk_expose(api, exposed, COUNT, lens, HG_BULK_READ_ONLY);
    writable = api_bulk_expose(api, exposed, COUNT, lens, HG_BULK_READWRITE);
    local = api_bulk_expose_one(api, bytes, LEN, HG_BULK_WRITE_ONLY);
    round_trip(api, self, mine, local, 0);
    round_trip(api, self, mine, local, HG_BULK_SM);
    round_trip(api, self, mine, local, HG_BULK_EAGER);
    CHECK(api, HG_Bulk_get_serialize_size(HG_BULK_NULL, 0) == 0);
    CHECK(api, HG_Bulk_get_serialize_size(writable, HG_BULK_EAGER) < LEN);
    refusals(api, mine);
    OK(api, HG_Bulk_free(mine));
    OK(api, HG_Bulk_free(writable));
    OK(api, HG_Bulk_free(local));
    OK(api, HG_Addr_free(api->cls, self));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
