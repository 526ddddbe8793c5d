/* SPDX-License-Identifier: BSD-3-Clause */
/* A class with a context that calls itself, and a handler that needs no handle:
 * what the tests of one-way calls share. */
#ifndef AMG_TESTS_UNIT_RPC_ONEWAY_WORLD_H
#define AMG_TESTS_UNIT_RPC_ONEWAY_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "amalgam_oneway.h"
#include "mercury.h"
#include "wire/header.h"

enum { CREDITS = 3 };

extern hg_class_t *cls;
extern hg_context_t *context;
extern hg_addr_t self;
extern hg_id_t id;      /* of the handler */
extern unsigned served; /* calls */
extern uint32_t last;   /* argument of 4 bytes */

/* The handler. */
void world_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len);

/* For cmocka. */
int world_start(void **state);
int world_stop(void **state);

#define WORLD_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, world_start, world_stop)

/* Calls the handler. */
hg_return_t note(uint32_t value);

/* Writes and sends a message of the driver: the header and zeros. */
void raw_send(const struct amg_header *header, uint32_t len);
/* The same with a body. */
void raw_send_body(
    const struct amg_header *header, const void *body, uint32_t body_len);
/* The header of a one-way request. */
struct amg_header header_of(hg_id_t of);

/* Makes progress until callbacks are queued, or nothing comes. */
void poll_all(void);
/* The same, then runs them; returns how many. */
unsigned poll_and_trigger(void);

#endif
