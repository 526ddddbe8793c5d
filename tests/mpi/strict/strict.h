/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for an MPI that is as strict, and does as little in time, as the
 * standard allows: a library that is loaded before MPI (LD_PRELOAD) and has its
 * functions. MPI_x checks and decides, PMPI_x of the real MPI carries. Nothing
 * is used that only one MPI has.
 *
 * A breach of the standard is one line, `strict: rank R: MPI_x: ...`, and the
 * end of the process. What the stand-in decides, of what the standard leaves to
 * an MPI, follows from a seed (strict_choice.c has the table of decisions).
 *
 * Requests are its own: their handles mean nothing to the real MPI, so that a
 * call which is not replaced here fails at once. */
#ifndef TESTS_MPI_STRICT_STRICT_H
#define TESTS_MPI_STRICT_STRICT_H

/* Seed of the decisions; unset or 0: only checks. */
#define STRICT_ENV_SEED "AMALGAM_TEST_STRICT_SEED"
/* What follows a breach: abort (the default), exit (code STRICT_EXIT), or go
 * (the process goes on, and exits with STRICT_EXIT in MPI_Finalize). */
#define STRICT_ENV_END "AMALGAM_TEST_STRICT_END"
/* Set to 1 in the process: ld.so ignores libraries that it cannot load. */
#define STRICT_ENV_LOADED "AMALGAM_TEST_STRICT_LOADED"
/* The rank that dies; see DEAD in strict_choice.c. */
#define STRICT_ENV_DEAD "AMALGAM_TEST_STRICT_DEAD"
/* Before the name of a decision: its value, in place of the drawn one. */
#define STRICT_ENV_PREFIX "AMALGAM_TEST_STRICT_"

enum {
    STRICT_EXIT = 33,
    /* MPI_Pcontrol(STRICT_RESEED, (unsigned long long)seed): if there is a
     * seed, decisions follow from this one from now on. All ranks call it at
     * the same place. */
    STRICT_RESEED = 33,
    STRICT_FAILED, /* (int *): calls that failed since then, of this process */
    STRICT_TAG_MAX = 32767, /* the least that MPI 4.0, 9.1.2 demands */
};

#endif
