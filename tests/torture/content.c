/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of a call: bytes that follow from its id. */
#include "content.h"

#include <string.h>

uint64_t content_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15ull;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

uint64_t content_key(uint64_t id, enum content what)
{
    return content_mix(id ^ (uint64_t)what << 60);
}

static uint64_t word_at(uint64_t key, size_t word)
{
    return (key + word) * 0xff51afd7ed558ccdull;
}

uint8_t content_byte(uint64_t key, size_t at)
{
    return (uint8_t)(word_at(key, at / 8) >> at % 8 * 8);
}

/* The bytes before the first whole word of the sequence. */
static size_t head_len(size_t len, size_t at)
{
    size_t head = (8 - at % 8) % 8;

    return head < len ? head : len;
}

void content_fill(void *bytes, size_t len, uint64_t key, size_t at)
{
    uint8_t *to = bytes;
    size_t i = 0;

    for (; i < head_len(len, at); i++)
        to[i] = content_byte(key, at + i);
    for (; i + 8 <= len; i += 8) {
        uint64_t word = word_at(key, (at + i) / 8);

        memcpy(to + i, &word, sizeof(word));
    }
    for (; i < len; i++)
        to[i] = content_byte(key, at + i);
}

size_t content_differs(const void *bytes, size_t len, uint64_t key, size_t at)
{
    const uint8_t *from = bytes;
    size_t i = 0;

    for (; i < head_len(len, at); i++)
        if (from[i] != content_byte(key, at + i))
            return i;
    for (; i + 8 <= len; i += 8) {
        uint64_t word = word_at(key, (at + i) / 8);

        if (memcmp(from + i, &word, sizeof(word)) != 0)
            break;
    }
    for (; i < len; i++)
        if (from[i] != content_byte(key, at + i))
            return i;
    return len;
}
