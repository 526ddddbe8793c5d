/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments that most tests use: a number, and some text. */
#ifndef TESTS_MARGO_ECHO_H
#define TESTS_MARGO_ECHO_H

#include "margo.h"
#include "mercury_proc_string.h"

MERCURY_GEN_PROC(echo_t, ((uint64_t)(number))((hg_const_string_t)(text)))

#endif
