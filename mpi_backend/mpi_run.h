/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of the probe, as its files share it.
 *
 *     who pulls (mpi_ask.c)         who is pulled from (mpi_probe.c)
 *     HELLO            ->           its places in the windows
 *     ASK len          ->           so many bytes           (by messages)
 *     knock, get, leave             -                       (by a window)
 *     NAP              ->           GOING, 2 ms without MPI, BACK
 *     END              ->           -
 */
#ifndef AMG_MPI_BACKEND_MPI_RUN_H
#define AMG_MPI_BACKEND_MPI_RUN_H

#include "mpi_backend/mpi_pace.h"
#include "mpi_backend/mpi_probe.h"
#include "mpi_backend/mpi_vote.h"

enum {
    AMG_MPI_TAG_NOTE = 1, /* to who is pulled from */
    AMG_MPI_TAG_ANSWER,   /* back */
    AMG_MPI_TAG_BYTES,
    AMG_MPI_NAP_NS = 2000000, /* far above the time of a get */
    AMG_MPI_NOTE_LEN = 48,    /* a header and an access of ours */
};

enum amg_mpi_note_kind {
    AMG_MPI_NOTE_HELLO,
    AMG_MPI_NOTE_ASK,
    AMG_MPI_NOTE_NAP,
    AMG_MPI_NOTE_END
};

struct amg_mpi_note {
    uint64_t kind;
    uint64_t len;
    unsigned char unused[AMG_MPI_NOTE_LEN - 2 * sizeof(uint64_t)];
};

/* Where one is pulled from. */
struct amg_mpi_card {
    uint64_t has[AMG_MPI_MEMORIES];
    uint64_t disp[AMG_MPI_MEMORIES];
    uint64_t has_knock;
    uint64_t knock_disp;
};

/* What MPI may be busy with; one request each. */
enum amg_mpi_slot {
    AMG_MPI_SLOT_NOTE_OUT,
    AMG_MPI_SLOT_END_OUT,
    AMG_MPI_SLOT_NOTE_IN,
    AMG_MPI_SLOT_ANSWER,
    AMG_MPI_SLOT_BACK,
    AMG_MPI_SLOT_BYTES,
    AMG_MPI_SLOT_GET,
    AMG_MPI_SLOT_GET_OTHER,
    AMG_MPI_SLOT_KNOCK,
    AMG_MPI_SLOT_LEAVE,
    AMG_MPI_SLOTS
};

/* On the heap, for MPI may write to it after a time-out. */
struct amg_mpi_run {
    const struct amg_mpi_probe *probe;
    MPI_Comm leaders;
    int me;         /* among them */
    int count;      /* nodes */
    int other;      /* of this round, among them */
    int other_rank; /* in the job */
    uint64_t start_ns;
    uint64_t round_end_ns;
    uint64_t patience_end_ns;
    struct amg_mpi_pace pace;
    struct amg_mpi_ballot ballot;
    struct amg_mpi_card own;
    struct amg_mpi_card card; /* of who is pulled from */
    struct amg_mpi_note note_out;
    struct amg_mpi_note end_out;
    struct amg_mpi_note note_in;
    char going[2]; /* for each part, too */
    char back[2];
    int64_t visit[AMG_MPI_KNOCK_LEN / sizeof(int64_t)]; /* one more */
    int64_t minus_one;
    int64_t entry[AMG_MPI_KNOCK_LEN / sizeof(int64_t)];
    bool is_serving; /* its part in this round */
    /* One set for each part: what a round left behind may still be busy. */
    MPI_Request requests[2][AMG_MPI_SLOTS];
    unsigned char *got;   /* AMG_MPI_PROBE_LEN, by any way */
    unsigned char *given; /* the same, by messages */
};

/* The worst is kept. */
void amg_mpi_run_trouble(
    struct amg_mpi_run *run, enum amg_mpi_trouble trouble, int rank);
/* True: MPI did what it was asked; else that is logged, and a trouble. */
bool amg_mpi_run_is_good(struct amg_mpi_run *run, int code, const char *what);
/* Until the request has ended; false: `end_ns` came first, or MPI failed. */
bool amg_mpi_run_wait(
    struct amg_mpi_run *run, enum amg_mpi_slot slot, uint64_t end_ns);
/* Bytes from the other one of this round, and to it. False: MPI failed. */
bool amg_mpi_run_expect(struct amg_mpi_run *run, void *bytes, uint64_t len,
    int tag, enum amg_mpi_slot slot);
bool amg_mpi_run_send(struct amg_mpi_run *run, const void *bytes, uint64_t len,
    int tag, enum amg_mpi_slot slot);

/* Bytes that tell whose and which they are. */
static inline uint64_t amg_mpi_run_pattern(
    int rank, enum amg_mpi_memory memory, size_t word)
{
    return ((uint64_t)rank * AMG_MPI_MEMORIES + memory + 1) *
               0x9e3779b97f4a7c15u + /* 2^64 / golden ratio: spreads */
           word;
}

/* This rank pulls, in one round. */
void amg_mpi_ask(struct amg_mpi_run *run);

#endif
