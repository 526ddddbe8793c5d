/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions of the stand-in, and the numbers that follow from its seed.
 *
 * Each seed draws how much of each decision it has; none at all is one of the
 * amounts, so that seeds differ in what they combine. A variable of the
 * environment sets one for all seeds, for instance to 0, by which a failing
 * seed is cut down to the decisions that it needs. Calls that fail are never
 * drawn: only programs that expect them ask for them. */
#include "mpi/strict/strict_core.h"

#include <stdio.h>
#include <stdlib.h>

#include "mpi/strict/strict.h"

enum { AMOUNTS = 4, NOBODY = 0x7fffffff };

static const struct {
    const char *name;
    unsigned amounts[AMOUNTS]; /* one of them is drawn, by a seed; */
    unsigned unseeded;         /* this without one */
} rows[STRICT_CHOICES] = {
    /* A send is passed on up to so many calls of its sender later, as by
     * ch4:ofi where the provider has no room; MPI that waits passes on all. */
    [STRICT_DELAY] = {"DELAY", {0, 2, 12, 60}},
    /* So many of 256 sends that wait are copied, and complete at once. */
    [STRICT_EARLY] = {"EARLY", {0, 64, 200, 256}},
    /* A send may pass waiting ones to its target 1: of other communicators; 2:
     * also of other tags, if no receive or probe was for any tag. */
    [STRICT_OVERTAKE] = {"OVERTAKE", {0, 1, 2, 2}},
    /* A test says "not yet" up to so often of what is complete. */
    [STRICT_NOTYET] = {"NOTYET", {0, 1, 3, 20}},
    /* MPI_Testsome leaves out so many of 256 complete ones. */
    [STRICT_SUBSET] = {"SUBSET", {0, 64, 128, 230}},
    /* A put or accumulate is passed on up to so many calls later. */
    [STRICT_LATE] = {"LATE", {0, 2, 12, 60}},
    /* A collective call is complete up to so many tests later. */
    [STRICT_SLOW] = {"SLOW", {0, 0, 10, 200}},
    /* One of the first so many calls of Amalgam that may fail does. */
    [STRICT_FAIL] = {"FAIL", {0, 0, 0, 0}},
    /* Checks. 1: memory for a message is full of garbage until it came. 0 for
     * programs that transfer from memory that others write at the time. */
    [STRICT_POISON] = {"POISON", {1, 1, 1, 1}, 1},
    /* 1: two requests must not have the same memory. Amalgam leaves it to its
     * users not to transfer to one place twice at a time. */
    [STRICT_OVERLAP] = {"OVERLAP", {0, 0, 0, 0}},
    /* 1: nothing may be left at MPI_Finalize. 0 for programs that close a class
     * before all peers have answered: it says so, and keeps a communicator. */
    [STRICT_LEAKS] = {"LEAKS", {1, 1, 1, 1}, 1},
    /* Every second rank begins and ends a collective call up to so many turns
     * late: calls that block also return late, a request takes more tests. */
    [STRICT_STALL] = {"STALL", {0, 0, 0, 100}},
    /* The rank of MPI_COMM_WORLD that dies, at its so-manyth message or receive
     * since the last MPI_Pcontrol(STRICT_RESEED); 0: drawn. */
    [STRICT_DEAD] = {"DEAD", {NOBODY, NOBODY, NOBODY, NOBODY}, NOBODY},
    [STRICT_DEAD_AT] = {"DEAD_AT", {0, 0, 0, 0}},
};

static uint64_t seed;
static uint64_t thrown; /* guarded by the lock of calls */
static unsigned values[STRICT_CHOICES];

uint64_t strict_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a + b * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void strict_choice_seed(uint64_t number)
{
    char name[64];

    seed = number;
    thrown = 0;
    for (unsigned i = 0; i < STRICT_CHOICES; i++) {
        const char *text = NULL;

        snprintf(name, sizeof(name), STRICT_ENV_PREFIX "%s", rows[i].name);
        text = getenv(name);
        values[i] = seed == 0 ? rows[i].unseeded
                              : rows[i].amounts[strict_mix(seed, i) % AMOUNTS];
        if (text != NULL && text[0] != '\0')
            values[i] = (unsigned)strtoul(text, NULL, 0);
    }
}

void strict_choice_init(void)
{
    const char *text = getenv(STRICT_ENV_SEED);

    strict_choice_seed(text != NULL ? strtoull(text, NULL, 0) : 0);
}

uint64_t strict_seed(void)
{
    return seed;
}

unsigned strict_choice(enum strict_choice choice)
{
    return values[choice];
}

uint64_t strict_dice(void)
{
    return strict_mix(strict_mix(seed, (uint64_t)strict_rank), ++thrown);
}

bool strict_dice_is(unsigned count)
{
    return count > 0 && strict_dice() % 256 < count;
}

unsigned strict_dice_upto(unsigned max)
{
    return max == 0 ? 0 : (unsigned)(strict_dice() % (max + 1));
}
