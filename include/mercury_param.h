/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic macros of <sys/param.h>: MIN, MAX, howmany, roundup, powerof2. */
#ifndef MERCURY_PARAM_H
#define MERCURY_PARAM_H

#include <sys/param.h>

/* Macros that some C libraries lack. */
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef howmany
#define howmany(x, y) (((x) + ((y)-1)) / (y))
#endif
#ifndef roundup
#define roundup(x, y) (howmany(x, y) * (y))
#endif
#ifndef powerof2
#define powerof2(x) ((((x)-1) & (x)) == 0)
#endif

#endif
