/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program does that computes. */
#include "jobs/bench/base/work.h"

#include <stdint.h>

#include "jobs/bench/base/clock.h"

enum {
    UNIT_STEPS = 1 << 18,
    SHORT_STEPS = 1 << 12, /* between two looks at the clock */
    /* 16 KiB: half of a first level cache, so a thread that comes by is felt */
    WORDS = 2048,
};

static uint64_t words[WORDS];

/* Each step needs the one before, and a word that it leads to. */
static void steps_do(unsigned count)
{
    static volatile uint64_t result; /* so that the work is not left out */
    uint64_t state = result;

    for (unsigned i = 0; i < count; i++) {
        uint64_t *word = &words[state >> 53];

        /* Knuth's MMIX generator. */
        state = state * 6364136223846793005u + 1442695040888963407u + *word;
        *word = state >> 32;
    }
    result = state;
}

void work_unit(void)
{
    steps_do(UNIT_STEPS);
}

void work_for_us(double us)
{
    double end_us = clock_now_us() + us;

    while (clock_now_us() < end_us)
        steps_do(SHORT_STEPS);
}
