/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are reached by two routes. */
#ifndef AMG_CORE_TWIN_H
#define AMG_CORE_TWIN_H

#include "core/class.h"

/* Owned by the class that made it, while it opens and until its domains close;
 * a class that borrows them has it, too. Constant once the class is open, so
 * that it is read without a lock. */
struct amg_twins;

/* Of the main route's peers, some are reached by `near`, too, and are to be
 * called that way. Both routes are open. HG_NOMEM. */
hg_return_t amg_twins_create(
    hg_class_t *cls, enum amg_route near, struct amg_twins **ret_twins);
/* Takes a share of each. HG_NOMEM: nothing was added. */
hg_return_t amg_twins_add(struct amg_twins *twins, struct amg_peer *main_peer,
    struct amg_peer *near_peer);
/* Gives the shares back; fine with NULL. */
void amg_twins_destroy(struct amg_twins *twins);

/* The same process by the other route, without a share, or NULL. Fine when the
 * class has no twins. `ret_route` leads to it, and is written only then. */
struct amg_peer *amg_twin_of(const hg_class_t *cls, unsigned route,
    struct amg_peer *peer, unsigned *ret_route);

#endif
