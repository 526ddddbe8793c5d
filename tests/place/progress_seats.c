/* SPDX-License-Identifier: BSD-3-Clause */
/* On each machine the progress threads sit where they should, and say why. */
#include <stdio.h>

#include "place/scene.h"

/* Linux' usual numbers: cpu i and cpu i + cores are threads of one core. */
#define DUAL_SMT "pack:2 [numa] core:8 pu:2(indexes=2*16:1*2)"
#define HUNDREDS "pack:2 numa:4 l3:4 core:8 pu:2(indexes=2*256:1*2)"

static const struct scene scenes[] = {
    {.name = "dual socket with SMT, a rank on each socket",
        .machine = DUAL_SMT,
        .ranks = "0-7,16-23 8-15,24-31",
        .wanted = {"thread 23 sibling own: the idle hardware thread beside "
                   "cpu 7: 8 threads of 1 rank run on the 16 hardware "
                   "threads of cpus 0-7,16-23",
            "thread 31 sibling own: the idle hardware thread beside "
            "cpu 15: 8 threads of 1 rank run on the 16 hardware "
            "threads of cpus 8-15,24-31"}},
    {.name = "the same, for Mercury's programs",
        .machine = DUAL_SMT,
        .ranks = "0-7,16-23 8-15,24-31",
        .is_mercury = true,
        .wanted = {"assist 23 sibling own: the idle hardware thread beside "
                   "cpu 7: 8 threads of 1 rank run on the 16 hardware "
                   "threads of cpus 0-7,16-23",
            "assist 31 sibling own: the idle hardware thread beside "
            "cpu 15: 8 threads of 1 rank run on the 16 hardware "
            "threads of cpus 8-15,24-31"}},
    {.name = "four ranks on 8 of 16 cores each, with SMT",
        .machine = "pack:2 [numa] core:16 pu:2(indexes=2*32:1*2)",
        .ranks = "0-7,32-39 8-15,40-47 16-23,48-55 24-31,56-63",
        .wanted = {"thread 39 sibling own: the idle hardware thread beside "
                   "cpu 7: 8 threads of 1 rank run on the 16 hardware "
                   "threads of cpus 0-7,32-39",
            "thread 47 sibling own: the idle hardware thread beside "
            "cpu 15: 8 threads of 1 rank run on the 16 hardware "
            "threads of cpus 8-15,40-47",
            "thread 55 sibling own: the idle hardware thread beside "
            "cpu 23: 8 threads of 1 rank run on the 16 hardware "
            "threads of cpus 16-23,48-55",
            "thread 63 sibling own: the idle hardware thread beside "
            "cpu 31: 8 threads of 1 rank run on the 16 hardware "
            "threads of cpus 24-31,56-63"}},
    {.name = "siblings near the NIC come first",
        .machine = "smt_two_nics.xml",
        .ranks = "0-15/8",
        .nic = "hsn0",
        .wanted = {"thread 11 sibling own: the idle hardware thread beside "
                   "cpu 3: 8 threads of 1 rank run on the 16 hardware "
                   "threads of cpus 0-15"}},
    {.name = "hybrid program that leaves cores idle",
        .machine = DUAL_SMT,
        .ranks = "0-7,16-23/6 8-15,24-31/8",
        .wanted = {"thread 7 core own: an idle core: 6 threads of 1 rank "
                   "run on the 8 cores of cpus 0-7,16-23",
            "thread 31 sibling own: the idle hardware thread beside "
            "cpu 15: 8 threads of 1 rank run on the 16 hardware "
            "threads of cpus 8-15,24-31"}},
    {.name = "hybrid program that leaves two siblings idle",
        .machine = DUAL_SMT,
        .ranks = "0-7,16-23/14 8-15,24-31/16",
        .wanted = {"thread 23 sibling own: the idle hardware thread beside "
                   "cpu 7: 14 threads of 1 rank run on the 16 hardware "
                   "threads of cpus 0-7,16-23",
            "caller: no core is idle for this rank: those that are, "
            "are bound to others"}},
    {.name = "four NUMA nodes, NIC on one, a rank on each",
        .machine = "numa4_nic1.xml",
        .ranks = "0-2 4-6 8-10 12-14",
        .nic = "hsn0",
        .wanted = {"thread 3 numa own: bound to no rank, and on the rank's "
                   "NUMA node 0",
            "thread 7 nic own: bound to no rank, and near NIC hsn0 "
            "(NUMA node 1)",
            "thread 11 numa own: bound to no rank, and on the rank's "
            "NUMA node 2",
            "thread 15 numa own: bound to no rank, and on the rank's "
            "NUMA node 3"}},
    {.name = "the same, but nothing goes by the NIC",
        .machine = "numa4_nic1.xml",
        .ranks = "0-2 4-6 8-10 12-14",
        .wanted = {"thread 3 numa own: bound to no rank, and on the rank's "
                   "NUMA node 0",
            "thread 7 numa own: bound to no rank, and on the rank's "
            "NUMA node 1",
            "thread 11 numa own: bound to no rank, and on the rank's "
            "NUMA node 2",
            "thread 15 numa own: bound to no rank, and on the rank's "
            "NUMA node 3"}},
    {.name = "ranks on three NUMA nodes, the NIC's is idle",
        .machine = "numa4_nic1.xml",
        .ranks = "0-3 8-11 12-15",
        .nic = "mlx5_0",
        .wanted = {"thread 4 nic own: bound to no rank, and near NIC mlx5_0 "
                   "(NUMA node 1)",
            "thread 5 nic own: bound to no rank, and near NIC mlx5_0 "
            "(NUMA node 1)",
            "thread 6 nic own: bound to no rank, and near NIC mlx5_0 "
            "(NUMA node 1)"}},
    {.name = "one idle core for four ranks",
        .machine = "numa4_nic1.xml",
        .ranks = "0-3 4-7 8-11 12-14",
        .nic = "hsn0",
        .wanted = {"thread 15 any shared by 4: bound to no rank, on NUMA "
                   "node 3: none is idle on the rank's own; shared by the "
                   "progress threads of 4 ranks",
            "thread 15 any shared by 4: bound to no rank, on NUMA "
            "node 3: none is idle on the rank's own; shared by the "
            "progress threads of 4 ranks",
            "thread 15 any shared by 4: bound to no rank, on NUMA "
            "node 3: none is idle on the rank's own; shared by the "
            "progress threads of 4 ranks",
            "thread 15 numa shared by 4: bound to no rank, and on "
            "the rank's NUMA node 3; shared by the progress threads "
            "of 4 ranks"}},
    {.name = "two idle cores for six ranks: those of a domain share",
        .machine = "numa4_nic1.xml",
        .ranks = "0-1 2 4-7 8-11 12-13 14",
        .wanted = {"thread 3 numa shared by 3: bound to no rank, and on the "
                   "rank's NUMA node 0; shared by the progress threads of 3 "
                   "ranks",
            "thread 3 numa shared by 3: bound to no rank, and on the "
            "rank's NUMA node 0; shared by the progress threads of 3 "
            "ranks",
            "thread 15 any shared by 3: bound to no rank, on NUMA "
            "node 3: none is idle on the rank's own; shared by the "
            "progress threads of 3 ranks",
            "thread 3 any shared by 3: bound to no rank, on NUMA "
            "node 0: none is idle on the rank's own; shared by the "
            "progress threads of 3 ranks",
            "thread 15 numa shared by 3: bound to no rank, and on "
            "the rank's NUMA node 3; shared by the progress threads "
            "of 3 ranks"}},
    {.name = "two NICs, ours on the other socket",
        .machine = "smt_two_nics.xml",
        .ranks = "0-2,8-10/6 4-6,12-14/6",
        .nic = "hsn1",
        .wanted = {"thread 15 nic own: bound to no rank, and near NIC hsn1 "
                   "(NUMA node 1)",
            "thread 7 nic own: bound to no rank, and near NIC hsn1 "
            "(NUMA node 1)"}},
    {.name = "one rank for each core",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "0 1 2 3",
        .wanted = {"caller: no core is idle: all 4 cores of the node are in "
                   "use by 4 ranks"}},
    {.name = "more ranks than cores",
        .machine = "pack:1 core:2 pu:1",
        .ranks = "0-1*5",
        .wanted = {"caller: no core is idle: all 2 cores of the node are in "
                   "use by 5 ranks\n"
                   "crowded"}},
    {.name = "one core",
        .machine = "core:1 pu:1",
        .ranks = "0*2",
        .wanted = {"caller: no core is idle: the only one of the node is in "
                   "use by 2 ranks\n"
                   "crowded"}},
    {.name = "one core, a thread is asked for",
        .machine = "core:1 pu:1",
        .ranks = "0*2",
        .progress = AMALGAM_PROGRESS_THREAD,
        .wanted = {"thread 0 last shared by 2: one of the binding 0, in use "
                   "by the program, too: no core is idle; shared by the "
                   "progress threads of 2 ranks\n"
                   "crowded"}},
    {.name = "a cgroup leaves four cores, of which two are bound",
        .machine = "cgroup.xml",
        .ranks = "2 3",
        .wanted = {"thread 4 numa own: bound to no rank, and on the rank's "
                   "NUMA node 0",
            "thread 5 numa own: bound to no rank, and on the rank's "
            "NUMA node 0"}},
    {.name = "a cgroup leaves four cores, all are bound",
        .machine = "cgroup.xml",
        .ranks = "2-3 4-5",
        .wanted = {"caller: no core is idle: all 4 cores that may be used "
                   "are in use by 2 ranks"}},
    {.name = "this machine: two cores, two unbound ranks",
        .machine = "kvm_two_cores.xml",
        .ranks = "0-1*2",
        .nic = "eth0",
        .wanted = {"caller: no core is idle: all 2 cores of the node are in "
                   "use by 2 ranks"}},
    {.name = "this machine, Slurm -c1 with task/affinity",
        .machine = "kvm_two_cores.xml",
        .ranks = "0 1",
        .wanted = {"caller: no core is idle: all 2 cores of the node are in "
                   "use by 2 ranks"}},
    {.name = "this machine, a thread is asked for",
        .machine = "kvm_two_cores.xml",
        .ranks = "0-1*2",
        .progress = AMALGAM_PROGRESS_ASSIST,
        .wanted = {"assist 1 last shared: one of the binding 0-1, in use by "
                   "the program, too: no core is idle",
            "assist 0 last shared: one of the binding 0-1, in use by "
            "the program, too: no core is idle"}},
    {.name = "this machine, one rank on one core",
        .machine = "kvm_two_cores.xml",
        .ranks = "0",
        .nic = "eth0",
        .wanted = {"thread 1 numa own: bound to no rank, and on the rank's "
                   "NUMA node 0"}},
    {.name = "Slurm -c1 on a large machine",
        .machine = DUAL_SMT,
        .ranks = "0,16 1,17 2,18",
        .wanted = {"thread 16 sibling own: the idle hardware thread beside "
                   "cpu 0: 1 thread of 1 rank runs on the 2 hardware "
                   "threads of cpus 0,16",
            "thread 17 sibling own: the idle hardware thread beside "
            "cpu 1: 1 thread of 1 rank runs on the 2 hardware "
            "threads of cpus 1,17",
            "thread 18 sibling own: the idle hardware thread beside "
            "cpu 2: 1 thread of 1 rank runs on the 2 hardware "
            "threads of cpus 2,18"}},
    {.name = "bindings smaller than a core",
        .machine = "pack:1 core:2 pu:2(indexes=2*2:1*2)",
        .ranks = "0 2 1",
        .wanted = {"thread 3 numa shared by 3: bound to no rank, and on the "
                   "rank's NUMA node 0, beside cpu 1, which is in use; "
                   "shared by the progress threads of 3 ranks"}},
    {.name = "bindings of one thread of each core",
        .machine = "pack:1 core:4 pu:2(indexes=2*4:1*2)",
        .ranks = "0-1 2",
        .wanted = {"thread 3 numa own: bound to no rank, and on the rank's "
                   "NUMA node 0",
            "thread 7 numa own: bound to no rank, and on the rank's "
            "NUMA node 0"}},
    {.name = "unbound ranks with plenty of room",
        .machine = DUAL_SMT,
        .ranks = "0-31*3",
        .wanted = {"thread 15 core own: an idle core: 3 threads of 3 ranks "
                   "run on the 16 cores of cpus 0-31",
            "thread 14 core own: an idle core: 3 threads of 3 ranks "
            "run on the 16 cores of cpus 0-31",
            "thread 13 core own: an idle core: 3 threads of 3 ranks "
            "run on the 16 cores of cpus 0-31"}},
    {.name = "unbound ranks, as many as cores",
        .machine = "pack:1 core:4 pu:2(indexes=2*4:1*2)",
        .ranks = "0-7*4",
        .wanted = {"thread 7 sibling own: the idle hardware thread beside "
                   "cpu 3: 4 threads of 4 ranks run on the 8 hardware "
                   "threads of cpus 0-7",
            "thread 6 sibling own: the idle hardware thread beside "
            "cpu 2: 4 threads of 4 ranks run on the 8 hardware "
            "threads of cpus 0-7",
            "thread 5 sibling own: the idle hardware thread beside "
            "cpu 1: 4 threads of 4 ranks run on the 8 hardware "
            "threads of cpus 0-7",
            "thread 4 sibling own: the idle hardware thread beside "
            "cpu 0: 4 threads of 4 ranks run on the 8 hardware "
            "threads of cpus 0-7"}},
    {.name = "no idle core in the own NUMA node",
        .machine = "numa4_nic1.xml",
        .ranks = "0-7",
        .wanted = {"thread 8 any own: bound to no rank, on NUMA node 2: "
                   "none is idle on the rank's own"}},
    {.name = "bindings that overlap are one group",
        .machine = "pack:1 core:8 pu:1",
        .ranks = "0-3/3 2-5/2 6-7/2",
        .wanted = {"thread 5 core shared by 2: an idle core: 5 threads of 2 "
                   "ranks run on the 6 cores of cpus 0-5; shared by the "
                   "progress threads of 2 ranks",
            "thread 5 core shared by 2: an idle core: 5 threads of 2 "
            "ranks run on the 6 cores of cpus 0-5; shared by the "
            "progress threads of 2 ranks",
            "caller: no core is idle for this rank: those that are, "
            "are bound to others"}},
    {.name = "a rank whose binding is not known",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "? 0",
        .wanted = {"caller: no core is known to be idle: the system does "
                   "not tell what every rank of the node is bound to"}},
    {.name = "the same, a thread is asked for",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "? 0",
        .progress = AMALGAM_PROGRESS_THREAD,
        .wanted = {"thread - unpinned shared: not pinned: no core is idle, "
                   "and what the rank is bound to is not known",
            "thread 0 last shared: one of the binding 0, in use by "
            "the program, too: no core is idle"}},
    {.name = "hundreds of hardware threads, a rank for each cache",
        .machine = HUNDREDS,
        .ranks = "0-6 8-14 16-22",
        .wanted = {"thread 7 numa own: bound to no rank, and on the rank's "
                   "NUMA node 0",
            "thread 15 numa own: bound to no rank, and on the rank's "
            "NUMA node 0",
            "thread 23 numa own: bound to no rank, and on the rank's "
            "NUMA node 0"}},
    {.name = "nothing idle for one, as the other's idle core is its own",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "0-1/2 2-3/1",
        .wanted = {"caller: no core is idle for this rank: those that are, "
                   "are bound to others",
            "thread 3 core own: an idle core: 1 thread of 1 rank "
            "runs on the 2 cores of cpus 2-3"}},
    {.name = "the caller is asked for",
        .machine = DUAL_SMT,
        .ranks = "0-7,16-23",
        .progress = AMALGAM_PROGRESS_CALLER,
        .wanted = {"caller: as was asked for"}},
    {.name = "nobody is asked for",
        .machine = DUAL_SMT,
        .ranks = "0-7,16-23",
        .progress = AMALGAM_PROGRESS_NONE,
        .wanted = {"none: as was asked for"}},
};

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER-OF-MACHINES\n", argv[0]);
        return 1;
    }
    return scenes_play(scenes, sizeof(scenes) / sizeof(scenes[0]), argv[1]);
}
