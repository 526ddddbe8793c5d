/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine as plain data: what the policy needs of a topology. */
#include "place/machine.h"
