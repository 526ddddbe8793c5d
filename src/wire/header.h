/* SPDX-License-Identifier: BSD-3-Clause */
/* Header of a message, and the checksums in it. */
#ifndef AMG_WIRE_HEADER_H
#define AMG_WIRE_HEADER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "mercury_core_types.h"
#include "mercury_proc.h"

/* Continues `sum`, the checksum of the bytes so far, with `len` bytes. The
 * checksum of no bytes is 0. With HG_NOHASH returns `sum`. */
uint64_t amg_checksum_add(
    hg_proc_hash_t hash, uint64_t sum, const void *data, size_t len);

/* request, 16 bytes            reply, 16 bytes
 *   off len                      off len
 *     0   1 magic 0xa5             0   1 magic 0x5a
 *     1   1 version                1   1 version
 *     2   1 flags                  2   1 flags
 *     3   1 0                      3   1 return code
 *     4   2 checksum; 0: none      4   2 checksum; 0: none
 *     6   2 length u of the        6   2 length u of the
 *           user's own header            user's own header
 *     8   8 id of the RPC, or      8   8 token to name in the ACK when
 *           the token of an ACK          AMG_HEADER_MORE is set, else 0
 *    16   u the user's own header 16   u the user's own header
 *  16+u   n arguments           16+u   n arguments
 *         4 their checksum, when       4 their checksum, when
 *           AMG_HEADER_SUMMED            AMG_HEADER_SUMMED
 *
 * Numbers are in the byte order of the machine, which all ranks of a job share.
 * With the MPI driver's 8 bytes in front, a call without arguments takes 24
 * bytes each way, which MPI sends inline; longer messages take 0.3 us more.
 *
 * AMG_HEADER_MORE: the arguments did not fit. In their place the message has
 * their length (8 bytes), with AMG_HEADER_SUMMED their checksum (4 bytes), and
 * the bulk descriptor by which the receiver fetches the arguments. A checksum
 * at the end of the message then covers these bytes, not the arguments.
 *
 * A sender writes no checksum, that of the head, or both; the receiver checks
 * those that are present, and refuses AMG_HEADER_SUMMED without that of the
 * head: a CRC16 of head and user's header, computed with 0 in its place, where
 * 0 is written as 0xffff; no flag that may be damaged announces it. */

enum {
    AMG_HEADER_LEN = 16,
    AMG_HEADER_ID_AT = 8,    /* offset of the id */
    AMG_HEADER_TAIL_LEN = 4, /* of the checksum of the arguments */
    AMG_HEADER_VERSION = 1,
    AMG_HEADER_REQUEST = 0xa5,
    AMG_HEADER_REPLY = 0x5a,
};

/* ACK with ONE_WAY: the long reply was fetched. ACK without ONE_WAY: a target
 * asks whether the origin, which sent no ACK, is there (rpc/respond.c). */
enum amg_header_flags {
    AMG_HEADER_MORE = 1,    /* the receiver must fetch the arguments */
    AMG_HEADER_ONE_WAY = 2, /* no output; with MORE an empty reply follows */
    AMG_HEADER_ACK = 4,
    AMG_HEADER_SUMMED = 8,   /* the arguments have a checksum */
    AMG_HEADER_SEVERAL = 16, /* the arguments are records (wire/records.h) */
    AMG_HEADER_GROUP = 32,   /* the arguments end with a trailer (rpc/group.h);
                              * with SEVERAL: node leaders pass the calls on */
    AMG_HEADER_CONTROL = 64, /* with ACK: the id is a kind, 16 bytes follow */
    AMG_HEADER_FLAGS_ALL = 127, /* the other bit is for later versions */
};

struct amg_header {
    uint8_t magic;
    uint8_t version;
    uint8_t flags;
    uint8_t ret;
    uint16_t sum;
    uint16_t user_len;
    uint64_t id;
};

/* The first 8 bytes of a head with these flags and neither return code nor
 * checksum nor user's header. */
static inline uint64_t amg_header_plain(uint8_t magic, uint8_t flags)
{
    return htole64(
        magic | (uint64_t)AMG_HEADER_VERSION << 8 | (uint64_t)flags << 16);
}

/* Does a message begin with the word of amg_header_plain()? */
static inline bool amg_header_is_plain(
    const void *data, uint64_t len, uint8_t magic, uint8_t flags)
{
    uint64_t word = 0;

    if (!AMG_LIKELY(len >= AMG_HEADER_LEN))
        return false;
    memcpy(&word, data, sizeof(word));
    return word == amg_header_plain(magic, flags);
}

/* Writes the 16 bytes to `data`, without checksum or user's header. */
static inline void amg_header_write_request(
    void *data, uint8_t flags, uint64_t id)
{
    const uint64_t words[2] = {amg_header_plain(AMG_HEADER_REQUEST, flags), id};

    memcpy(data, words, sizeof(words));
}

static inline void amg_header_write_reply(
    void *data, uint8_t flags, hg_return_t ret, uint64_t token)
{
    const uint64_t words[2] = {amg_header_plain(AMG_HEADER_REPLY, flags) |
                                   htole64((uint64_t)(uint8_t)ret << 24),
        token};

    memcpy(data, words, sizeof(words));
}

/* Writes into a head the length of the user's header, which follows the head,
 * and with `is_signed` the checksum of both. */
void amg_header_complete(void *data, uint16_t user_len, bool is_signed);

/* Reads and checks a head. HG_CHECKSUM_ERROR: damaged. HG_PROTOCOL_ERROR: too
 * short, of another kind or version, or with unknown values. `*ret_why`: the
 * cause, for the log. The parts in front of and behind the arguments fit. */
hg_return_t amg_header_read(const void *data, uint64_t len, uint8_t magic,
    struct amg_header *ret_header, const char **ret_why);

/* Bytes of the arguments in a message of `len` bytes whose head was read. */
static inline uint64_t amg_header_args_len(
    const struct amg_header *header, uint64_t len)
{
    len -= AMG_HEADER_LEN + (uint64_t)header->user_len;
    return (header->flags & AMG_HEADER_SUMMED) != 0 ? len - AMG_HEADER_TAIL_LEN
                                                    : len;
}

#endif
