/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that do not exist, as amalgam_info would know them. */
#ifndef TESTS_TOOLS_NODE_H
#define TESTS_TOOLS_NODE_H

#include "jobs/tools/map.h"
#include "jobs/tools/report.h"

enum { NODE_PUS_MAX = 256, NODE_RANKS_MAX = 256 };

/* `report` tells of the rest; all of it is here. */
struct node {
    struct report report;
    struct amg_machine machine;
    struct amg_pu pus[NODE_PUS_MAX];
    struct report_rank *locals;
};

/* Each package has `numas` NUMA nodes of `cores` cores of `threads` hardware
 * threads each, numbered as Linux does it: first all first ones. No ranks. */
void node_make(struct node *node, unsigned packages, unsigned numas,
    unsigned cores, unsigned threads);
void node_free(struct node *node);

/* One rank more, the next, bound to the cpus from `first` to `last`; callers
 * make progress. */
struct report_rank *node_rank(struct node *node, unsigned first, unsigned last);
/* It has a progress thread there. */
void node_thread(struct report_rank *local, int cpu, bool is_dedicated);
/* It has one handler thread more. */
void node_handler(struct report_rank *local, int cpu, bool is_dedicated);
/* A NIC that is near to the cpus from `first` to `last`. */
void node_nic(
    struct node *node, const char *name, unsigned first, unsigned last);

#endif
