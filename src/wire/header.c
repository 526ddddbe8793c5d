/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of every request and reply of the RPC layer. */
#include "wire/header.h"

#include <string.h>

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

hg_return_t amg_header_read(const void *data, uint64_t len, uint8_t magic,
    struct amg_header *ret_header, const char **ret_why)
{
    struct amg_header header;

    *ret_why = "it is shorter than its header";
    if (len < AMG_HEADER_LEN)
        return HG_PROTOCOL_ERROR;
    memcpy(&header, data, sizeof(header));
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
