/* SPDX-License-Identifier: BSD-3-Clause */
/* What amalgam_info calls things in sentences. */
#ifndef TOOLS_WORDS_H
#define TOOLS_WORDS_H

#include "core/class.h"

/* "calls that wait drive" */
const char *words_progress(enum amalgam_progress progress);
/* How the class's transports can be waited for: "sleeps on a descriptor". */
const char *words_medium(const hg_class_t *cls);

#endif
