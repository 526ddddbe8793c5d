/* SPDX-License-Identifier: BSD-3-Clause */
/* A monitor of an instance under torture.
 *
 * Each event that starts has to end, with the value that the monitor has left
 * at the start, before the instance ends. */
#include <stdlib.h>

#include "margo_torture.h"

enum { MARK = 0x6d6f6e };

static void *watch_begin(
    margo_instance_id mid, void *uargs, struct json_object *config)
{
    (void)mid;
    (void)config;
    return uargs;
}

static void watch_end(void *uargs)
{
    struct mt *mt = uargs;

    for (unsigned i = 0; i < MARGO_MONITOR_MAX; i++)
        if (atomic_load(&mt->events[i]) != 0)
            book_finding(mt->book,
                "%d events of the monitor's kind %u have not ended",
                atomic_load(&mt->events[i]), i);
}

static void note(struct mt *mt, unsigned event, margo_monitor_event_t kind,
    margo_monitor_data_t *uctx)
{
    if (kind == MARGO_MONITOR_FN_START) {
        uctx->i = MARK + (int64_t)event;
        atomic_fetch_add(&mt->events[event], 1);
    } else if (kind == MARGO_MONITOR_FN_END) {
        if (uctx->i != MARK + (int64_t)event)
            book_finding(
                mt->book, "the monitor lost its value of event %u", event);
        if (atomic_fetch_sub(&mt->events[event], 1) < 1)
            book_finding(mt->book, "event %u ended twice", event);
    }
}

#define X(NAME, name)                                                          \
    static void on_##name(void *uargs, double timestamp,                       \
        margo_monitor_event_t kind, margo_monitor_##name##_args_t args)        \
    {                                                                          \
        (void)timestamp;                                                       \
        note(uargs, MARGO_MONITOR_ON_##NAME, kind, &args->uctx);               \
    }
MARGO_EXPAND_MONITOR_MACROS
#undef X

struct margo_monitor mt_monitor_of(struct mt *mt)
{
    struct margo_monitor monitor = {.uargs = mt,
        .initialize = watch_begin,
        .finalize = watch_end,
#define X(NAME, name) .on_##name = on_##name,
        MARGO_EXPAND_MONITOR_MACROS
#undef X
    };

    return monitor;
}
