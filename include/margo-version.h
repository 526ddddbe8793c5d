/* SPDX-License-Identifier: BSD-3-Clause */
/* Version of Margo whose API margo.h offers. */
#ifndef MARGO_VERSION_H
#define MARGO_VERSION_H

#define MARGO_VERSION_MAJOR 0
#define MARGO_VERSION_MINOR 24
#define MARGO_VERSION_PATCH 0

#define MARGO_VERSION "0.24.0"

/* One number to compare: 100000 per major version, 100 per minor one. */
#define MARGO_VERSION_NUM                                                      \
    (MARGO_VERSION_MAJOR * 100000 + MARGO_VERSION_MINOR * 100 +                \
        MARGO_VERSION_PATCH)

#endif
