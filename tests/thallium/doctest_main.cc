/* SPDX-License-Identifier: BSD-3-Clause */
/* The main program of the tests in C++. */
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
