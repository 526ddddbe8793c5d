/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of a key for a thread. */
#ifndef AMG_ULT_KEY_VALUE_H
#define AMG_ULT_KEY_VALUE_H

#include "abt.h"

struct amg_ult;

/* ABT codes. */
int amg_key_set(struct amg_ult *ult, ABT_key key, void *value);
int amg_key_get(struct amg_ult *ult, ABT_key key, void **ret_value);

#endif
