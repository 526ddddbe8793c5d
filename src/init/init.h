/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing of classes: their plan, the joining of ranks, HG_Init. */
#ifndef AMG_INIT_INIT_H
#define AMG_INIT_INIT_H

#include "core/class.h"
#include "mercury_types.h"
#include "na_types.h"
#include "transport/boot.h"
#include "transport/registry.h"

/* Parameters of an open; all zero selects the defaults. */
struct amg_init {
    const char *info;    /* init string; NULL or "auto": the library chooses */
    struct amg_open how; /* amg_init_plan() sets `how.info` */
    /* Not NULL: use the domains of this class, and ignore `info` and `how`. */
    hg_class_t *owner;
    bool auto_sm;        /* use shared memory beside the named transport */
    const char *sm_info; /* options of shared memory, or NULL */
    bool no_overflow;
    bool no_bulk_eager;
    bool release_input_early;
    bool no_loopback;
    bool wants_stats;
    hg_checksum_level_t checksum_level;
    bool no_block; /* progress never blocks */
    /* Options of threads that make progress; NULL: `progress`, `wait` apply. */
    const struct amalgam_progress_options *progress_options;
    enum amalgam_progress progress;
    enum amalgam_wait wait;
    bool is_mercury; /* callbacks run in HG_Trigger() by default */
};

/* The init string with AMALGAM_TRANSPORT applied. The variable replaces "auto"
 * and NULL; mpi+p2p and mpi+rma in it also replace "mpi" and "mpi+static". */
const char *amg_init_plan_info(const char *info);

/* Plans the domains to open for an init string. HG_INVALID_ARG: the text is not
 * an init string; HG_PROTONOSUPPORT: no such transport here, and the log lists
 * the available transports; HG_OPNOTSUPPORTED: mpi+dynamic. */
hg_return_t amg_init_plan(
    const struct amg_init *init, struct amg_class_plan *plan);

/* Writes the init strings that this process can open: "self, mpi, mpi+p2p".
 * Omits strings that do not fit into `cap` bytes. Returns `ret_text`. */
const char *amg_init_offer(char *ret_text, size_t cap);

/* The plan's `join` for a class whose main route is MPI: collective over the
 * ranks. If the plan wants shared memory, and all ranks of a node can map each
 * other's segments, these ranks call each other by shared memory; if not, by
 * MPI, with a warning. Opens libfabric between nodes if the plan names a
 * provider. Sets `reach` and `reason`. HG_OPNOTSUPPORTED: the plan allows only
 * shared memory, and a rank, which the log names, is on another node or cannot
 * map a segment. */
hg_return_t amg_init_join(hg_class_t *cls);

/* Opens a class. The errors of amg_init_plan(), or of the transport's open. */
hg_return_t amg_init_class(const struct amg_init *init, hg_class_t **ret_class);
/* Reads all options of HG_Init_opt2(); `init` keeps pointers to the strings. */
hg_return_t amg_init_read_info(
    const struct hg_init_info *info, struct amg_init *init);

/* Closes the class, after a wait for its peers (amg_class_quiesce()). Without
 * `serve`, returns HG_BUSY if a context is open. With `serve`, open contexts
 * make progress and run callbacks until every rank has called this function,
 * and are then destroyed. After HG_BUSY the class is open as before; but with
 * `serve` it may have given up long replies, and it may have disconnected if
 * the program holds handles of incoming calls: when the program has destroyed
 * these handles, a second call closes the class. HG_TIMEOUT, or HG_HOSTUNREACH
 * after a death: the class is closed, but a process did not disconnect and,
 * without `serve`, calls of this process were given up. A class that borrows
 * its domains does not wait without `serve`; with `serve` it disconnects them,
 * also for all later classes. */
hg_return_t amg_init_finalize(hg_class_t *cls, bool serve);

/* Owned by the user, from NA_Initialize() to NA_Finalize(). Constant. */
struct na_class {
    /* Owns the addresses that NA calls create, and the domains, which HG
     * classes may borrow. */
    hg_class_t *cls;
};

/* The NA code for an HG code: the same number, or NA_IO_ERROR if NA has no code
 * of that number. */
static inline na_return_t amg_na_code(hg_return_t rc)
{
    return rc <= HG_HOSTFIREWALL ? (na_return_t)rc : NA_IO_ERROR;
}

#endif
