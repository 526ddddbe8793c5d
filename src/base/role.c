/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calling thread is, and for whom it works. */
#include "base/role.h"

_Thread_local struct amg_role amg_role
    __attribute__((tls_model("initial-exec")));
