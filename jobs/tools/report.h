/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of amalgam_info; the writers only format it. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdint.h>

#include "base/mem.h"
#include "core/class.h"
#include "affinity/policy.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"
#include "limits.h"

enum {
    REPORT_TEXT_CAP = 512,
    REPORT_HOST_CAP = 64,
    REPORT_FIELD_CAP = 256,
};

/* A rank of the node of rank 0. */
struct report_rank {
    uint32_t rank;
    struct amg_cpuset binding;
    uint32_t threads; /* of its program; 0: unknown */
    struct amg_placement placement;
    /* How the progress thread or the callers of the rank wait. */
    char wait[REPORT_FIELD_CAP];
};

struct report_node {
    char host[REPORT_HOST_CAP];
    uint32_t first; /* lowest rank of the node */
    uint32_t ranks;
};

/* A provider of libfabric; `facts` points to `texts`. */
struct report_provider {
    struct amg_provider facts;
    char texts[4][REPORT_FIELD_CAP];
};

/* Complete at rank 0 only, which writes it. The report owns what it points to,
 * except the class, the machine and `transport`. */
struct report {
    hg_class_t *cls;
    const char *transport;       /* as requested */
    struct amg_mem_stats memory; /* before the report was made */
    char offer[REPORT_TEXT_CAP];
    char address[REPORT_TEXT_CAP]; /* "": none */

    /* Filled in by ranks_*.c. */
    bool is_over_mpi;
    int rank;
    int size;
    const char *thread_level;       /* NULL: not over MPI */
    char library[REPORT_FIELD_CAP]; /* name and version of the MPI */
    struct report_node *nodes;      /* the node of rank 0 first */
    uint32_t node_count;

    const struct amg_machine *machine;
    struct report_rank *locals;
    uint32_t local_count;
    uint32_t self;      /* index of rank 0 */
    bool are_all_known; /* `locals` has all ranks of the node */
    /* Mode that a class of amalgam_init() would have. */
    enum amalgam_progress own_progress;
    /* Bytes that the segments of this node's ranks need in /dev/shm, its size,
     * and its free bytes; 0: unknown. */
    struct amg_shm_need need;
    uint64_t shm_total;
    uint64_t shm_free;

    struct limits limits;

    bool has_libfabric;
    char libfabric[2][REPORT_FIELD_CAP]; /* loaded, built with */
    struct report_provider *providers;
    unsigned provider_count;
};

/* Called by all ranks of the class. False: no memory. */
bool report_make(struct report *report, hg_class_t *cls, const char *transport);
void report_fini(struct report *report);

/* How threads wait for the transports of the class: "blocks on a descriptor".
 */
const char *report_waiting(const hg_class_t *cls);

#endif
