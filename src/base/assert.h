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
 * in the environment, else returns false. */
bool amg_contract_broken(const char *call, const char *form, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Logs that `call` was given a freed object of `kind`, or NULL. Returns false,
 * or ends the process where amg_contract_broken() does. */
bool amg_contract_gone(const char *call, const char *kind, const void *object);
/* amg_contract_gone(), but logs nothing if `is_inherited`: the object is of the
 * parent of this process, and amg_refusal() logs the call. Returns false. */
bool amg_contract_not_ours(
    const char *call, const char *kind, const void *object, bool is_inherited);

/* Result of a call whose last check failed: HG_INVALID_ARG; for an inherited
 * object HG_OPNOTSUPPORTED, with one log line per process. */
hg_return_t amg_refusal(void);
/* Result of a call that ends an object and whose last check failed:
 * HG_INVALID_ARG, or HG_SUCCESS if the object is inherited: nothing is left to
 * end. */
hg_return_t amg_refusal_end(void);

/* `expr` is usually true: moves the code for false out of line. */
#define AMG_LIKELY(expr) __builtin_expect(!!(expr), 1)

/* A function that must not be inlined, so that its callers neither save
 * registers nor reserve stack on paths that do not call the function. */
#define AMG_NOINLINE __attribute__((noinline))

/* A function of the fast path that is always inlined, so that its callers keep
 * the arguments in registers. */
#define AMG_INLINE inline __attribute__((always_inline))

/* A symbol that may be undefined: its address is NULL then. */
#define AMG_WEAK __attribute__((weak))

/* A false condition is a bug of the library. Checked in every build. */
#define AMG_ASSERT(expr)                                                       \
    (AMG_LIKELY(expr) ? (void)0 : amg_assert_fail(#expr, __FILE__, __LINE__))

/* A false condition is a contract of the public function `call` that the
 * program broke. A text, as of printf(), tells the wrong argument, its value
 * and what is allowed. The check is an expression, so that the `return` of the
 * error stays visible; its value on failure is a constant, so that the compiler
 * does not analyse impossible paths. */
#define AMG_CONTRACT_OF(call, expr, ...)                                       \
    (AMG_LIKELY(expr) ? true                                                   \
                      : (amg_contract_broken((call), __VA_ARGS__), false))

/* AMG_CONTRACT_OF() for the public function that has the check. */
#define AMG_CONTRACT(expr, ...) AMG_CONTRACT_OF(__func__, expr, __VA_ARGS__)

/* A pointer or handle that the program must give. */
#define AMG_GIVEN(pointer)                                                     \
    AMG_CONTRACT((pointer) != NULL, "%s is NULL", #pointer)

/* Does the object that the program passed exist? A freed object is recognised,
 * because its memory holds only objects of that kind as long as the process
 * lives (struct amg_attic). */
#define AMG_ALIVE(is_alive, kind, object)                                      \
    (AMG_LIKELY(is_alive)                                                      \
            ? true                                                             \
            : (amg_contract_gone(__func__, (kind), (object)), false))

/* Does the object exist, and is it not inherited over fork()? `is_inherited` is
 * evaluated only if `is_ours` is false and `object` is not NULL. */
#define AMG_OURS(is_ours, is_inherited, kind, object)                          \
    (AMG_LIKELY(is_ours) ? true                                                \
                         : (amg_contract_not_ours(__func__, (kind), (object),  \
                                (object) != NULL && (is_inherited)),           \
                               false))

/* Test points: named places where a test may stop a thread, to make rare
 * schedules deterministic. Compiled in debug and sanitizer builds only, where
 * AMG_TEST_POINTS is defined; elsewhere a point is empty, and a test that needs
 * a point is skipped. The hook runs in the thread that reaches the point, under
 * the locks held there, so the hook must not call functions of the library that
 * take those locks. */

/* Hook of a test; `name`: the point that a thread has reached. */
typedef void (*amg_test_point_fn)(const char *name);

/* Sets the hook that all points call from now on, in any thread; NULL: none. */
void amg_test_point_set(amg_test_point_fn fn);

/* Called by AMG_TEST_POINT(). */
void amg_test_point_reach(const char *name);

/* AMG_ASSERT_DEEP() checks in builds with test points only: for assertions over
 * a whole object, or on the path of every small message. */
#if defined(AMG_TEST_POINTS)
#define AMG_TEST_POINT(name)  amg_test_point_reach(name)
#define AMG_ASSERT_DEEP(expr) AMG_ASSERT(expr)
#else
#define AMG_TEST_POINT(name)  ((void)0)
#define AMG_ASSERT_DEEP(expr) ((void)sizeof(!(expr)))
#endif

#endif
