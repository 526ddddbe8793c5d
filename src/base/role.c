/* SPDX-License-Identifier: BSD-3-Clause */
/* Role of the calling thread: of the library or of the program, and its current
 * work. */
#include "base/role.h"

_Thread_local struct amg_role amg_role
    __attribute__((tls_model("initial-exec")));
