/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte swaps of integers: bswap_16(), bswap_32(), bswap_64(). */
#ifndef MERCURY_BYTESWAP_H
#define MERCURY_BYTESWAP_H

#include <byteswap.h>

#endif
