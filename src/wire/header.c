/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of every request and reply of the RPC layer. */
#include "wire/header.h"

#include <stddef.h>
#include <string.h>

#include "wire/checksum.h"

_Static_assert(sizeof(struct amg_header) == AMG_HEADER_LEN,
    "the head on the wire is the struct");

void amg_header_write_request(void *data, uint8_t flags, uint64_t id)
{
    const struct amg_header header = {
        .magic = AMG_HEADER_REQUEST,
        .version = AMG_HEADER_VERSION,
        .flags = flags,
        .id = id,
    };

    memcpy(data, &header, sizeof(header));
}

void amg_header_write_reply(
    void *data, uint8_t flags, hg_return_t ret, uint64_t token)
{
    const struct amg_header header = {
        .magic = AMG_HEADER_REPLY,
        .version = AMG_HEADER_VERSION,
        .flags = flags,
        .ret = (uint8_t)ret,
        .id = token,
    };

    memcpy(data, &header, sizeof(header));
}

void amg_header_set_user_len(void *data, uint16_t user_len)
{
    memcpy((char *)data + offsetof(struct amg_header, user_len), &user_len,
        sizeof(user_len));
}

/* The sum of a head, and of the user's header behind it. */
static uint16_t header_sum(const void *data, struct amg_header header)
{
    uint64_t sum = 0;

    header.sum = 0;
    sum = amg_checksum_add(HG_CRC16, 0, &header, sizeof(header));
    sum = amg_checksum_add(
        HG_CRC16, sum, (const char *)data + AMG_HEADER_LEN, header.user_len);
    return sum == 0 ? UINT16_MAX : (uint16_t)sum;
}

void amg_header_sign(void *data)
{
    struct amg_header header;

    memcpy(&header, data, sizeof(header));
    header.sum = header_sum(data, header);
    memcpy(data, &header, sizeof(header));
}

/* The sum comes first: of a damaged head nothing else means anything. */
static hg_return_t sums_check(const void *data, uint64_t len,
    const struct amg_header *header, const char **ret_why)
{
    uint64_t need = AMG_HEADER_LEN + (uint64_t)header->user_len;

    *ret_why = "its header is damaged: the checksum is another one";
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

hg_return_t amg_header_read_any(const void *data, uint64_t len, uint8_t magic,
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
