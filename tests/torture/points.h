/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays at the test points of the library, in builds that have these. */
#ifndef TESTS_TORTURE_POINTS_H
#define TESTS_TORTURE_POINTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on a thread that reaches a point now and then yields or sleeps. */
void points_start(void);

#ifdef __cplusplus
}
#endif

#endif
