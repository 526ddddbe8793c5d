/* SPDX-License-Identifier: BSD-3-Clause */
/* One process with an instance of Margo that calls itself. */
#ifndef TESTS_MARGO_ALONE_H
#define TESTS_MARGO_ALONE_H

#include "pair.h"

/* Binds the process to one core: a progress stream shares the core with main(),
 * so that an instance has two loops. Called before alone_open(). */
void alone_take_core(void);

/* Opens `pair.mid` with this configuration, which may be NULL, and `pair.self`;
 * SIGALRM ends a test that hangs. */
void alone_open(const char *json, const struct margo_monitor *monitor);
/* Frees the address, and ends the instance. */
void alone_close(void);

/* A handle for `id` at the process itself. */
hg_handle_t alone_handle(hg_id_t id);
/* One call without arguments. */
void alone_call(hg_id_t id);

#endif
