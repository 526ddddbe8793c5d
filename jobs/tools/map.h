/* SPDX-License-Identifier: BSD-3-Clause */
/* Map of the node: the ranks and library threads on each hardware thread. */
#ifndef TOOLS_MAP_H
#define TOOLS_MAP_H

#include "report.h"

/* A thread of the library on a hardware thread. */
struct map_mark {
    char letter; /* 'P': progress thread; 'p': on a shared core */
    uint32_t rank;
};

/* A hardware thread, and the ranks and threads on it. */
struct map_place {
    const struct amg_pu *pu;
    bool is_allowed;
    uint32_t *ranks; /* ranks bound to `pu`, in ascending order */
    uint32_t rank_count;
    struct map_mark *marks;
    uint32_t mark_count;
};

struct map {
    struct map_place *places; /* in the order of the machine's pus */
    uint32_t count;
    void *rooms[2];
};

/* False: no memory. */
bool map_make(struct map *map, const struct report *report);
void map_fini(struct map *map);

/* Number of hardware threads, from `first` on, of the core, NUMA node or
 * package of `first`. */
uint32_t map_core_len(const struct map *map, uint32_t first);
uint32_t map_numa_len(const struct map *map, uint32_t first);
uint32_t map_package_len(const struct map *map, uint32_t first);

/* Home of a NIC: the one NUMA node or package near it, or the whole node. */
enum map_home { MAP_HOME_NODE, MAP_HOME_PACKAGE, MAP_HOME_NUMA };
enum map_home map_home_of(const struct amg_machine *machine,
    const struct amg_nic *nic, unsigned *ret_number);
/* Names of the NICs with that home, with commas; "": none. */
const char *map_nics(const struct amg_machine *machine, enum map_home home,
    unsigned number, char *ret_text, size_t cap);

/* "0-3,7"; ends in "..." if the list is too long. Returns `ret_text`. */
const char *map_list(
    const uint32_t *numbers, uint32_t count, char *ret_text, size_t cap);

#endif
