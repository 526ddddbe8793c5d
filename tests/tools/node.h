/* SPDX-License-Identifier: BSD-3-Clause */
/* Invented nodes, in the data structures of amalgam_info. */
#ifndef TESTS_TOOLS_NODE_H
#define TESTS_TOOLS_NODE_H

#include "jobs/tools/map.h"
#include "jobs/tools/report.h"

enum { NODE_PUS_MAX = 256, NODE_RANKS_MAX = 256 };

/* `report` refers to the other fields. */
struct node {
    struct report report;
    struct amg_machine machine;
    struct amg_pu pus[NODE_PUS_MAX];
    struct report_rank *locals;
};

/* Each package has `numas` NUMA nodes of `cores` cores of `threads` hardware
 * threads each, numbered as by Linux: first threads of all cores first. No
 * ranks. */
void node_make(struct node *node, unsigned packages, unsigned numas,
    unsigned cores, unsigned threads);
void node_free(struct node *node);

/* Adds a rank, bound to the cpus from `first` to `last`; callers make
 * progress. */
struct report_rank *node_rank(struct node *node, unsigned first, unsigned last);
/* Gives it a progress thread there. */
void node_thread(struct report_rank *local, int cpu, bool is_dedicated);
/* A NIC near to the cpus from `first` to `last`. */
void node_nic(
    struct node *node, const char *name, unsigned first, unsigned last);

#endif
