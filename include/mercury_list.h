/* SPDX-License-Identifier: BSD-3-Clause */
/* Older name of mercury_queue.h, which declares HG_LIST_*. */
#ifndef MERCURY_LIST_H
#define MERCURY_LIST_H

#include "mercury_queue.h"

#endif
