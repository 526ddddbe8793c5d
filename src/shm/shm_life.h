/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a process alive? There are three answers, and nothing that a process may
 * still use is freed, unlinked or given away on the third one. */
#ifndef AMG_SHM_SHM_LIFE_H
#define AMG_SHM_SHM_LIFE_H

#include <stdint.h>

enum amg_shm_life {
    AMG_SHM_ALIVE,
    AMG_SHM_DEAD,
    AMG_SHM_UNTOLD, /* no answer, for instance without a descriptor left */
};

/* Of the process of that pid that began at that moment. */
typedef enum amg_shm_life (*amg_shm_life_fn)(uint32_t pid, uint64_t start_time);

#endif
