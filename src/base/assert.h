/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions, contracts, and the names of return codes. */
#ifndef AMG_BASE_ASSERT_H
#define AMG_BASE_ASSERT_H

#include <stdbool.h>

/* Prints where and what, and ends the process. */
void amg_assert_fail(const char *what, const char *file, int line);

/* Says which documented contract a call broke; ends the process, in any build,
 * when AMALGAM_ABORT_ON_MISUSE is set in the environment, else returns false.
 */
bool amg_contract_broken(const char *what, const char *file, int line);

/* Says which call was given an object of `kind` that is not there any more, or
 * none; stops as amg_contract_broken(). False. */
bool amg_contract_gone(const char *call, const char *kind, const void *object);

/* Lays the other branch out of the way. */
#define AMG_LIKELY(expr) __builtin_expect(!!(expr), 1)

/* A function that stays apart from its callers: were it inlined, these would
 * save registers and make room for it where they do not need it. */
#define AMG_NOINLINE __attribute__((noinline))

/* We are wrong if this does not hold. Checked in every build. */
#define AMG_ASSERT(expr)                                                       \
    (AMG_LIKELY(expr) ? (void)0 : amg_assert_fail(#expr, __FILE__, __LINE__))

/* The caller broke the documented contract if this does not hold. It is an
 * expression, so that the `return` of the error stays visible; and false for
 * the compiler, too, which else follows what cannot be. */
#define AMG_CONTRACT(expr)                                                     \
    (AMG_LIKELY(expr)                                                          \
            ? true                                                             \
            : (amg_contract_broken(#expr, __FILE__, __LINE__), false))

/* The same of an object that the caller names: is it there? It lies in memory
 * that holds nothing but objects of its kind, as long as the process lives
 * (base/attic.h), so that one which is gone can be told from one that is not.
 */
#define AMG_ALIVE(is_alive, kind, object)                                      \
    (AMG_LIKELY(is_alive)                                                      \
            ? true                                                             \
            : (amg_contract_gone(__func__, (kind), (object)), false))

#endif
