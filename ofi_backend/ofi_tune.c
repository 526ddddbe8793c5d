/* SPDX-License-Identifier: BSD-3-Clause */
/* What providers read from the environment only.
 *
 * Libfabric reads it once, when a process first looks for providers. What the
 * user has set stays; and what is set here is taken back, so that no child and
 * no other library sees it. Where another library (MPI) has looked before,
 * nothing here has any effect. */
#include "ofi_backend/ofi_tune.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/lock.h"

static struct tune {
    const char *name;
    const char *value;
    bool is_ours;
} tunes[] = {
    /* The layer over connections makes room for so many messages of 16 KiB at
     * once: by default for 4096, which takes 64 MiB before anybody calls. With
     * 128 a class over tcp;ofi_rxm has 22 MiB resident instead of 74. */
    {"FI_OFI_RXM_MSG_RX_SIZE", "128", false},
};

static struct amg_lock tune_lock;
static bool was_tuned;

/* NOTE(held until the end): who looks meanwhile waits, and finds it done. */
void amg_ofi_tune_begin(void)
{
    amg_lock_take(&tune_lock);
    for (unsigned i = 0; i < sizeof(tunes) / sizeof(tunes[0]) && !was_tuned;
         i++)
        if (getenv(tunes[i].name) == NULL)
            tunes[i].is_ours = setenv(tunes[i].name, tunes[i].value, 0) == 0;
}

void amg_ofi_tune_end(void)
{
    for (unsigned i = 0; i < sizeof(tunes) / sizeof(tunes[0]); i++) {
        if (tunes[i].is_ours)
            (void)unsetenv(tunes[i].name);
        tunes[i].is_ours = false;
    }
    was_tuned = true;
    amg_lock_give(&tune_lock);
}
