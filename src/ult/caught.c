/* SPDX-License-Identifier: BSD-3-Clause */
/* The C++ exceptions that a thread handles. */
#include "ult/caught.h"

#include <stddef.h>

/* NOTE(why): the C++ runtime's name. Weak, since few programs have that. */
__attribute__((weak)) struct amg_caught *__cxa_get_globals(void);

struct amg_caught *amg_caught_of_thread(void)
{
    return __cxa_get_globals == NULL ? NULL : __cxa_get_globals();
}
