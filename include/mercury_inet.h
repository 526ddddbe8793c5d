/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers in network byte order: the functions of <arpa/inet.h>, and htonll()
 * and ntohll() for 64 bits. */
#ifndef MERCURY_INET_H
#define MERCURY_INET_H

#include <arpa/inet.h>
#include <stdint.h>

#include "mercury_byteswap.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#ifndef htonll
#define htonll(x) ((uint64_t)(x))
#endif
#ifndef ntohll
#define ntohll(x) ((uint64_t)(x))
#endif
#else
#ifndef htonll
#define htonll(x) ((uint64_t)bswap_64((uint64_t)(x)))
#endif
#ifndef ntohll
#define ntohll(x) ((uint64_t)bswap_64((uint64_t)(x)))
#endif
#endif

#endif
