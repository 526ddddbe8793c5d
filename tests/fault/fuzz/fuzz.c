/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the fuzz targets. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mercury.h"

enum { SPOILS_MAX = 7 };

void fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    abort();
}

/* Live heap blocks of the library. */
static uint64_t heap_live(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    FILE *nowhere = fopen("/dev/null", "w");
    const uint8_t nothing = 0;
    struct fuzz fuzz = {&nothing, 0};

    (void)argc;
    (void)argv;
    FUZZ_CHECK(nowhere != NULL);
    /* Log lines are formatted, so that arguments are read, but not written. */
    HG_Set_log_stream("debug", nowhere);
    HG_Set_log_stream("warning", nowhere);
    HG_Set_log_stream("error", nowhere);
    HG_Set_log_level("warning");
    fuzz_run(&fuzz);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz fuzz = {data, len};
    uint64_t live = heap_live();

    fuzz_run(&fuzz);
    FUZZ_CHECK(heap_live() == live);
    return 0;
}

/* The next `len` bytes as a number of at most eight. */
static uint64_t number(struct fuzz *fuzz, size_t len)
{
    uint64_t value = 0;

    if (len > fuzz->left)
        len = fuzz->left;
    if (len > 0)
        memcpy(&value, fuzz->next, len);
    fuzz->next += len;
    fuzz->left -= len;
    return value;
}

uint8_t fuzz_u8(struct fuzz *fuzz)
{
    return (uint8_t)number(fuzz, sizeof(uint8_t));
}

uint16_t fuzz_u16(struct fuzz *fuzz)
{
    return (uint16_t)number(fuzz, sizeof(uint16_t));
}

uint32_t fuzz_u32(struct fuzz *fuzz)
{
    return (uint32_t)number(fuzz, sizeof(uint32_t));
}

uint64_t fuzz_u64(struct fuzz *fuzz)
{
    return number(fuzz, sizeof(uint64_t));
}

uint64_t fuzz_near(struct fuzz *fuzz, uint64_t near)
{
    uint8_t kind = fuzz_u8(fuzz);

    switch (kind % 4) {
    case 0:
        return near;
    case 1:
        return near + (uint64_t)(int64_t)(int8_t)fuzz_u8(fuzz);
    case 2:
        return UINT64_MAX >> (kind / 4);
    default:
        return fuzz_u64(fuzz);
    }
}

size_t fuzz_bytes(struct fuzz *fuzz, void *to, size_t cap)
{
    size_t len = fuzz_u16(fuzz);

    if (len > cap)
        len = cap;
    if (len > fuzz->left)
        len = fuzz->left;
    if (len > 0)
        memcpy(to, fuzz->next, len);
    fuzz->next += len;
    fuzz->left -= len;
    return len;
}

void fuzz_spoil(struct fuzz *fuzz, void *bytes, size_t len)
{
    unsigned count = fuzz_u8(fuzz) % (SPOILS_MAX + 1);

    for (unsigned i = 0; i < count && len > 0; i++) {
        size_t at = fuzz_u16(fuzz) % len;

        ((uint8_t *)bytes)[at] = fuzz_u8(fuzz);
    }
}
