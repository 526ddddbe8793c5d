/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a phase in which ranks send work to each other by one-way calls,
 * whose handlers may send more. When the function returns, all work is done on
 * all ranks. If this takes long, each rank writes what it still waits for. */
#include <amalgam.h>

hg_return_t phase_end(hg_class_t *hg_class)
{
    hg_return_t ret = amalgam_quiesce(hg_class, 10000);

    while (ret == HG_TIMEOUT) {
        amalgam_write_state(hg_class, stderr);
        ret = amalgam_quiesce(hg_class, 10000); /* goes on waiting */
    }
    return ret;
}
