/* SPDX-License-Identifier: BSD-3-Clause */
/* Factor for the time limits within tests: like ctest's own limits, they are
 * three times as long under a sanitizer. */
#ifndef TESTS_SLOW_H
#define TESTS_SLOW_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SLOW 3
#else
#define TEST_SLOW 1
#endif

#endif
