/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the return codes. */
#include <stddef.h>

#include "mercury_class.h"

#define CODE_NAME(name) [name] = #name,

const char *HG_Error_to_string(hg_return_t errnum)
{
    static const char *const names[] = {HG_RETURN_VALUES(CODE_NAME)};

    if ((unsigned)errnum >= (unsigned)HG_RETURN_MAX)
        return NULL;
    return names[errnum];
}
