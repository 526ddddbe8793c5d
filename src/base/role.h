/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calling thread is, and for whom it works. */
#ifndef AMG_BASE_ROLE_H
#define AMG_BASE_ROLE_H

#include <stdbool.h>

struct amg_role {
    bool is_library_thread; /* a thread that the library started */
    bool is_serving; /* runs what a peer asked for, or what came of that */
    bool is_running; /* runs a callback of the program */
    bool has_posted; /* since that began; only a hint */
};

extern _Thread_local struct amg_role amg_role
    __attribute__((tls_model("initial-exec")));

#endif
