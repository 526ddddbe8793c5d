/* SPDX-License-Identifier: BSD-3-Clause */
/* Who breaks a rule is told so, and the process ends. */
#ifndef TESTS_OFI_SHIM_SHIM_BREACH_H
#define TESTS_OFI_SHIM_SHIM_BREACH_H

#include <stdbool.h>

#include "ofi/shim/shim_profile.h"

/* The one in use. */
extern const struct shim_profile *shim_profile;

/* Sets profile and seed; says both. */
void shim_breach_init(const struct shim_profile *profile);
/* Prints what was done, by which call; then abort(). */
__attribute__((noreturn, format(printf, 2, 3))) void shim_breach(
    const char *call, const char *what, ...);

/* A number; the same ones for the same seed. */
uint64_t shim_dice(void);
/* True about `count` times of 256. */
bool shim_dice_is(unsigned count);

#endif
