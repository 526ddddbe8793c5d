/* SPDX-License-Identifier: BSD-3-Clause */
/* Named places in the code where a test may stop a thread, to make rare
 * schedules deterministic.
 *
 * Compiled in debug and sanitizer builds only, where AMG_TEST_POINTS is
 * defined; elsewhere a point is empty, and a test that needs one is skipped.
 * The hook runs in the thread that reaches the point, under the locks held
 * there, so it must not call functions of the library that take them. */
#ifndef AMG_BASE_TEST_POINT_H
#define AMG_BASE_TEST_POINT_H

/* NULL: no hook. */
typedef void (*amg_test_point_fn)(const char *name);

/* From now on each point calls it, in any thread; NULL removes it. */
void amg_test_point_set(amg_test_point_fn fn);

/* By the points. */
void amg_test_point_reach(const char *name);

#if defined(AMG_TEST_POINTS)
#define AMG_TEST_POINT(name) amg_test_point_reach(name)
#else
#define AMG_TEST_POINT(name) ((void)0)
#endif

#endif
