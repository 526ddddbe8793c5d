/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions, contracts, and test points. */
#ifndef AMG_BASE_ASSERT_H
#define AMG_BASE_ASSERT_H

#include <stdbool.h>

#include "mercury_core_types.h"

/* Prints the place and the condition, and ends the process. */
void amg_assert_fail(const char *what, const char *file, int line);

/* Logs how the program broke the documented contract of the public function
 * `call`; ends the process, in any build, when AMALGAM_ABORT_ON_MISUSE is set
 * in the environment, else returns false.
 */
bool amg_contract_broken(const char *call, const char *form, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Logs the call that was given a freed object of `kind`, or NULL; stops as
 * amg_contract_broken(). Returns false. */
bool amg_contract_gone(const char *call, const char *kind, const void *object);
/* Logs like amg_contract_gone(); with `is_inherited`, for an object of the
 * parent of this process, nothing yet. Returns false. */
bool amg_contract_not_ours(
    const char *call, const char *kind, const void *object, bool is_inherited);

/* Result of a call whose last check failed: HG_INVALID_ARG, or for an inherited
 * object HG_OPNOTSUPPORTED, which is logged once. */
hg_return_t amg_refusal(void);
/* Result of such a call that ends the object: HG_INVALID_ARG, or for an
 * inherited object, of which nothing is left to end, HG_SUCCESS. */
hg_return_t amg_refusal_end(void);

/* Moves the code of the other branch out of line. */
#define AMG_LIKELY(expr) __builtin_expect(!!(expr), 1)

/* A function that must not be inlined: else its callers would save registers
 * and reserve stack on paths that do not need them. */
#define AMG_NOINLINE __attribute__((noinline))

/* A function of the fast path that is always inlined, as part of its callers:
 * so they keep what it is given in registers. */
#define AMG_INLINE inline __attribute__((always_inline))

/* An object that need not be there: its address is NULL then. */
#define AMG_WEAK __attribute__((weak))

/* A false condition is a bug of the library. Checked in every build. */
#define AMG_ASSERT(expr)                                                       \
    (AMG_LIKELY(expr) ? (void)0 : amg_assert_fail(#expr, __FILE__, __LINE__))

/* A false condition is a contract of the public function `call` that the
 * program broke. The text that follows, a format of printf(), has the argument,
 * its value and what is allowed. The check is an expression, so that the
 * `return` of the error stays visible; and false for the compiler, too, which
 * would else analyse impossible paths. */
#define AMG_CONTRACT_OF(call, expr, ...)                                       \
    (AMG_LIKELY(expr) ? true                                                   \
                      : (amg_contract_broken((call), __VA_ARGS__), false))

/* In a public function itself. */
#define AMG_CONTRACT(expr, ...) AMG_CONTRACT_OF(__func__, expr, __VA_ARGS__)

/* A pointer or handle that the program must give. */
#define AMG_GIVEN(pointer)                                                     \
    AMG_CONTRACT((pointer) != NULL, "%s is NULL", #pointer)

/* The same for an object that the caller passes: does it exist? Its memory
 * holds only objects of its kind as long as the process lives (struct
 * amg_attic), so that a freed object can be recognised.
 */
#define AMG_ALIVE(is_alive, kind, object)                                      \
    (AMG_LIKELY(is_alive)                                                      \
            ? true                                                             \
            : (amg_contract_gone(__func__, (kind), (object)), false))

/* Does the object exist, and is it no object of the parent? `is_inherited` is
 * evaluated if the answer is no, for an object that is not NULL. */
#define AMG_OURS(is_ours, is_inherited, kind, object)                          \
    (AMG_LIKELY(is_ours) ? true                                                \
                         : (amg_contract_not_ours(__func__, (kind), (object),  \
                                (object) != NULL && (is_inherited)),           \
                               false))

/* Test points: named places where a test may stop a thread, to make rare
 * schedules deterministic. Compiled in debug and sanitizer builds only, where
 * AMG_TEST_POINTS is defined; elsewhere a point is empty, and a test that needs
 * one is skipped. The hook runs in the thread that reaches the point, under the
 * locks held there, so it must not call functions of the library that take
 * them. */

/* NULL: no hook. */
typedef void (*amg_test_point_fn)(const char *name);

/* From now on each point calls it, in any thread; NULL removes it. */
void amg_test_point_set(amg_test_point_fn fn);

/* By the points. */
void amg_test_point_reach(const char *name);

/* AMG_ASSERT_DEEP(): an assertion that looks at a whole object; only in builds
 * with test points, as it takes long. */
#if defined(AMG_TEST_POINTS)
#define AMG_TEST_POINT(name)  amg_test_point_reach(name)
#define AMG_ASSERT_DEEP(expr) AMG_ASSERT(expr)
#else
#define AMG_TEST_POINT(name)  ((void)0)
#define AMG_ASSERT_DEEP(expr) ((void)0)
#endif

#endif
