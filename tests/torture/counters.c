/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of the classes, compared over all ranks. */
#include "counters.h"

/* Numbers of a class that the ranks add up. */
enum {
    SENT,
    ARRIVED,
    ANSWERED,
    ANSWERS,
    ABSENT, /* sent to contexts that do not exist: neither request nor reply
             * arrives */
    CANCELS,
    NUMBERS
};

static void numbers_read(struct world_class *cls, long *ret_numbers)
{
    struct hg_diag_counters counters = {0};

    if (cls->cls == NULL)
        return;
    EXPECT_OK(cls->world, HG_Class_get_counters(cls->cls, &counters));
    ret_numbers[SENT] = (long)counters.rpc_req_sent_count;
    ret_numbers[ARRIVED] = (long)counters.rpc_req_recv_count;
    ret_numbers[ANSWERED] = (long)counters.rpc_resp_sent_count;
    ret_numbers[ANSWERS] = (long)counters.rpc_resp_recv_count;
    ret_numbers[ABSENT] = (long)atomic_load(&cls->absent);
    ret_numbers[CANCELS] = (long)atomic_load(&cls->cancels);
}

/* A cancelled call may have been sent or not, and its answer counted or not; a
 * fault may do that to any call. */
static bool is_wrong(
    const struct world *world, long sent, long arrived, long cancels)
{
    return arrived > sent ||
           (world->options.faults == 0 && arrived + cancels < sent);
}

void counters_compare(struct world *world)
{
    for (unsigned i = 0; i < world->plan.classes; i++) {
        long numbers[NUMBERS] = {0};

        numbers_read(&world->classes[i], numbers);
        exchange_sum(world->exchange, numbers, NUMBERS);
        if (world->rank != 0)
            continue;
        if (is_wrong(world, numbers[SENT] - numbers[ABSENT], numbers[ARRIVED],
                numbers[CANCELS]))
            book_finding(world->book,
                "class %u: %ld requests sent (%ld to absent contexts), %ld "
                "arrived, %ld cancelled",
                i, numbers[SENT], numbers[ABSENT], numbers[ARRIVED],
                numbers[CANCELS]);
        if (is_wrong(
                world, numbers[ANSWERED], numbers[ANSWERS], numbers[CANCELS]))
            book_finding(world->book,
                "class %u: %ld replies sent, %ld arrived, %ld calls cancelled",
                i, numbers[ANSWERED], numbers[ANSWERS], numbers[CANCELS]);
    }
}
