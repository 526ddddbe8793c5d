/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that calls of Margo under torture expose, while peers may access it
 * and afterwards.
 *
 * Memory of an ended call is filled anew, kept until as many others as there
 * are places have come, and then compared: nobody may write there any more. */
#include <stdlib.h>

#include "content.h"
#include "margo_torture.h"

enum { DRAW_CUT = 130 };

hg_return_t mt_expose(const struct mt *mt, const struct mt_plan *plan,
    unsigned char *bytes, uint8_t flags, hg_bulk_t *ret_bulk)
{
    void *starts[MT_SEGMENTS];
    hg_size_t lens[MT_SEGMENTS];
    size_t from = 0;
    unsigned count = plan->segments;

    for (unsigned i = 0; i < count; i++) {
        size_t rest = plan->bulk_len - from;
        size_t len =
            i + 1 == count
                ? rest
                : rest * plan_draw(plan->hash, DRAW_CUT + i, 100) / 100;

        starts[i] = bytes + from;
        lens[i] = len;
        from += len;
    }
    return margo_bulk_create(mt->mid, count, starts, lens, flags, ret_bulk);
}

static uint64_t key_of(const void *memory)
{
    return content_key((uint64_t)(uintptr_t)memory, CONTENT_EXPOSED);
}

/* Takes the memory out of its place, compares and frees it. */
static void place_empty(struct mt *mt, struct mt_place *place)
{
    unsigned char *memory = place->memory;

    if (memory == NULL)
        return;
    if (content_differs(memory, place->len, key_of(memory), 0) != place->len)
        book_finding(mt->book,
            "memory was written after margo_bulk_free() had returned");
    free(memory);
    place->memory = NULL;
}

void mt_keep(struct mt *mt, unsigned char *memory, size_t len)
{
    struct mt_place old;
    struct mt_place *place = NULL;

    content_fill(memory, len, key_of(memory), 0);
    pthread_mutex_lock(&mt->kept.lock);
    place = &mt->kept.places[mt->kept.next++ % MT_PLACES];
    old = *place;
    *place = (struct mt_place){memory, len};
    pthread_mutex_unlock(&mt->kept.lock);
    place_empty(mt, &old);
}

void mt_keep_end(struct mt *mt)
{
    for (unsigned i = 0; i < MT_PLACES; i++)
        place_empty(mt, &mt->kept.places[i]);
}
