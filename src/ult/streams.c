/* SPDX-License-Identifier: BSD-3-Clause */
/* All streams of the process, and their ranks. */
#include "ult/streams.h"

#include "base/list.h"
#include "base/lock.h"
#include "ult/stream.h"

static struct amg_lock lock;
/* By rising ranks. */
static struct amg_list all = {{&all.head, &all.head}};
static int count;

static struct amg_stream *stream_of(struct amg_link *link)
{
    return AMG_OBJECT(link, struct amg_stream, link);
}

/* The place before which it stands; NULL: the rank is taken. */
static struct amg_link *place_of_locked(int *rank)
{
    bool is_any = *rank < 0;
    struct amg_link *link = all.head.next;

    if (is_any)
        *rank = 0;
    for (; link != &all.head; link = link->next) {
        if (stream_of(link)->rank > *rank)
            break;
        if (stream_of(link)->rank == *rank) {
            if (!is_any)
                return NULL;
            ++*rank;
        }
    }
    return link;
}

static bool insert_locked(struct amg_stream *stream, int rank)
{
    struct amg_link *before = place_of_locked(&rank);

    if (before == NULL)
        return false;
    stream->rank = rank;
    stream->link.next = before;
    stream->link.prev = before->prev;
    before->prev->next = &stream->link;
    before->prev = &stream->link;
    return true;
}

bool amg_streams_add(struct amg_stream *stream, int rank)
{
    bool is_done = false;

    amg_lock_take(&lock);
    is_done = insert_locked(stream, rank);
    if (is_done)
        count++;
    amg_lock_give(&lock);
    return is_done;
}

void amg_streams_remove(struct amg_stream *stream)
{
    amg_lock_take(&lock);
    amg_list_remove(&stream->link);
    count--;
    amg_lock_give(&lock);
}

bool amg_streams_rank_set(struct amg_stream *stream, int rank)
{
    bool is_done = true;

    amg_lock_take(&lock);
    if (stream->rank != rank && place_of_locked(&rank) == NULL)
        is_done = false;
    if (is_done && stream->rank != rank) {
        amg_list_remove(&stream->link);
        insert_locked(stream, rank);
    }
    amg_lock_give(&lock);
    return is_done;
}

int amg_streams_rank(struct amg_stream *stream)
{
    int rank = 0;

    amg_lock_take(&lock);
    rank = stream->rank;
    amg_lock_give(&lock);
    return rank;
}

int amg_streams_count(void)
{
    int result = 0;

    amg_lock_take(&lock);
    result = count;
    amg_lock_give(&lock);
    return result;
}

bool amg_streams_each(
    bool (*visit)(struct amg_stream *stream, void *arg), void *arg)
{
    bool is_ended = false;

    amg_lock_take(&lock);
    for (struct amg_link *link = all.head.next; link != &all.head && !is_ended;
         link = link->next)
        is_ended = visit(stream_of(link), arg);
    amg_lock_give(&lock);
    return is_ended;
}
