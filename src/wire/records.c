/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: one-way calls of one RPC that share a message. */
#include "wire/records.h"

uint32_t amg_records_count(const void *records, uint64_t len)
{
    uint64_t at = 0;
    uint32_t count = 0;

    if (len > UINT32_MAX)
        return 0;
    while (at < len) {
        uint32_t arg_len = 0;
        uint32_t record_len = amg_record_read(
            (const char *)records + at, (uint32_t)(len - at), &arg_len);

        if (record_len == 0)
            return 0;
        at += record_len;
        count++;
    }
    return count;
}
