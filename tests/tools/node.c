/* SPDX-License-Identifier: BSD-3-Clause */
/* Invented nodes, in the data structures of amalgam_info. */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

void node_make(struct node *node, unsigned packages, unsigned numas,
    unsigned cores, unsigned threads)
{
    unsigned all_cores = packages * numas * cores;
    unsigned at = 0;

    AMG_ASSERT(all_cores * threads <= NODE_PUS_MAX);
    *node = (struct node){.machine = {.is_this = true, .is_known = true}};
    node->machine.package_count = packages;
    node->machine.numa_count = packages * numas;
    node->machine.core_count = all_cores;
    node->machine.pu_count = all_cores * threads;
    node->machine.pus = node->pus;
    for (unsigned core = 0; core < all_cores; core++)
        for (unsigned thread = 0; thread < threads; thread++) {
            struct amg_pu *pu = &node->pus[at++];

            pu->cpu = (uint16_t)(thread * all_cores + core);
            pu->core = (uint16_t)core;
            pu->thread = (uint16_t)thread;
            pu->numa = (uint16_t)(core / cores);
            pu->package = (uint16_t)(core / cores / numas);
            pu->cache = pu->numa;
            amg_cpuset_add(&node->machine.allowed, pu->cpu);
        }
    node->locals = calloc(NODE_RANKS_MAX, sizeof(*node->locals));
    AMG_ASSERT(node->locals != NULL);
    node->report.machine = &node->machine;
    node->report.locals = node->locals;
    node->report.transport = "nothing";
    node->report.are_all_known = true;
    node->report.own_progress = AMALGAM_PROGRESS_CALLER;
}

void node_free(struct node *node)
{
    free(node->locals);
}

static void cpus_add(struct amg_cpuset *set, unsigned first, unsigned last)
{
    for (; first <= last; first++)
        amg_cpuset_add(set, first);
}

struct report_rank *node_rank(struct node *node, unsigned first, unsigned last)
{
    uint32_t rank = node->report.local_count++;
    struct report_rank *local = &node->locals[rank];

    AMG_ASSERT(rank < NODE_RANKS_MAX);
    local->rank = rank;
    cpus_add(&local->binding, first, last);
    local->placement.progress = AMALGAM_PROGRESS_CALLER;
    local->placement.slot.cpu = -1;
    snprintf(local->wait, sizeof(local->wait), "waits somehow");
    return local;
}

static struct amg_core_slot slot_of(int cpu, bool is_dedicated)
{
    return (struct amg_core_slot){
        .cpu = cpu, .is_dedicated = is_dedicated, .reason = "said by the test"};
}

void node_thread(struct report_rank *local, int cpu, bool is_dedicated)
{
    local->placement.progress = AMALGAM_PROGRESS_THREAD;
    local->placement.slot = slot_of(cpu, is_dedicated);
}

void node_nic(
    struct node *node, const char *name, unsigned first, unsigned last)
{
    struct amg_nic *nic = &node->machine.nics[node->machine.nic_count++];

    snprintf(nic->name, sizeof(nic->name), "%s", name);
    cpus_add(&nic->near, first, last);
    nic->is_everywhere = amg_cpuset_count(&nic->near) == node->machine.pu_count;
}
