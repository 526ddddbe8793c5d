/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores that the user names are used; invalid ones are logged, and the next
 * best used. */
#include <stdio.h>

#include "affinity/scene.h"

#define EIGHT "pack:2 core:4 pu:1"

static const struct scene scenes[] = {
    {.name = "one for each rank, in the order of the list",
        .machine = EIGHT,
        .ranks = "0-2 3-5",
        .progress_cpus = "7,6",
        .wanted = {"thread 7 chosen own: named core",
            "thread 6 chosen own: named core"}},
    {.name = "beside strangers: an idle core of the own binding",
        .machine = EIGHT,
        .ranks = "0-3/2",
        .progress = AMALGAM_PROGRESS_THREAD,
        .has_strangers = true,
        .wanted = {"thread 3 core own: idle core"}},
    {.name = "beside strangers: none beyond it",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress = AMALGAM_PROGRESS_THREAD,
        .has_strangers = true,
        .wanted = {"thread 3 last shared: busy core"}},
    {.name = "beside strangers: the named one, which is not spun on",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress = AMALGAM_PROGRESS_THREAD,
        .has_strangers = true,
        .progress_cpus = "7",
        .wanted = {"thread 7 chosen shared: named core, use unknown"}},
    {.name = "auto is the default",
        .machine = EIGHT,
        .ranks = "0-2 3-5",
        .progress_cpus = "auto",
        .wanted = {"thread 6 numa own: own NUMA node",
            "thread 7 numa own: own NUMA node"}},
    {.name = "a core in use is taken, but not spun on",
        .machine = EIGHT,
        .ranks = "0-3 4-7",
        .progress_cpus = "0,3",
        .wanted = {"thread 0 chosen shared: named core, busy",
            "thread 3 chosen shared: named core, busy"}},
    {.name = "the idle core of another rank",
        .machine = EIGHT,
        .ranks = "0-3/4 4-7/2",
        .progress_cpus = "7,6",
        .wanted = {"thread 7 chosen own: named core",
            "thread 6 chosen own: named core"}},
    {.name = "a mode that is asked for stays",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress = AMALGAM_PROGRESS_ASSIST,
        .progress_cpus = "2",
        .wanted = {"assist 2 chosen shared: named core, busy"}},
    {.name = "without a thread, the list is not even read",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress = AMALGAM_PROGRESS_CALLER,
        .progress_cpus = "rubbish",
        .wanted = {"caller: as asked"}},
    {.name = "not to be pinned, and a core is idle",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "none",
        .wanted = {"thread - unpinned shared: not pinned, as asked"}},
    {.name = "not to be pinned, and none is idle",
        .machine = EIGHT,
        .ranks = "0-7",
        .progress_cpus = "none",
        .wanted = {"caller: no idle core: 1 rank on 8 cores"}},
    {.name = "not to be pinned, and a thread is asked for",
        .machine = EIGHT,
        .ranks = "0-7",
        .progress = AMALGAM_PROGRESS_THREAD,
        .progress_cpus = "none",
        .wanted = {"thread - unpinned shared: not pinned, as asked"}},
    {.name = "a list too short",
        .machine = EIGHT,
        .ranks = "0-1 2-3 4-5",
        .progress_cpus = "6-7",
        .wanted = {"thread 6 chosen shared by 2: named core",
            "thread 7 chosen own: named core",
            "thread 6 chosen shared by 2: named core\n"
            "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"6-7\", which names 2 "
            "for 3 threads on this node: threads share cores"}},
    {.name = "a cpu that does not exist",
        .machine = EIGHT,
        .ranks = "0-2 3-5",
        .progress_cpus = "6,8",
        .wanted = {"thread 6 chosen own: named core",
            "thread 7 numa own: own NUMA node\n"
            "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"6,8\", but cpu 8, "
            "which falls to rank 1, does not exist here: the library chooses "
            "instead"}},
    {.name = "a cpu that the cgroup forbids",
        .machine = "cgroup.xml",
        .ranks = "2-3 4",
        .progress_cpus = "5,6",
        .wanted = {"thread 5 chosen shared by 2: named core",
            "thread 5 numa shared by 2: own NUMA node\n"
            "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"5,6\", but cpu 6, "
            "which falls to rank 1, is not allowed by the cgroup: the library "
            "chooses instead"}},
    {.name = "nothing",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"\", "
             "which from \"\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "words",
        .machine = EIGHT,
        .ranks = "0-7",
        .progress_cpus = "core three",
        .wanted =
            {"caller: no idle core: 1 rank on 8 cores\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"core three\", "
             "which from \"core three\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "a mask",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "0x30",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"0x30\", "
             "which from \"0x30\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "a range without an end",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "4-",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"4-\", "
             "which from \"4-\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "a range backwards",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "1,7-4",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"1,7-4\", "
             "which from \"7-4\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "a comma too many",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "4,",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"4,\", "
             "which from \"\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "a negative number",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "-1",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"-1\", "
             "which from \"-1\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
    {.name = "a number beyond all machines",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "4,99999999999999999999",
        .wanted = {"thread 4 numa own: own NUMA node\n"
                   "progress_cpus (AMALGAM_PROGRESS_CPUS) is "
                   "\"4,99999999999999999999\", "
                   "which from \"99999999999999999999\" on is not auto, none, "
                   "or up to 1024 cpus below 1024, as in 0-3,8: the library "
                   "chooses instead"}},
    {.name = "more than all machines have",
        .machine = EIGHT,
        .ranks = "0-3",
        .progress_cpus = "0-1023,4",
        .wanted =
            {"thread 4 numa own: own NUMA node\n"
             "progress_cpus (AMALGAM_PROGRESS_CPUS) is \"0-1023,4\", "
             "which from \"4\" on is not auto, none, or up to 1024 "
             "cpus below 1024, as in 0-3,8: the library chooses instead"}},
};

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER-OF-MACHINES\n", argv[0]);
        return 1;
    }
    return scenes_play(scenes, sizeof(scenes) / sizeof(scenes[0]), argv[1]);
}
