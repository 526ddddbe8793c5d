/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of incast share: the bytes of its calls, and the figures of a
 * batch. */
#include "jobs/bench/incast/incast.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/pattern.h"
#include "jobs/bench/base/stats.h"

static uint64_t head_sum(const struct incast_head *head)
{
    return ~(head->number + ((uint64_t)head->origin << 32) + head->place);
}

void incast_head_write(
    const struct pair *team, uint64_t number, unsigned place, void *ret_buf)
{
    struct incast_head head = {
        .origin = (uint32_t)team->rank, .place = place, .number = number};

    head.sum = head_sum(&head);
    memcpy(ret_buf, &head, sizeof(head));
}

void incast_fill(const struct pair *team, void *ret_buf, size_t len)
{
    if (len > INCAST_HEAD_LEN)
        pattern_fill((unsigned char *)ret_buf + INCAST_HEAD_LEN,
            len - INCAST_HEAD_LEN, team->seed);
}

struct incast_head incast_check(
    const struct pair *team, const void *buf, size_t len, const char *what)
{
    struct incast_head head;

    memcpy(&head, buf, sizeof(head));
    if (len < INCAST_HEAD_LEN || head.sum != head_sum(&head))
        pair_fail(team, "%s of %zu bytes begins with others than were sent",
            what, len);
    if (head.number % INCAST_CHECK_EVERY == 0)
        pair_verify(team, (const unsigned char *)buf + INCAST_HEAD_LEN,
            len - INCAST_HEAD_LEN, what);
    return head;
}

static double p99_of(const double *samples, unsigned count)
{
    double *sorted = malloc(count * sizeof(*sorted));
    double p99_us = 0.0;

    if (sorted == NULL)
        return 0.0;
    memcpy(sorted, samples, count * sizeof(*sorted));
    stats_sort(sorted, count);
    p99_us = stats_quantile(sorted, count, 0.99);
    free(sorted);
    return p99_us;
}

void incast_tally_fini(struct incast_tally *tally)
{
    for (unsigned i = 0; i < INCAST_FIGURES; i++)
        tally_fini(&tally->figures[i]);
}

double incast_end(struct pair *team, const struct duel *duel,
    const struct stint *stint, struct incast_tally *tally, double *ret_samples)
{
    struct stint_sum sum = {0};

    stint_gather(team, INCAST_TARGET, stint, ret_samples, duel->calls, &sum);
    if (team->rank != 0)
        return 0.0;
    tally_add(&tally->figures[INCAST_FAIR], team, sum.fairness);
    tally_add(&tally->figures[INCAST_SLOWEST], team, sum.slowest);
    tally_add(
        &tally->figures[INCAST_P99], team, p99_of(ret_samples, duel->calls));
    return duel->calls / sum.kps * 1e3;
}
