/* SPDX-License-Identifier: BSD-3-Clause */
/* Handler threads get cores that progress threads leave idle, and are not
 * pinned without any. */
#include <stdio.h>

#include "affinity/scene.h"

/* Linux' usual numbers: cpu i and cpu i + cores are threads of one core. */
#define SMT "pack:1 core:8 pu:2(indexes=2*8:1*2)"

static const struct scene scenes[] = {
    {.name = "cores that the program leaves idle",
        .machine = SMT,
        .ranks = "0-3,8-11/2 4-7,12-15/4",
        .handlers = 2,
        .wanted = {"thread 3 core own: idle core\n"
                   "handler 2 core own: idle core\n"
                   "handler 11 core own: idle core",
            "thread 15 sibling own: idle sibling, beside cpu 7\n"
            "handler 14 sibling own: idle sibling, beside cpu 6\n"
            "handler 13 sibling own: idle sibling, beside cpu 5"}},
    {.name = "progress threads of all come before handlers",
        .machine = "pack:1 core:8 pu:1",
        .ranks = "0-2 3-5",
        .handlers = 1,
        .wanted = {"thread 6 numa own: own NUMA node 0\n"
                   "handler - unpinned shared: not pinned, no idle core",
            "thread 7 numa own: own NUMA node 0\n"
            "handler - unpinned shared: not pinned, no idle core"}},
    {.name = "first handlers of all come before second ones",
        .machine = "pack:1 core:8 pu:1",
        .ranks = "0 1",
        .handlers = 3,
        .wanted = {"thread 2 numa own: own NUMA node 0\n"
                   "handler 4 numa own: own NUMA node 0\n"
                   "handler 6 numa own: own NUMA node 0\n"
                   "handler - unpinned shared: not pinned, no idle core",
            "thread 3 numa own: own NUMA node 0\n"
            "handler 5 numa own: own NUMA node 0\n"
            "handler 7 numa own: own NUMA node 0\n"
            "handler - unpinned shared: not pinned, no idle core"}},
    {.name = "handlers do not share, as progress threads do",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "0 1 2",
        .handlers = 1,
        .wanted = {"thread 3 numa shared by 3: own NUMA node, shared by 3\n"
                   "handler - unpinned shared: not pinned, no idle core"}},
    {.name = "as many as are idle, and one is",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "0 1",
        .handlers = AMALGAM_HANDLERS_AUTO,
        .progress = AMALGAM_PROGRESS_CALLER,
        .wanted = {"caller: as asked\n"
                   "handler 2 numa own: own NUMA node 0",
            "caller: as asked\n"
            "handler 3 numa own: own NUMA node 0"}},
    {.name = "as many as are idle, and one is left for the first",
        .machine = "pack:1 core:5 pu:1",
        .ranks = "0 1",
        .handlers = AMALGAM_HANDLERS_AUTO,
        .wanted = {"thread 2 numa own: own NUMA node 0\n"
                   "handler 4 numa own: own NUMA node 0",
            "thread 3 numa own: own NUMA node 0"}},
    {.name = "as many as are idle, and none is",
        .machine = "kvm_two_cores.xml",
        .ranks = "0-1*2",
        .handlers = AMALGAM_HANDLERS_AUTO,
        .wanted = {"caller: no idle core: 2 ranks on 2 cores"}},
    {.name = "this machine, threads are asked for",
        .machine = "kvm_two_cores.xml",
        .ranks = "0-1*2",
        .progress = AMALGAM_PROGRESS_THREAD,
        .handlers = 1,
        .wanted = {"thread 1 last shared: busy core\n"
                   "handler - unpinned shared: not pinned, no idle core",
            "thread 0 last shared: busy core\n"
            "handler - unpinned shared: not pinned, no idle core"}},
    {.name = "a handler on the NIC's NUMA node",
        .machine = "numa4_nic1.xml",
        .ranks = "0-3 4-5 8-11 12-15",
        .nic = "hsn0",
        .handlers = 1,
        .wanted = {"thread 7 nic shared by 2: near NIC, shared by 2\n"
                   "handler - unpinned shared: not pinned, no idle core",
            "thread 6 nic shared by 2: near NIC, shared by 2\n"
            "handler - unpinned shared: not pinned, no idle core",
            "thread 6 nic shared by 2: near NIC, shared by 2\n"
            "handler - unpinned shared: not pinned, no idle core",
            "thread 7 nic shared by 2: near NIC, shared by 2\n"
            "handler - unpinned shared: not pinned, no idle core"}},
    {.name = "a list of cores for them",
        .machine = "pack:1 core:8 pu:1",
        .ranks = "0 1",
        .handlers = 2,
        .handler_cpus = "7,6,4-5",
        .wanted = {"thread 2 numa own: own NUMA node 0\n"
                   "handler 7 chosen own: named core\n"
                   "handler 6 chosen own: named core",
            "thread 3 numa own: own NUMA node 0\n"
            "handler 4 chosen own: named core\n"
            "handler 5 chosen own: named core"}},
    {.name = "they are not to be pinned",
        .machine = "pack:1 core:8 pu:1",
        .ranks = "0 1",
        .handlers = 1,
        .handler_cpus = "none",
        .wanted = {"thread 2 numa own: own NUMA node 0\n"
                   "handler - unpinned shared: not pinned, as asked",
            "thread 3 numa own: own NUMA node 0\n"
            "handler - unpinned shared: not pinned, as asked"}},
    {.name = "as many as are idle, on the core that is named",
        .machine = "pack:1 core:4 pu:1",
        .ranks = "0 1",
        .progress = AMALGAM_PROGRESS_CALLER,
        .handlers = AMALGAM_HANDLERS_AUTO,
        .handler_cpus = "3,0",
        .wanted = {"caller: as asked\n"
                   "handler 3 chosen own: named core",
            "caller: as asked"}},
};

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER-OF-MACHINES\n", argv[0]);
        return 1;
    }
    return scenes_play(scenes, sizeof(scenes) / sizeof(scenes[0]), argv[1]);
}
