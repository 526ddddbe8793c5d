/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists and queues whose links are members of the objects: <sys/queue.h>, and
 * macros that some C libraries lack.
 *
 * The _SAFE loops keep the next element in `tvar`, so that the body may remove
 * or free `var`. */
#ifndef MERCURY_SYS_QUEUE_H
#define MERCURY_SYS_QUEUE_H

#include <stddef.h>
#include <sys/queue.h>

#ifndef SLIST_FOREACH_SAFE
#define SLIST_FOREACH_SAFE(var, head, field, tvar)                             \
    for ((var) = SLIST_FIRST((head));                                          \
         (var) != NULL && ((tvar) = SLIST_NEXT((var), field), 1);              \
         (var) = (tvar))
#endif
#ifndef LIST_FOREACH_SAFE
#define LIST_FOREACH_SAFE(var, head, field, tvar)                              \
    for ((var) = LIST_FIRST((head));                                           \
         (var) != NULL && ((tvar) = LIST_NEXT((var), field), 1);               \
         (var) = (tvar))
#endif
#ifndef STAILQ_FOREACH_SAFE
#define STAILQ_FOREACH_SAFE(var, head, field, tvar)                            \
    for ((var) = STAILQ_FIRST((head));                                         \
         (var) != NULL && ((tvar) = STAILQ_NEXT((var), field), 1);             \
         (var) = (tvar))
#endif
#ifndef TAILQ_FOREACH_SAFE
#define TAILQ_FOREACH_SAFE(var, head, field, tvar)                             \
    for ((var) = TAILQ_FIRST((head));                                          \
         (var) != NULL && ((tvar) = TAILQ_NEXT((var), field), 1);              \
         (var) = (tvar))
#endif
#ifndef STAILQ_LAST
#define STAILQ_LAST(head, type, field)                                         \
    (STAILQ_EMPTY((head))                                                      \
            ? NULL                                                             \
            : (struct type *)(void *)((char *)(head)->stqh_last -              \
                                      offsetof(struct type, field)))
#endif

#endif
