/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: one-way calls of one RPC that share a message. */
#ifndef AMG_WIRE_RECORDS_H
#define AMG_WIRE_RECORDS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

/* The body of a request with AMG_HEADER_SEVERAL is a sequence of records:
 *
 *   off len
 *     0   8 n, length of the argument (little-endian), <= AMG_RECORD_ARG_MAX
 *     8   n the argument
 *   8+n     zeros to a multiple of 8
 *
 * The header's id is the RPC of all records. A request of records is one-way,
 * and has neither checksums nor a header of the user.
 *
 * With AMG_HEADER_GROUP, node leaders pass the calls on (rpc/relay.c): each
 * argument is a struct amg_relayed, whose `arg` may be shorter. The id is the
 * rank that the message goes to, and in its lower half a kind. */

struct amg_relayed {
    uint32_t target; /* a rank, as is the caller */
    uint32_t caller;
    uint64_t id;
    uint64_t arg[8];
};

enum {
    AMG_RECORD_HEAD_LEN = 8,
    AMG_RECORD_ARG_MAX = sizeof(struct amg_relayed),
    AMG_RELAYED_LEN = offsetof(struct amg_relayed, arg),
};

enum amg_relayed_kind {
    AMG_RELAYED_OUT, /* to the leader of the sender's node */
    AMG_RELAYED_IN,  /* to the leader of the targets' node */
    AMG_RELAYED_DOWN /* to the target */
};

/* Bytes of a record. */
static inline uint32_t amg_record_len(uint32_t arg_len)
{
    return AMG_RECORD_HEAD_LEN + ((arg_len + 7u) & ~7u);
}

/* Writes a record to `to`, which is aligned to 8. */
static inline void amg_record_write(void *to, const void *arg, uint32_t arg_len)
{
    uint64_t *words = to;

    AMG_ASSERT(arg_len <= AMG_RECORD_ARG_MAX);
    words[amg_record_len(arg_len) / 8 - 1] = 0;
    words[0] = htole64(arg_len);
    if (arg_len > 0)
        memcpy(&words[1], arg, arg_len);
}

/* amg_record_write() without a call of memcpy(), for a multiple of 8 bytes. */
static inline void amg_record_write_words(
    void *to, const void *arg, uint32_t arg_len)
{
    uint64_t *words = to;
    const char *from = arg;

    *words++ = htole64(arg_len);
    for (uint32_t i = 0; i < arg_len; i += sizeof(*words))
        memcpy(words++, from + i, sizeof(*words));
}

/* Returns the length of the record at `from`, where `rest` bytes can be read,
 * and the length of its argument, at most `arg_max`. 0: no such record. Reads
 * the length field only once, because the sender may change it meanwhile. */
static inline uint32_t amg_record_read(
    const void *from, uint32_t rest, uint32_t arg_max, uint32_t *ret_arg_len)
{
    uint64_t arg_len = 0;

    if (!AMG_LIKELY(rest >= AMG_RECORD_HEAD_LEN))
        return 0;
    arg_len = le64toh(*(const volatile uint64_t *)from);
    if (!AMG_LIKELY(
            arg_len <= arg_max && amg_record_len((uint32_t)arg_len) <= rest))
        return 0;
    *ret_arg_len = (uint32_t)arg_len;
    return amg_record_len((uint32_t)arg_len);
}

/* Number of records in `len` bytes, which are aligned to 8; 0: no record, or a
 * malformed one, or one whose argument is too short or too long. */
static inline uint32_t amg_records_count(
    const void *records, uint64_t len, uint32_t arg_min, uint32_t arg_max)
{
    uint64_t at = 0;
    uint32_t count = 0;

    if (len > UINT32_MAX)
        return 0;
    while (at < len) {
        uint32_t arg_len = 0;
        uint32_t record_len = amg_record_read((const char *)records + at,
            (uint32_t)(len - at), arg_max, &arg_len);

        if (record_len == 0 || arg_len < arg_min)
            return 0;
        at += record_len;
        count++;
    }
    AMG_ASSERT(at == len);
    return count;
}

#endif
