/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the processes of survive.sh. */
#ifndef TESTS_SURVIVORS_SURVIVOR_H
#define TESTS_SURVIVORS_SURVIVOR_H

#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <signal.h>
#include <stdbool.h>

enum { CALLS = 6, TEXT_LEN = 100003, BULK_LEN = 300007, ADDR_CAP = 256 };

MERCURY_GEN_PROC(text_t, ((uint64_t)(number))((hg_string_t)(text)))
MERCURY_GEN_PROC(pull_t, ((uint64_t)(number))((hg_bulk_t)(bulk)))
MERCURY_GEN_PROC(out_t, ((uint64_t)(number)))

extern volatile sig_atomic_t survivor_is_asked; /* by SIGUSR1 */
extern volatile sig_atomic_t survivor_is_over;  /* by SIGTERM */

void survivor_signals(void);
/* Ends the process unless `holds`. */
void survivor_check(bool holds, const char *what);
/* A line for survive.sh: "PID what". */
void survivor_say(const char *what);
/* The same with a number. */
void survivor_say_number(const char *what, unsigned number);
/* The address of the server; "": none is known. */
void survivor_address_read(const char *path, char address[ADDR_CAP]);
void survivor_address_write(const char *path, const char *address);

#endif
