/* SPDX-License-Identifier: BSD-3-Clause */
/* Random bytes, and valid ones with changes, given to all readers of wire data:
 * descriptors, headers, strings, whole requests. Nothing is read beyond the end
 * (the sanitizers see it), leaked, or believed. Takes the number of rounds, and
 * prints the seed of a round that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bulk/bulk.h"
#include "mercury.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"
#include "wire/header.h"
#include "wire/proc.h"

enum { LEN_MAX = 400, CHANGES_MAX = 4, ROUNDS = 20000, SEGMENTS = 3 };

typedef hg_string_object_t object_t;
#define hg_proc_object_t hg_proc_hg_string_object_t

MERCURY_GEN_PROC(
    inner_t, ((hg_const_string_t)(text))((object_t)(object))((uint16_t)(x)))
MERCURY_GEN_PROC(outer_t, ((hg_string_t)(text))((inner_t)(inner))(
                              (hg_bulk_t)(bulk))((inner_t)(again)))

static uint64_t seed;
static uint64_t state;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void fail(int line, const char *what)
{
    fprintf(stderr, "random_bytes: round %llu: line %d: %s\n",
        (unsigned long long)seed, line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

/* A copy of exact length, altered or not; the caller frees it. */
static uint8_t *spoil(const uint8_t *good, size_t good_len, size_t *ret_len)
{
    uint64_t kind = draw() % 4;
    size_t len = kind == 0 ? draw() % LEN_MAX : good_len;
    uint8_t *bytes = NULL;

    if (kind == 1)
        len = draw() % (good_len + 1);
    bytes = malloc(len + 1);
    CHECK(bytes != NULL);
    bytes = realloc(bytes, len > 0 ? len : 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < len; i++)
        bytes[i] = kind == 0 ? (uint8_t)draw() : good[i];
    for (uint64_t i = draw() % CHANGES_MAX; i > 0 && len > 0; i--)
        bytes[draw() % len] = (uint8_t)draw();
    *ret_len = len;
    return bytes;
}

static void descriptor(hg_class_t *cls, const uint8_t *good, size_t good_len)
{
    size_t len = 0;
    uint8_t *bytes = spoil(good, good_len, &len);
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_return_t rc = HG_Bulk_deserialize(cls, &bulk, bytes, len);

    CHECK(rc == HG_SUCCESS || rc == HG_OVERFLOW || rc == HG_PROTOCOL_ERROR);
    CHECK((rc == HG_SUCCESS) == (bulk != HG_BULK_NULL));
    free(bytes);
    if (rc == HG_SUCCESS) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < bulk->count; i++)
            sum += bulk->segments[i].len;
        CHECK(sum == HG_Bulk_get_size(bulk));
        CHECK(HG_Bulk_free(bulk) == HG_SUCCESS);
    }
}

static void head(void)
{
    enum { USER_LEN = 5 };
    uint8_t good[AMG_HEADER_LEN + USER_LEN] = {0};
    struct amg_header header;
    const char *why = NULL;
    size_t len = 0;
    uint8_t *bytes = NULL;
    uint16_t user_len = 0;
    hg_return_t rc;

    amg_header_write_reply(good, AMG_HEADER_MORE, HG_SUCCESS, draw());
    user_len = (uint16_t)(draw() % (USER_LEN + 1));
    amg_header_complete(good, user_len, draw() % 2 == 0);
    bytes = spoil(good, sizeof(good), &len);
    rc = amg_header_read(bytes, len, AMG_HEADER_REPLY, &header, &why);
    CHECK(
        rc == HG_SUCCESS ||
        ((rc == HG_PROTOCOL_ERROR || rc == HG_CHECKSUM_ERROR) && why != NULL));
    CHECK(rc != HG_SUCCESS ||
          (len >= AMG_HEADER_LEN && header.ret < HG_RETURN_MAX &&
              header.magic == AMG_HEADER_REPLY &&
              amg_header_args_len(&header, len) <= len));
    free(bytes);
}

static void arguments(hg_class_t *cls, const uint8_t *good, size_t good_len)
{
    size_t len = 0;
    uint8_t *bytes = spoil(good, good_len, &len);
    struct hg_proc proc;
    outer_t outer;

    memset(&outer, 0, sizeof(outer));
    amg_proc_init(&proc, cls, bytes, len, HG_DECODE);
    if (hg_proc_outer_t(&proc, &outer) == HG_SUCCESS) {
        CHECK(outer.text == NULL || strlen(outer.text) < len);
        CHECK(hg_proc_reset(&proc, NULL, 0, HG_FREE) == HG_SUCCESS);
        CHECK(hg_proc_outer_t(&proc, &outer) == HG_SUCCESS);
    }
    amg_proc_fini(&proc);
    free(bytes);
}

/* Valid arguments, to be altered. */
static size_t arguments_encode(hg_class_t *cls, hg_bulk_t bulk, uint8_t *good)
{
    outer_t outer = {"some text", {"constant", {"own", 0, 0}, 7}, bulk,
        {NULL, {"other", 1, 0}, 8}};
    struct hg_proc proc;
    size_t len = 0;

    amg_proc_init(&proc, cls, good, LEN_MAX, HG_ENCODE);
    CHECK(hg_proc_outer_t(&proc, &outer) == HG_SUCCESS);
    len = hg_proc_get_size_used(&proc);
    CHECK(hg_proc_get_extra_buf(&proc) == NULL);
    amg_proc_fini(&proc);
    return len;
}

static void rounds_run(hg_class_t *cls, uint64_t rounds)
{
    const hg_size_t lens[SEGMENTS] = {5, 0, 20};
    uint8_t plain[LEN_MAX];
    uint8_t eager[LEN_MAX];
    uint8_t args[LEN_MAX];
    size_t plain_len = 0;
    size_t eager_len = 0;
    size_t args_len = 0;
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK(HG_Bulk_create(cls, SEGMENTS, NULL, lens, HG_BULK_READ_ONLY, &bulk) ==
          HG_SUCCESS);
    plain_len = HG_Bulk_get_serialize_size(bulk, 0);
    eager_len = HG_Bulk_get_serialize_size(bulk, HG_BULK_EAGER);
    CHECK(HG_Bulk_serialize(plain, LEN_MAX, 0, bulk) == HG_SUCCESS);
    CHECK(HG_Bulk_serialize(eager, LEN_MAX, HG_BULK_EAGER, bulk) == HG_SUCCESS);
    args_len = arguments_encode(cls, bulk, args);
    for (seed = 1; seed <= rounds; seed++) {
        state = seed * 0x9e3779b97f4a7c15ull;
        descriptor(cls, plain, plain_len);
        descriptor(cls, eager, eager_len);
        head();
        arguments(cls, args, args_len);
    }
    CHECK(HG_Bulk_free(bulk) == HG_SUCCESS);
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : ROUNDS;
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    hg_class_t *cls = NULL;

    amg_mem_stats_get(&before);
    HG_Set_log_level("none");
    cls = HG_Init("self", HG_TRUE);
    CHECK(cls != NULL);
    rounds_run(cls, rounds);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    amg_mem_stats_get(&after);
    CHECK(after.live == before.live);
    return EXIT_SUCCESS;
}
