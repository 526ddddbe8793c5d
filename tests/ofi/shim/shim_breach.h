/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of a breach, which ends the process; random numbers. */
#ifndef TESTS_OFI_SHIM_SHIM_BREACH_H
#define TESTS_OFI_SHIM_SHIM_BREACH_H

#include <stdbool.h>

#include "ofi/shim/shim_profile.h"

/* The profile in use. */
extern const struct shim_profile *shim_profile;

/* Sets profile and seed, and prints both. */
void shim_breach_init(const struct shim_profile *profile);
/* Prints the breach and the call, then abort(). */
__attribute__((noreturn, format(printf, 2, 3))) void shim_breach(
    const char *call, const char *what, ...);

/* A random number, reproducible by the seed. */
uint64_t shim_dice(void);
/* True `count` times of 256, on average. */
bool shim_dice_is(unsigned count);

#endif
