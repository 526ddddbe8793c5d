/* SPDX-License-Identifier: BSD-3-Clause */
/* Header of a message, and the checksums in it. */
#include "wire/header.h"

#include <stddef.h>
#include <string.h>
#include <zlib.h>

/* kind      polynomial          from                  sum of "123456789"
 *   HG_CRC16  8bb7                T10-DIF, SBC-3        d0db
 *   HG_CRC32  04c11db7 reflected  zlib                  cbf43926
 *   HG_CRC64  42f0e1eba9ea3693    ECMA-182              6c40df5f0b497347
 *
 * zlib computes the CRC32, the checksum of arguments, which may be long. The
 * functions below compute CRC16 and CRC64 half a byte at a time, by tables. */

static const uint16_t checksum_table16[16] = {0x0000, 0x8bb7, 0x9cd9, 0x176e,
    0xb205, 0x39b2, 0x2edc, 0xa56b, 0xefbd, 0x640a, 0x7364, 0xf8d3, 0x5db8,
    0xd60f, 0xc161, 0x4ad6};

static const uint64_t checksum_table64[16] = {0x0000000000000000u,
    0x42f0e1eba9ea3693u, 0x85e1c3d753d46d26u, 0xc711223cfa3e5bb5u,
    0x493366450e42ecdfu, 0x0bc387aea7a8da4cu, 0xccd2a5925d9681f9u,
    0x8e224479f47cb76au, 0x9266cc8a1c85d9beu, 0xd0962d61b56fef2du,
    0x17870f5d4f51b498u, 0x5577eeb6e6bb820bu, 0xdb55aacf12c73561u,
    0x99a54b24bb2d03f2u, 0x5eb4691841135847u, 0x1c4488f3e8f96ed4u};

static uint64_t sum16_add(uint64_t sum, const uint8_t *bytes, size_t len)
{
    uint16_t crc = (uint16_t)sum;

    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc << 4) ^
              checksum_table16[(crc >> 12) ^ (bytes[i] >> 4)];
        crc = (uint16_t)(crc << 4) ^
              checksum_table16[(crc >> 12) ^ (bytes[i] & 15)];
    }
    return crc;
}

static uint64_t sum64_add(uint64_t sum, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum = (sum << 4) ^ checksum_table64[(sum >> 60) ^ (bytes[i] >> 4)];
        sum = (sum << 4) ^ checksum_table64[(sum >> 60) ^ (bytes[i] & 15)];
    }
    return sum;
}

uint64_t amg_checksum_add(
    hg_proc_hash_t hash, uint64_t sum, const void *data, size_t len)
{
    if (len == 0)
        return sum;
    switch (hash) {
    case HG_CRC16:
        return sum16_add(sum, data, len);
    case HG_CRC32:
        return crc32_z((uLong)sum, data, len);
    case HG_CRC64:
        return sum64_add(sum, data, len);
    case HG_NOHASH:
        break;
    }
    return sum;
}

_Static_assert(sizeof(struct amg_header) == AMG_HEADER_LEN,
    "the head on the wire is the struct");

/* The checksum of a head and of the user's header behind it. */
static uint16_t header_sum(const void *data, struct amg_header header)
{
    uint64_t sum = 0;

    header.sum = 0;
    sum = amg_checksum_add(HG_CRC16, 0, &header, sizeof(header));
    sum = amg_checksum_add(
        HG_CRC16, sum, (const char *)data + AMG_HEADER_LEN, header.user_len);
    return sum == 0 ? UINT16_MAX : (uint16_t)sum;
}

void amg_header_complete(void *data, uint16_t user_len, bool is_signed)
{
    struct amg_header header;

    memcpy(&header, data, sizeof(header));
    header.user_len = user_len;
    if (is_signed)
        header.sum = header_sum(data, header);
    memcpy(data, &header, sizeof(header));
}

/* Checks the checksum first: no other field of a damaged head is valid. */
static hg_return_t sums_check(const void *data, uint64_t len,
    const struct amg_header *header, const char **ret_why)
{
    uint64_t need = AMG_HEADER_LEN + (uint64_t)header->user_len;

    *ret_why = "its header is damaged (checksum mismatch)";
    if (header->sum != 0 &&
        (need > len || header_sum(data, *header) != header->sum))
        return HG_CHECKSUM_ERROR;
    if ((header->flags & AMG_HEADER_SUMMED) != 0) {
        *ret_why = "its arguments have a checksum, and its header has none";
        if (header->sum == 0)
            return HG_PROTOCOL_ERROR;
        need += AMG_HEADER_TAIL_LEN;
    }
    *ret_why = "it is shorter than its header says";
    return need > len ? HG_PROTOCOL_ERROR : HG_SUCCESS;
}

hg_return_t amg_header_read(const void *data, uint64_t len, uint8_t magic,
    struct amg_header *ret_header, const char **ret_why)
{
    struct amg_header header;
    hg_return_t rc = HG_SUCCESS;

    *ret_why = "it is shorter than its header";
    if (len < AMG_HEADER_LEN)
        return HG_PROTOCOL_ERROR;
    memcpy(&header, data, sizeof(header));
    if (header.sum != 0 || header.user_len != 0 ||
        (header.flags & AMG_HEADER_SUMMED) != 0) {
        rc = sums_check(data, len, &header, ret_why);
        if (rc != HG_SUCCESS)
            return rc;
    }
    *ret_why = "it is not of this protocol";
    if (header.magic != magic)
        return HG_PROTOCOL_ERROR;
    *ret_why = "it is of another version of the protocol";
    if (header.version != AMG_HEADER_VERSION)
        return HG_PROTOCOL_ERROR;
    *ret_why = "it has flags or a code that do not exist";
    if ((header.flags & ~AMG_HEADER_FLAGS_ALL) != 0 ||
        header.ret >= HG_RETURN_MAX)
        return HG_PROTOCOL_ERROR;
    *ret_header = header;
    return HG_SUCCESS;
}
