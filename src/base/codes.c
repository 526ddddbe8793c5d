/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the return codes. */
#include <stddef.h>

#include "mercury_class.h"

const char *HG_Error_to_string(hg_return_t errnum)
{
#define X(name) [name] = #name,
    static const char *const names[] = {HG_RETURN_VALUES};
#undef X

    if ((unsigned)errnum >= (unsigned)HG_RETURN_MAX)
        return NULL;
    return names[errnum];
}
