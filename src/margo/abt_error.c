/* SPDX-License-Identifier: BSD-3-Clause */
/* Error codes of Argobots in words. */
#include "margo/abt_error.h"

#include <stdio.h>

#include "abt.h"

const char *amg_margo_abt_error(
    int error, char ret_text[AMG_MARGO_ABT_ERROR_CAP])
{
    size_t len = 0;

    /* The length first: it is without the zero at the end. */
    if (ABT_error_get_str(error, NULL, &len) != ABT_SUCCESS ||
        len >= AMG_MARGO_ABT_ERROR_CAP ||
        ABT_error_get_str(error, ret_text, NULL) != ABT_SUCCESS)
        (void)snprintf(
            ret_text, AMG_MARGO_ABT_ERROR_CAP, "error %d of Argobots", error);
    return ret_text;
}
