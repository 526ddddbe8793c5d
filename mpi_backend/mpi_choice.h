/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way bulk data of MPI take: by a window, or by messages. */
#ifndef AMG_MPI_BACKEND_MPI_CHOICE_H
#define AMG_MPI_BACKEND_MPI_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the exposed memory is, for each has a window of its own. */
enum amg_mpi_memory {
    AMG_MPI_MEMORY_LIBRARY, /* of HG_Bulk_create() without addresses: pool */
    AMG_MPI_MEMORY_USER,    /* attached to the dynamic window */
    AMG_MPI_MEMORIES
};

/* How long a transfer is. */
enum amg_mpi_size {
    AMG_MPI_SIZE_SMALL,  /* to 16 KiB, measured by one of 4 KiB */
    AMG_MPI_SIZE_MIDDLE, /* to 256 KiB, by 64 KiB */
    AMG_MPI_SIZE_LARGE,  /* above, by 1 MiB */
    AMG_MPI_SIZES
};

enum {
    AMG_MPI_SMALL_LEN = 16384,
    AMG_MPI_MIDDLE_LEN = 262144,
    AMG_MPI_REASON_CAP = 768,
};

/* What the init string asks for; the same on all ranks. */
enum amg_mpi_wish {
    AMG_MPI_WISH_P2P,    /* "mpi+p2p", "shm": no window is made */
    AMG_MPI_WISH_RMA,    /* "mpi+rma": windows wherever they reach */
    AMG_MPI_WISH_EITHER, /* "mpi", "mpi+static", "auto": what is faster */
};

/* Why there are no figures; the worst of all ranks counts. */
enum amg_mpi_trouble {
    AMG_MPI_TROUBLE_NONE,
    AMG_MPI_TROUBLE_LATE,   /* a peer did not answer in time */
    AMG_MPI_TROUBLE_MEMORY, /* no memory to try it with */
    AMG_MPI_TROUBLE_BYTES,  /* a window gave other bytes than there are */
    AMG_MPI_TROUBLE_FAILED, /* MPI returned an error */
    AMG_MPI_TROUBLE_WINDOWS /* there are none */
};

/* How long a pull takes by either way; 0: it was not measured. */
struct amg_mpi_figure {
    uint64_t window_ns;
    uint64_t message_ns;
};

/* What was measured, the worst of all pairs; the same on all ranks. */
struct amg_mpi_figures {
    struct amg_mpi_figure of[AMG_MPI_MEMORIES][AMG_MPI_SIZES];
    bool is_passive; /* a window is reached while its owner sleeps */
    enum amg_mpi_trouble trouble;
    uint32_t rank; /* who had it, or did not answer */
    uint64_t windows_ns;
    uint64_t probe_ns;
};

/* Owned by the domain that embeds it; constant while it is open. */
struct amg_mpi_choice {
    bool is_window[2][AMG_MPI_MEMORIES][AMG_MPI_SIZES]; /* first: is it a put */
    bool is_passive; /* known to be: a put is at its target once it is flushed,
                      * whatever the target does */
    bool was_probed;
    char reason[AMG_MPI_REASON_CAP]; /* one line for a person */
};

/* Bytes that are moved to measure a size. */
uint64_t amg_mpi_choice_probe_len(enum amg_mpi_size size);

/* True: the window took at least as little as it should to be chosen. */
bool amg_mpi_choice_is_faster(
    const struct amg_mpi_figure *figure, bool is_passive);
/* True: `one` speaks more against windows than `other`. A total order, so that
 * all ranks agree on the worst, in whatever order they compare. */
bool amg_mpi_choice_is_worse(
    const struct amg_mpi_figure *one, const struct amg_mpi_figure *other);

/* All by one way, because it was asked for or there is nothing to choose;
 * `why` is the reason. */
void amg_mpi_choice_set(
    struct amg_mpi_choice *choice, bool is_window, const char *why);
/* From figures to a choice, and to the reason for it. */
void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice);

/* Does any transfer go by the window of such memory, or by any? */
bool amg_mpi_choice_uses_memory(
    const struct amg_mpi_choice *choice, enum amg_mpi_memory memory);
bool amg_mpi_choice_uses_windows(const struct amg_mpi_choice *choice);
/* "mpi+p2p", "mpi+rma", or both, as a report names it. */
const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice);

static inline enum amg_mpi_size amg_mpi_size_of(uint64_t len)
{
    return len <= AMG_MPI_SMALL_LEN    ? AMG_MPI_SIZE_SMALL
           : len <= AMG_MPI_MIDDLE_LEN ? AMG_MPI_SIZE_MIDDLE
                                       : AMG_MPI_SIZE_LARGE;
}

/* Does a transfer of `len` bytes go by the window of such memory? */
static inline bool amg_mpi_choice_is_window(const struct amg_mpi_choice *choice,
    enum amg_mpi_memory memory, bool is_put, uint64_t len)
{
    return choice->is_window[is_put][memory][amg_mpi_size_of(len)];
}

#endif
