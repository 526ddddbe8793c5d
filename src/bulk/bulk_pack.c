/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialisation of bulk handles: by the program, and as arguments. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "bulk/bulk.h"
#include "mercury_class.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"

/* off  len
 *     0    1  version, 1
 *     1    1  HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY: what others may do
 *     2    1  1 eager data follow | 2 bound to an address
 *     3    1  number of keys
 *     4    4  number of segments n
 *     8   16  per segment, n times: address (8), length (8)
 *         2+k per key: route (1), length k (1), the driver's k bytes
 *         3+a when bound: context id (1), length a (2), address string with NUL
 *           e when eager: all bytes of the segments
 *
 * In the byte order of the machine. The reader trusts none of it: counts and
 * lengths are checked against the bytes received. */

enum {
    PACK_VERSION = 1,
    PACK_EAGER = 1,
    PACK_BOUND = 2,
    PACK_FIXED_LEN = 8,
    PACK_SEGMENT_LEN = 16,
    ADDR_CAP = 256, /* longer than any address string of ours */
};

/* Segments in memory look as in the descriptor: one copy writes all. */
static_assert(sizeof(struct amg_segment) == PACK_SEGMENT_LEN &&
                  offsetof(struct amg_segment, base) == 0 &&
                  offsetof(struct amg_segment, len) == 8 && sizeof(void *) == 8,
    "the wire's segment");

static size_t bound_text(const struct hg_bulk *bulk, char *ret_text)
{
    size_t len = ADDR_CAP;

    if (bulk->bound.peer == NULL ||
        amg_addr_format(&bulk->bound, ret_text, &len) != HG_SUCCESS)
        return 0;
    return len;
}

uint64_t amg_bulk_packed_len(const struct hg_bulk *bulk, unsigned flags)
{
    uint64_t len = PACK_FIXED_LEN + (uint64_t)bulk->count * PACK_SEGMENT_LEN;
    char text[ADDR_CAP];
    size_t text_len = bound_text(bulk, text);
    unsigned route = 0;

    for (route = 0; route < AMG_ROUTE_COUNT; route++)
        if (bulk->keys[route].len > 0)
            len += 2u + bulk->keys[route].len;
    if (text_len > 0)
        len += 3 + text_len;
    if ((flags & AMG_BULK_PACK_EAGER) != 0)
        len += bulk->len;
    return len;
}

static char *put_bytes(char *to, const void *from, size_t len)
{
    memcpy(to, from, len);
    return to + len;
}

void amg_bulk_pack(const struct hg_bulk *bulk, unsigned flags, void *ret_bytes)
{
    bool is_eager = (flags & AMG_BULK_PACK_EAGER) != 0;
    char text[ADDR_CAP];
    uint16_t text_len = (uint16_t)bound_text(bulk, text);
    uint8_t head[4] = {PACK_VERSION, bulk->flags, 0, 0};
    char *to = ret_bytes;
    unsigned route = 0;

    head[2] = (uint8_t)((is_eager ? PACK_EAGER : 0) |
                        (text_len > 0 ? PACK_BOUND : 0));
    for (route = 0; route < AMG_ROUTE_COUNT; route++)
        head[3] = (uint8_t)(head[3] + (bulk->keys[route].len > 0 ? 1 : 0));
    to = put_bytes(to, head, sizeof(head));
    to = put_bytes(to, &bulk->count, sizeof(bulk->count));
    to = put_bytes(to, bulk->segments, (size_t)bulk->count * PACK_SEGMENT_LEN);
    for (route = 0; route < AMG_ROUTE_COUNT; route++) {
        const struct amg_key *key = &bulk->keys[route];
        uint8_t key_head[2] = {(uint8_t)route, key->len};

        if (key->len == 0)
            continue;
        to = put_bytes(to, key_head, sizeof(key_head));
        to = put_bytes(to, key->bytes, key->len);
    }
    if (text_len > 0) {
        to = put_bytes(to, &bulk->bound_context, 1);
        to = put_bytes(to, &text_len, sizeof(text_len));
        to = put_bytes(to, text, text_len);
    }
    if (is_eager)
        amg_bulk_copy_out(bulk, to);
}

/* Reader of a descriptor: the position and the bytes left. */
struct reader {
    const char *next;
    uint64_t left;
    hg_return_t ret; /* error of a read, if not a malformed descriptor */
};

static bool take_bytes(struct reader *reader, void *to, uint64_t len)
{
    if (len > reader->left) {
        reader->ret = HG_OVERFLOW;
        return false;
    }
    memcpy(to, reader->next, len);
    reader->next += len;
    reader->left -= len;
    return true;
}

static bool read_segments(struct reader *reader, struct hg_bulk *bulk)
{
    uint32_t i = 0;

    if (!take_bytes(
            reader, bulk->segments, (uint64_t)bulk->count * PACK_SEGMENT_LEN))
        return false;
    for (i = 0; i < bulk->count; i++) {
        if (bulk->segments[i].len > UINT64_MAX - bulk->len)
            return false;
        bulk->len += bulk->segments[i].len;
    }
    return true;
}

static bool read_keys(
    struct reader *reader, struct hg_bulk *bulk, unsigned count)
{
    unsigned i = 0;

    for (i = 0; i < count; i++) {
        struct amg_key key = {0};
        uint8_t head[2];

        if (!take_bytes(reader, head, sizeof(head)) || head[1] == 0 ||
            head[1] > AMG_KEY_LEN_MAX)
            return false;
        key.len = head[1];
        if (!take_bytes(reader, key.bytes, key.len))
            return false;
        /* A route that this build does not know is ignored. */
        if (head[0] < AMG_ROUTE_COUNT)
            bulk->keys[head[0]] = key;
    }
    return true;
}

static bool read_bound(struct reader *reader, struct hg_bulk *bulk)
{
    char text[ADDR_CAP];
    uint16_t len = 0;

    if (!take_bytes(reader, &bulk->bound_context, 1) ||
        !take_bytes(reader, &len, sizeof(len)) || len == 0 || len > ADDR_CAP ||
        !take_bytes(reader, text, len) || text[len - 1] != '\0')
        return false;
    return amg_addr_parse(bulk->cls, text, &bulk->bound) == HG_SUCCESS;
}

static bool read_eager(struct reader *reader, struct hg_bulk *bulk)
{
    if (bulk->len == 0)
        return false;
    if (bulk->len > reader->left) {
        reader->ret = HG_OVERFLOW;
        return false;
    }
    bulk->eager = amg_mem_alloc(bulk->len);
    if (bulk->eager == NULL) {
        reader->ret = HG_NOMEM;
        return false;
    }
    return take_bytes(reader, bulk->eager, bulk->len);
}

hg_return_t amg_bulk_unpack(hg_class_t *cls, const void *bytes, uint64_t len,
    bool is_internal, struct hg_bulk **ret_bulk)
{
    struct reader reader = {
        .next = bytes, .left = len, .ret = HG_PROTOCOL_ERROR};
    struct hg_bulk *bulk = NULL;
    uint32_t count = 0;
    uint8_t head[4];

    if (!take_bytes(&reader, head, sizeof(head)) ||
        !take_bytes(&reader, &count, sizeof(count)) ||
        head[0] != PACK_VERSION || count == 0)
        goto refuse;
    if (count > reader.left / PACK_SEGMENT_LEN) {
        reader.ret = HG_OVERFLOW;
        goto refuse;
    }
    if (amg_bulk_make(cls, count, &bulk) != HG_SUCCESS)
        return HG_NOMEM;
    bulk->is_internal = is_internal;
    if (!is_internal)
        amg_class_count(cls, AMG_CLASS_BULKS, 1);
    bulk->flags = head[1] & HG_BULK_READWRITE;
    if (!read_segments(&reader, bulk) || !read_keys(&reader, bulk, head[3]) ||
        ((head[2] & PACK_BOUND) != 0 && !read_bound(&reader, bulk)) ||
        ((head[2] & PACK_EAGER) != 0 && !read_eager(&reader, bulk)))
        goto drop_bulk;
    (void)amg_bulk_sealed(bulk);
    *ret_bulk = bulk;
    return HG_SUCCESS;

drop_bulk:
    amg_bulk_unref(bulk);
refuse:
    AMG_LOG_WARNING("bulk",
        "%llu bytes are not a bulk descriptor of this version (%s); dropped",
        (unsigned long long)len, HG_Error_to_string(reader.ret));
    return reader.ret;
}

/* Small read-only data are sent with the descriptor if the message has room for
 * both: that saves the target a round trip. */
static unsigned proc_pack_flags(hg_proc_t proc, const struct hg_bulk *bulk)
{
    bool is_wanted = (hg_proc_get_flags(proc) & HG_PROC_BULK_EAGER) != 0;
    uint64_t left = hg_proc_get_size_left(proc);
    uint64_t need = sizeof(uint64_t);

    if (!is_wanted || !bulk->is_local || bulk->flags != HG_BULK_READ_ONLY ||
        bulk->len == 0 || bulk->len > left || hg_proc_get_extra_buf(proc))
        return 0;
    need += amg_bulk_packed_len(bulk, AMG_BULK_PACK_EAGER);
    return need <= left ? AMG_BULK_PACK_EAGER : 0;
}

static hg_return_t proc_encode(hg_proc_t proc, struct hg_bulk *bulk)
{
    uint64_t len = 0;
    unsigned flags = 0;
    void *room = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (bulk == HG_BULK_NULL)
        return hg_proc_uint64_t(proc, &len);
    rc = amg_bulk_register(bulk);
    if (rc != HG_SUCCESS)
        return rc;
    flags = proc_pack_flags(proc, bulk);
    len = amg_bulk_packed_len(bulk, flags);
    rc = hg_proc_uint64_t(proc, &len);
    if (rc != HG_SUCCESS)
        return rc;
    room = hg_proc_save_ptr(proc, len);
    if (room == NULL)
        return HG_OVERFLOW;
    amg_bulk_pack(bulk, flags, room);
    return hg_proc_restore_ptr(proc, room, len);
}

static hg_return_t proc_decode(hg_proc_t proc, struct hg_bulk **ret_bulk)
{
    uint64_t len = 0;
    void *bytes = NULL;
    hg_return_t rc = hg_proc_uint64_t(proc, &len);

    if (rc != HG_SUCCESS)
        return rc;
    *ret_bulk = HG_BULK_NULL;
    if (len == 0)
        return HG_SUCCESS;
    if (len > hg_proc_get_size_left(proc))
        return HG_OVERFLOW;
    bytes = hg_proc_save_ptr(proc, len);
    if (bytes == NULL)
        return HG_OVERFLOW;
    rc = amg_bulk_unpack(hg_proc_get_class(proc), bytes, len, false, ret_bulk);
    if (rc != HG_SUCCESS)
        return rc;
    return hg_proc_restore_ptr(proc, bytes, len);
}

hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void *data)
{
    struct hg_bulk **bulk = data;
    hg_return_t rc = HG_SUCCESS;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return proc_encode(proc, *bulk);
    case HG_DECODE:
        return proc_decode(proc, bulk);
    case HG_FREE:
        if (*bulk != HG_BULK_NULL)
            rc = amg_bulk_unref(*bulk);
        *bulk = HG_BULK_NULL;
        return rc;
    }
    return HG_INVALID_ARG;
}

/* Also here, data that a peer may write are not sent along: the copy would lack
 * what the peer wrote. */
static unsigned hand_pack_flags(const struct hg_bulk *bulk, unsigned long flags)
{
    return (flags & HG_BULK_EAGER) != 0 && bulk->is_local && bulk->len > 0 &&
                   bulk->flags == HG_BULK_READ_ONLY
               ? AMG_BULK_PACK_EAGER
               : 0;
}

hg_size_t HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags)
{
    if (handle == HG_BULK_NULL || amg_bulk_register(handle) != HG_SUCCESS)
        return 0;
    return amg_bulk_packed_len(handle, hand_pack_flags(handle, flags));
}

hg_return_t HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle)
{
    hg_return_t rc = HG_SUCCESS;
    unsigned pack_flags = 0;
    uint64_t len = 0;

    if (!AMG_BULK_OK(handle) || !AMG_GIVEN(buf))
        return amg_refusal();
    rc = amg_bulk_register(handle);
    if (rc != HG_SUCCESS)
        return rc;
    pack_flags = hand_pack_flags(handle, flags);
    len = amg_bulk_packed_len(handle, pack_flags);
    if (len > buf_size) {
        AMG_LOG_ERROR("bulk", "the descriptor needs %llu bytes, not %llu",
            (unsigned long long)len, (unsigned long long)buf_size);
        return HG_OVERFLOW;
    }
    amg_bulk_pack(handle, pack_flags, buf);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_deserialize(hg_class_t *hg_class, hg_bulk_t *handle,
    const void *buf, hg_size_t buf_size)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(handle) || !AMG_GIVEN(buf))
        return amg_refusal();
    return amg_bulk_unpack(hg_class, buf, buf_size, false, handle);
}
