/* SPDX-License-Identifier: BSD-3-Clause */
/* The section "mercury": Mercury's options as text, in both directions. */
#ifndef AMG_MARGO_CONFIG_MERCURY_H
#define AMG_MARGO_CONFIG_MERCURY_H

#include <stdbool.h>

#include "margo/log.h"
#include "mercury.h"

struct json_object;

/* Reads the section, which may be NULL, over what `info` has. Strings lie in
 * the section. What it says of Mercury's log takes effect at once. False:
 * refused, the log says why. `is_listening`: what the arguments say. */
bool amg_margo_mercury_read(const struct amg_margo_log *log,
    struct json_object *section, bool is_listening, struct hg_init_info *info);

/* The section of such options, without address and limits; NULL: no memory. */
struct json_object *amg_margo_mercury_describe(const struct hg_init_info *info);

#endif
