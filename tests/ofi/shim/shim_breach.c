/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of a breach, which ends the process; random numbers. */
#include "ofi/shim/shim_breach.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ofi/shim/shim.h"

const struct shim_profile *shim_profile;

static uint64_t seed;
static _Atomic uint64_t thrown;

void shim_breach_init(const struct shim_profile *profile)
{
    const char *text = getenv(SHIM_ENV_SEED);
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = text != NULL ? strtoull(text, NULL, 0)
                        : (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32;
    atomic_store(&thrown, 0);
    shim_profile = profile;
    fprintf(stderr,
        "shim: process %ld has the profile %s and " SHIM_ENV_SEED "=%llu\n",
        (long)getpid(), profile->name, (unsigned long long)seed);
}

void shim_breach(const char *call, const char *what, ...)
{
    va_list args;

    va_start(args, what);
    fprintf(stderr,
        "shim: process %ld breaks a rule of %s in %s(): ", (long)getpid(),
        shim_profile->name, call);
    vfprintf(stderr, what, args);
    fprintf(stderr, " (" SHIM_ENV_SEED "=%llu)\n", (unsigned long long)seed);
    va_end(args);
    fflush(stderr);
    abort();
}

uint64_t shim_dice(void)
{
    uint64_t x = seed + atomic_fetch_add(&thrown, 1) * 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

bool shim_dice_is(unsigned count)
{
    return shim_dice() % 256 < count;
}
