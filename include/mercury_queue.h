/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues and lists whose links are members of the objects, under Mercury's
 * names; this header also includes the macros of <sys/queue.h>.
 *
 * HG_QUEUE_*: push at the tail, pop at the head (a STAILQ). HG_LIST_*: insert
 * at the head or next to an element, remove any element (a LIST). The macros
 * neither lock nor allocate.
 *
 *   struct job {
 *       int what;
 *       HG_QUEUE_ENTRY(job) entry;
 *   };
 *   HG_QUEUE_HEAD(job) jobs = HG_QUEUE_HEAD_INITIALIZER(jobs);
 *
 *   HG_QUEUE_PUSH_TAIL(&jobs, job, entry);
 */
#ifndef MERCURY_QUEUE_H
#define MERCURY_QUEUE_H

#include "mercury_sys_queue.h"

/* Heads: an unnamed type, a named type, an initial value, a variable. */
#define HG_QUEUE_HEAD(entry_type)                                              \
    struct {                                                                   \
        struct entry_type *stqh_first;                                         \
        struct entry_type **stqh_last;                                         \
    }
#define HG_QUEUE_HEAD_DECL(head_type, entry_type)                              \
    STAILQ_HEAD(head_type, entry_type)
#define HG_QUEUE_HEAD_INITIALIZER(name) STAILQ_HEAD_INITIALIZER(name)
#define HG_QUEUE_HEAD_INIT(head_type, name)                                    \
    struct head_type name = HG_QUEUE_HEAD_INITIALIZER(name)
#define HG_QUEUE_ENTRY(entry_type) STAILQ_ENTRY(entry_type)

#define HG_QUEUE_INIT(head)        STAILQ_INIT(head)
#define HG_QUEUE_IS_EMPTY(head)    STAILQ_EMPTY(head)
#define HG_QUEUE_FIRST(head)       STAILQ_FIRST(head)
#define HG_QUEUE_NEXT(elem, field) STAILQ_NEXT(elem, field)
#define HG_QUEUE_PUSH_TAIL(head, elem, field)                                  \
    STAILQ_INSERT_TAIL(head, elem, field)
/* The queue must not be empty. */
#define HG_QUEUE_POP_HEAD(head, field) STAILQ_REMOVE_HEAD(head, field)
#define HG_QUEUE_REMOVE(head, elem, entry_type, field)                         \
    STAILQ_REMOVE(head, elem, entry_type, field)
#define HG_QUEUE_FOREACH(var, head, field) STAILQ_FOREACH(var, head, field)

#define HG_LIST_HEAD(entry_type)                                               \
    struct {                                                                   \
        struct entry_type *lh_first;                                           \
    }
#define HG_LIST_HEAD_DECL(head_type, entry_type)                               \
    LIST_HEAD(head_type, entry_type)
#define HG_LIST_HEAD_INITIALIZER(name) LIST_HEAD_INITIALIZER(name)
#define HG_LIST_HEAD_INIT(head_type, name)                                     \
    struct head_type name = HG_LIST_HEAD_INITIALIZER(name)
#define HG_LIST_ENTRY(entry_type) LIST_ENTRY(entry_type)

#define HG_LIST_INIT(head)        LIST_INIT(head)
#define HG_LIST_IS_EMPTY(head)    LIST_EMPTY(head)
#define HG_LIST_FIRST(head)       LIST_FIRST(head)
#define HG_LIST_NEXT(elem, field) LIST_NEXT(elem, field)
#define HG_LIST_INSERT_HEAD(head, elem, field)                                 \
    LIST_INSERT_HEAD(head, elem, field)
#define HG_LIST_INSERT_AFTER(beside, elem, field)                              \
    LIST_INSERT_AFTER(beside, elem, field)
#define HG_LIST_INSERT_BEFORE(beside, elem, field)                             \
    LIST_INSERT_BEFORE(beside, elem, field)
#define HG_LIST_REMOVE(elem, field)       LIST_REMOVE(elem, field)
#define HG_LIST_FOREACH(var, head, field) LIST_FOREACH(var, head, field)

#endif
