/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the stand-in: entry of a call, findings, decisions. */
#ifndef TESTS_MPI_STRICT_STRICT_CORE_H
#define TESTS_MPI_STRICT_STRICT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

/* Decisions; strict_choice.c says what each value means. */
enum strict_choice {
    STRICT_DELAY,
    STRICT_EARLY,
    STRICT_OVERTAKE,
    STRICT_NOTYET,
    STRICT_SUBSET,
    STRICT_LATE,
    STRICT_SLOW,
    STRICT_FAIL,
    STRICT_POISON,
    STRICT_OVERLAP,
    STRICT_LEAKS,
    STRICT_STALL,
    STRICT_DEAD,
    STRICT_DEAD_AT,
    STRICT_CHOICES,
};

/* This process as a rank; set by MPI_Init, or by the first call. */
extern int strict_rank; /* -1: unknown */
extern int strict_size;
/* Calls of MPI by this process, of all its threads. Guarded by the lock. */
extern uint64_t strict_calls;

/* Encloses each replaced call. One thread at a time is inside, but where
 * strict_open() let others in. `caller` is its return address. */
void strict_enter(const char *call, const void *caller);
void strict_leave(void);
#define STRICT_ENTER() strict_enter(__func__, __builtin_return_address(0))

/* Around a call of MPI that may block: other threads may enter meanwhile. */
unsigned strict_open(void);
void strict_close(unsigned depth);
/* A round of a wait: lets other threads and ranks go on. */
void strict_pause(void);
/* A collective call begins or ends: other threads and ranks go on first. */
void strict_stall(void);
/* So many turns, or tests, drawn; 0 on a rank that is never late. */
unsigned strict_stall_turns(void);
/* MPI waits: all that waits here is passed on. */
void strict_flush(void);
/* Sets what MPI_Init_thread has provided; this thread is the main one. */
void strict_level_set(int level);

/* The call that this thread is in, and whether Amalgam made it. */
const char *strict_call(void);
bool strict_is_library(void);
/* Whether code of Amalgam or of the program is at this address. */
bool strict_is_watched(const void *code);

/* Prints what breaks the standard in the call of this thread, and ends the
 * process as the environment says. */
__attribute__((format(printf, 1, 2))) void strict_finding(
    const char *what, ...);
bool strict_has_findings(void);

/* Reads the environment, once. */
void strict_choice_init(void);
/* Draws all decisions anew. */
void strict_choice_seed(uint64_t seed);
uint64_t strict_seed(void);
unsigned strict_choice(enum strict_choice choice);
/* A number that follows from the seed, the rank and how many were drawn. */
uint64_t strict_dice(void);
/* True `count` times of 256, on average. */
bool strict_dice_is(unsigned count);
/* 0 to `max`, drawn. */
unsigned strict_dice_upto(unsigned max);
uint64_t strict_mix(uint64_t a, uint64_t b);

#endif
