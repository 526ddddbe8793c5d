/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of what is under way, for amalgam_write_state(): lines of text, and
 * the number of things under way.
 *
 * A line has a subject, a part of the library or a peer, and items:
 *
 *   amalgam [rank 2] state: shm: rank 3 (na+sm://71-0): unanswered calls 5,
 *   requests waiting for a credit or room 2, credits taken 8 of 8
 *
 * An item is a number of things under way: waiting messages, credits or buffers
 * that a peer has, operations. A note is a fact beside the items. A line
 * without an item is not written.
 *
 * A report begins with the contexts of the class. Then follows what each driver
 * has under way with each of its peers, and last what belongs to no single
 * peer.
 *
 * The lines go into memory, and from there to the file when no lock is held: a
 * full pipe must not stop threads that make progress. Each part of the report
 * takes its lock anew, so a thing that moves from one part to another may be
 * seen twice, or not at all; when nothing is under way, the report is exact. */
#ifndef AMG_TRANSPORT_STATE_H
#define AMG_TRANSPORT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct amg_calls;
struct amg_flow_peer;

enum { AMG_STATE_WHO_CAP = 64 };

/* Owned by the caller of the report, used by one thread. */
struct amg_state {
    char *text; /* NULL: things are counted, and nothing is written */
    size_t cap;
    size_t len;
    size_t count;                /* number of things under way */
    size_t owed;                 /* of `count`: what must end before ranks of a
                                  * job may close */
    size_t quiet;                /* peers with nothing under way */
    size_t lacked;               /* lines left out, as `text` had no room */
    char who[AMG_STATE_WHO_CAP]; /* name of the process, in each line */
    /* The line that is being written. */
    const char *part;
    const struct amg_calls *calls;    /* of `peer` */
    const struct amg_flow_peer *peer; /* NULL: the line is about the part */
    size_t begin;                     /* offset of the line in `text` */
    unsigned items;
    bool is_full; /* `text` has no room for the line */
};

/* Sets all fields to 0 but those of the parameters. A negative `rank`: this
 * process has no rank. A NULL `text`: the report only counts. */
void amg_state_init(struct amg_state *state, char *text, size_t cap, int rank);

/* Begins a line about a part of the library, which ends with amg_state_end().
 * `part` must live until that call. */
void amg_state_begin(struct amg_state *state, const char *part);
/* Begins a line about a peer, whose number in the table of calls is `owner`,
 * with what the call engine has under way with that peer. The caller holds the
 * lock of the domain until the line ends. */
void amg_state_begin_peer_locked(struct amg_state *state,
    const struct amg_calls *calls, const struct amg_flow_peer *peer,
    uint32_t owner);
void amg_state_end(struct amg_state *state);

/* Adds an item: `count` things under way, if there are any. */
void amg_state_add(struct amg_state *state, const char *what, size_t count);
static inline void amg_state_add_list(
    struct amg_state *state, const char *what, const struct amg_list *list)
{
    amg_state_add(state, what, amg_list_len(list));
}
/* Appends to the line, if it has an item: a note like ", name value". */
void amg_state_print(struct amg_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
