/* SPDX-License-Identifier: BSD-3-Clause */
/* Role of the calling thread: of the library or of the program, and its current
 * work. */
#ifndef AMG_BASE_ROLE_H
#define AMG_BASE_ROLE_H

#include <stdbool.h>

struct amg_role {
    bool is_library_thread; /* a thread that the library started */
    bool is_serving; /* serves a request of a peer, or its consequences */
    bool is_running; /* runs a callback of the program */
    bool has_posted; /* since the callback began; only a hint */
};

extern _Thread_local struct amg_role amg_role
    __attribute__((tls_model("initial-exec")));

#endif
