/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way requests that reach a context which closes are lost: the target says
 * so in one line for their origin, and their credits return. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "harness.h"

enum { CALLS = 4, ROUNDS = 3, CLOSING = 1 };

static struct harness_call calls[CALLS];
static atomic_uint lines;

static int line_count(FILE *stream, const char *format, ...)
{
    char text[512];
    va_list args;

    (void)stream;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (strstr(text, "a one-way call was dropped") != NULL)
        atomic_fetch_add(&lines, 1);
    return 0;
}

static bool all_are_done(void)
{
    for (uint32_t i = 0; i < CALLS; i++)
        if (calls[i].done == 0)
            return false;
    return true;
}

/* Requests may come late, when the context is open again. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    CHECK(h, arrival->is_one_way == 1);
    h->t->msg.release(ep, arrival);
}

/* Nobody polls the context that closes with the requests. They wait for no
 * credit, which late ones of the last round may have. */
static void lose(struct harness *h)
{
    struct amg_ep *closing = h->eps[CLOSING];
    struct amg_events events;

    h->eps[CLOSING] = NULL;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, CLOSING, &i, sizeof(i), false, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, all_are_done());
    harness_sync(h);
    amg_events_init(&events);
    h->t->ep.close(closing, &events);
    CHECK(h,
        amg_list_is_empty(&events.done) && amg_list_is_empty(&events.arrived));
    UNTIL(h, atomic_load(&lines) > 0);
    harness_sync(h);
    CHECK(h, h->t->ep.open(h->domain, CLOSING, &h->eps[CLOSING]) == HG_SUCCESS);
    harness_sync(h);
}

static void test(struct harness *h)
{
    h->serve = serve;
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    hg_log_set_func(line_count);
    for (int i = 0; i < ROUNDS; i++)
        lose(h);
    hg_log_set_func(NULL);
    CHECK(h, atomic_load(&lines) == 1);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv,
        &(struct harness_wish){.eps = 2, .credits = ROUNDS * CALLS}, test);
}
