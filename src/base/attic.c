/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of objects that programs name, kept for objects of the same kind.
 *
 * A program may use a handle, a class or a request that it has destroyed. To
 * say so instead of working on foreign memory, the library has to know that the
 * pointer leads to such an object, living or not. So what was once memory of a
 * kind of objects is never anything else: it is not given back to the system,
 * and not counted as in use. There is no more of it than once lived together.
 * An object that was made anew at the same place is not told from the old one.
 */
#include "base/attic.h"

#include <string.h>

#include "base/mem.h"

void *amg_attic_get(struct amg_attic *attic, size_t align, size_t len)
{
    struct amg_link *object = NULL;

    amg_lock_take(&attic->lock);
    if (attic->count > attic->rest) {
        object = attic->free;
        attic->free = object->next;
        attic->count--;
    }
    amg_lock_give(&attic->lock);
    if (object != NULL)
        return object;
    object = amg_mem_alloc_aligned(align, len);
    if (object != NULL)
        memset(object, 0, len);
    return amg_mem_hand_over(object);
}

void amg_attic_put(struct amg_attic *attic, void *object)
{
    struct amg_link *link = object;

    if (link == NULL)
        return;
    amg_lock_take(&attic->lock);
    /* What rests comes last, else what is warm comes first. */
    if (attic->free == NULL || attic->rest == 0) {
        link->next = attic->free;
        attic->free = link;
    } else {
        link->next = NULL;
        attic->last->next = link;
    }
    if (link->next == NULL)
        attic->last = link;
    attic->count++;
    amg_lock_give(&attic->lock);
}
