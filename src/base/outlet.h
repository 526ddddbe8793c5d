/* SPDX-License-Identifier: BSD-3-Clause */
/* The sources of log lines, and the level that each is shown up to. */
#ifndef AMG_BASE_OUTLET_H
#define AMG_BASE_OUTLET_H

#include <stdbool.h>

#include "mercury_log.h"

/* One of the library's own by its name; "hg" when there is none. */
struct hg_log_outlet *amg_outlet_find(const char *name);

/* Outlets of programs: they get their level now and whenever it changes. NULL,
 * and what is (or is not) known already, have no effect. */
void amg_outlet_register(struct hg_log_outlet *outlet);
void amg_outlet_deregister(struct hg_log_outlet *outlet);

/* The level of all; forgets those of single ones. */
void amg_outlet_set_level(enum hg_log_level level);
enum hg_log_level amg_outlet_get_level(void);
/* The level of one and those below it. False: no room for the name. */
bool amg_outlet_set_level_of(const char *name, enum hg_log_level level);

/* "a,b,~c", or NULL; see mercury_log.h. False: too long, nothing changed. */
bool amg_outlet_set_list(const char *list);
const char *amg_outlet_get_list(void);

/* Does any of the library's own show this level? Cheap. */
bool amg_outlet_any_shows(enum hg_log_level level);
/* Does this one? */
bool amg_outlet_shows(struct hg_log_outlet *outlet, enum hg_log_level level);

#endif
