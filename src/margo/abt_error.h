/* SPDX-License-Identifier: BSD-3-Clause */
/* Error codes of Argobots in words. */
#ifndef AMG_MARGO_ABT_ERROR_H
#define AMG_MARGO_ABT_ERROR_H

enum { AMG_MARGO_ABT_ERROR_CAP = 64 };

/* "ABT_ERR_INV_POOL", in `ret_text`, which is returned. */
const char *amg_margo_abt_error(
    int error, char ret_text[AMG_MARGO_ABT_ERROR_CAP]);

#endif
