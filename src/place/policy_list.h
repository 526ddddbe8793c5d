/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's words for cores: "auto", "none", or a list as "0-3,8". */
#ifndef AMG_PLACE_POLICY_LIST_H
#define AMG_PLACE_POLICY_LIST_H

#include "place/cpuset.h"

enum amg_list_kind {
    AMG_LIST_AUTO, /* the policy chooses */
    AMG_LIST_NONE, /* not pinned */
    AMG_LIST_CPUS,
    AMG_LIST_BAD /* makes no sense; the policy chooses */
};

enum { AMG_LIST_WHY_CAP = 80 };

struct amg_list {
    enum amg_list_kind kind;
    uint32_t count;
    uint16_t cpus[AMG_CPUS_MAX]; /* in the order that they are named in */
    char why[AMG_LIST_WHY_CAP];  /* of a BAD one */
};

/* NULL is "auto". */
void amg_list_parse(const char *text, struct amg_list *ret_list);

#endif
