/* SPDX-License-Identifier: BSD-3-Clause */
/* The older name of the header that declares HG_LIST_*. */
#ifndef MERCURY_LIST_H
#define MERCURY_LIST_H

#include "mercury_queue.h"

#endif
