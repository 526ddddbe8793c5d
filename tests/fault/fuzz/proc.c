/* SPDX-License-Identifier: BSD-3-Clause */
/* Malformed argument streams: decoded values lie within the input, are encoded
 * again to bytes that decode to the same, and are freed completely. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mercury_macros.h"
#include "mercury_proc.h"
#include "mercury_proc_string.h"
#include "wire/proc.h"

enum { LEN_MAX = 4096, FIELDS_MAX = 24 };

typedef hg_string_object_t object_t;
#define hg_proc_object_t hg_proc_hg_string_object_t

MERCURY_GEN_PROC(
    inner_t, ((hg_const_string_t)(text))((object_t)(object))((uint16_t)(x)))
MERCURY_GEN_PROC(outer_t, ((hg_string_t)(text))((inner_t)(inner))((int64_t)(y))(
                              (inner_t)(again))((uint8_t)(z)))

/* Bytes with their length in front, as in procs of programs. */
struct blob {
    uint64_t len;
    void *bytes;
};

static hg_return_t proc_blob(hg_proc_t proc, void *data)
{
    struct blob *blob = data;
    hg_return_t rc = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_FREE) {
        free(blob->bytes);
        blob->bytes = NULL;
        return HG_SUCCESS;
    }
    rc = hg_proc_uint64_t(proc, &blob->len);
    if (rc != HG_SUCCESS)
        return rc;
    if (hg_proc_get_op(proc) == HG_DECODE) {
        if (blob->len > hg_proc_get_size_left(proc))
            return HG_OVERFLOW;
        blob->bytes = malloc(blob->len + 1);
        FUZZ_CHECK(blob->bytes != NULL);
    }
    rc = hg_proc_raw(proc, blob->bytes, blob->len);
    FUZZ_CHECK(rc == HG_SUCCESS);
    return rc;
}

/* The kinds of fields; the input chooses a list of them. */
static const struct kind {
    hg_proc_cb_t proc;
    size_t len;
} kinds[] = {
    {hg_proc_int8_t, sizeof(int8_t)},
    {hg_proc_uint16_t, sizeof(uint16_t)},
    {hg_proc_int32_t, sizeof(int32_t)},
    {hg_proc_uint64_t, sizeof(uint64_t)},
    {hg_proc_hg_string_t, sizeof(hg_string_t)},
    {hg_proc_hg_const_string_t, sizeof(hg_const_string_t)},
    {hg_proc_hg_string_object_t, sizeof(hg_string_object_t)},
    {proc_blob, sizeof(struct blob)},
    {hg_proc_outer_t, sizeof(outer_t)},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* A decoded stream. */
struct fields {
    unsigned count;
    uint8_t kinds[FIELDS_MAX];
    union {
        outer_t outer;
        struct blob blob;
    } values[FIELDS_MAX];
};

static struct fields first;
static struct fields second;

/* Decodes as many fields as the bytes suffice for. */
static void fields_decode(struct hg_proc *proc, struct fields *fields)
{
    unsigned wanted = fields->count;

    for (fields->count = 0; fields->count < wanted; fields->count++) {
        unsigned i = fields->count;
        hg_size_t left = hg_proc_get_size_left(proc);

        memset(&fields->values[i], 0, sizeof(fields->values[i]));
        if (kinds[fields->kinds[i]].proc(proc, &fields->values[i]) !=
            HG_SUCCESS)
            return;
        FUZZ_CHECK(hg_proc_get_size_left(proc) <= left);
    }
}

static void fields_free(struct hg_proc *proc, struct fields *fields)
{
    FUZZ_CHECK(hg_proc_reset(proc, NULL, 0, HG_FREE) == HG_SUCCESS);
    for (unsigned i = 0; i < fields->count; i++)
        FUZZ_CHECK(kinds[fields->kinds[i]].proc(proc, &fields->values[i]) ==
                   HG_SUCCESS);
}

static void fields_encode(struct hg_proc *proc, struct fields *fields)
{
    for (unsigned i = 0; i < fields->count; i++)
        FUZZ_CHECK(kinds[fields->kinds[i]].proc(proc, &fields->values[i]) ==
                   HG_SUCCESS);
    FUZZ_CHECK(hg_proc_flush(proc) == HG_SUCCESS);
}

static void strings_compare(const char *one, const char *other)
{
    FUZZ_CHECK((one == NULL) == (other == NULL));
    FUZZ_CHECK(one == NULL || strcmp(one, other) == 0);
}

static void fields_compare(const struct fields *one, const struct fields *other)
{
    FUZZ_CHECK(one->count == other->count);
    for (unsigned i = 0; i < one->count; i++) {
        const outer_t *outer = &one->values[i].outer;
        const outer_t *again = &other->values[i].outer;
        hg_proc_cb_t kind = kinds[one->kinds[i]].proc;

        if (kind == hg_proc_outer_t) {
            strings_compare(outer->text, again->text);
            strings_compare(outer->inner.text, again->inner.text);
            strings_compare(outer->again.object.data, again->again.object.data);
            FUZZ_CHECK(outer->y == again->y && outer->z == again->z);
        } else if (kind == hg_proc_hg_string_t) {
            strings_compare(outer->text, again->text);
        } else if (kind == proc_blob) {
            FUZZ_CHECK(
                memcmp(one->values[i].blob.bytes, other->values[i].blob.bytes,
                    one->values[i].blob.len) == 0);
        }
    }
}

/* As hg_proc_create_set() does: inline procs add to no checksum. */
static void hash_set(struct hg_proc *proc, hg_proc_hash_t hash)
{
    proc->hash = hash;
    proc->sum = 0;
    amg_proc_aim(proc, proc->at.pos, proc->at.end);
}

/* Encodes the decoded values, into little room, and decodes them again. */
static void round_trip(hg_proc_hash_t hash, size_t room)
{
    static char small[LEN_MAX];
    uint8_t sum[8];
    uint8_t sum_again[8];
    hg_proc_t proc = HG_PROC_NULL;
    struct hg_proc reader;
    void *bytes = small;

    FUZZ_CHECK(hg_proc_create_set(NULL, small, room, HG_ENCODE, hash, &proc) ==
               HG_SUCCESS);
    fields_encode(proc, &first);
    if (hg_proc_get_extra_buf(proc) != NULL)
        bytes = hg_proc_get_extra_buf(proc);
    second.count = first.count;
    memcpy(second.kinds, first.kinds, sizeof(first.kinds));
    amg_proc_init(&reader, NULL, bytes, hg_proc_get_size_used(proc), HG_DECODE);
    if (hash != HG_NOHASH)
        hash_set(&reader, hash);
    fields_decode(&reader, &second);
    FUZZ_CHECK(hg_proc_get_size_left(&reader) == 0);
    fields_compare(&first, &second);
    if (hash != HG_NOHASH) {
        FUZZ_CHECK(hg_proc_checksum_get(proc, sum, sizeof(sum)) == HG_SUCCESS);
        FUZZ_CHECK(hg_proc_checksum_get(&reader, sum_again, sizeof(sum)) ==
                   HG_SUCCESS);
        FUZZ_CHECK(
            hg_proc_checksum_verify(&reader, sum, sizeof(sum)) == HG_SUCCESS);
    }
    fields_free(&reader, &second);
    amg_proc_fini(&reader);
    FUZZ_CHECK(hg_proc_free(proc) == HG_SUCCESS);
}

/* Space reserved in a stream that decodes, or encodes. */
static void places(struct fuzz *fuzz, struct hg_proc *proc)
{
    for (unsigned i = fuzz_u8(fuzz) % 8; i > 0; i--) {
        hg_size_t left = hg_proc_get_size_left(proc);
        uint64_t len = fuzz_near(fuzz, left);
        void *place = NULL;

        if (fuzz_u8(fuzz) % 2 == 0) {
            /* Only decoding refuses every excess length; an encoder trusts its
             * program's, here limited to available memory. */
            if (hg_proc_get_op(proc) == HG_ENCODE)
                len %= (uint64_t)1 << 20;
            (void)hg_proc_set_size(proc, len);
            continue;
        }
        if (hg_proc_get_op(proc) == HG_ENCODE)
            len %= (uint64_t)1 << 16;
        place = hg_proc_save_ptr(proc, len);
        if (hg_proc_get_op(proc) == HG_DECODE)
            FUZZ_CHECK((place != NULL) == (len <= left));
        if (place == NULL)
            continue;
        if (hg_proc_get_op(proc) == HG_ENCODE)
            memset(place, 1, len);
        FUZZ_CHECK(hg_proc_restore_ptr(proc, place, len) == HG_SUCCESS ||
                   place == NULL);
    }
}

void fuzz_run(struct fuzz *fuzz)
{
    hg_proc_hash_t hash = (hg_proc_hash_t)(fuzz_u8(fuzz) % (HG_NOHASH + 1));
    size_t room = fuzz_u8(fuzz) % 65;
    uint8_t wants_places = fuzz_u8(fuzz);
    struct hg_proc proc;
    uint8_t *exact = NULL;

    first.count = fuzz_u8(fuzz) % FIELDS_MAX;
    for (unsigned i = 0; i < first.count; i++)
        first.kinds[i] = fuzz_u8(fuzz) % KINDS;
    exact = malloc(fuzz->left > 0 ? fuzz->left : 1);
    FUZZ_CHECK(exact != NULL);
    if (fuzz->left > 0)
        memcpy(exact, fuzz->next, fuzz->left);
    amg_proc_init(&proc, NULL, exact, fuzz->left, HG_DECODE);
    if (hash != HG_NOHASH)
        hash_set(&proc, hash);
    fields_decode(&proc, &first);
    if ((wants_places & 1) != 0)
        places(fuzz, &proc);
    if (room > 0)
        round_trip(hash, room);
    fields_free(&proc, &first);
    if ((wants_places & 2) != 0) {
        FUZZ_CHECK(
            hg_proc_reset(&proc, exact, fuzz->left, HG_ENCODE) == HG_SUCCESS);
        places(fuzz, &proc);
    }
    amg_proc_fini(&proc);
    free(exact);
}
