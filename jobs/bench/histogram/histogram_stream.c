/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates as messages, each for one rank, with no answer.
 *
 * Nobody is told when his update was added, so at the end the ranks sum up how
 * many were sent and how many have come, and serve, until both are the same. */
#include "jobs/bench/base/mix.h"
#include "jobs/bench/histogram/histogram.h"

struct update histogram_update(const struct histogram *histogram,
    uint64_t first, int rank, unsigned number, int *ret_rank)
{
    uint64_t mixed = mix64(first + number);
    int other = mix_choose(mixed, histogram->team->world->size - 1);
    uint32_t low = (uint32_t)mixed;

    *ret_rank = other < rank ? other : other + 1;
    return (struct update){
        low % HISTOGRAM_BINS, low / HISTOGRAM_BINS % HISTOGRAM_WEIGHTS + 1};
}

void histogram_add(
    struct histogram *histogram, const struct update *list, unsigned count)
{
    pthread_mutex_lock(&histogram->lock);
    for (unsigned i = 0; i < count; i++) {
        if (list[i].bin >= HISTOGRAM_BINS)
            pair_fail(histogram->team, "there is no bin %u", list[i].bin);
        histogram->bins[list[i].bin] += list[i].weight;
    }
    histogram->received += count;
    pthread_mutex_unlock(&histogram->lock);
}

void histogram_places_reset(struct histogram *histogram)
{
    histogram->free_count = HISTOGRAM_MESSAGES;
    for (unsigned i = 0; i < HISTOGRAM_MESSAGES; i++)
        histogram->free[i] = &histogram->places[i];
}

static void message_send(
    struct histogram *histogram, const struct histogram_port *port, int rank)
{
    struct histogram_message *message = &histogram->pending[rank];

    while (histogram->free_count == 0)
        port->turn(histogram);
    port->send(histogram, rank, message);
    histogram->sent += message->count;
    message->count = 0;
}

static void all_send(
    struct histogram *histogram, const struct histogram_port *port)
{
    while (histogram->next < histogram->last) {
        int rank = 0;
        struct update update = histogram_update(histogram, histogram->first,
            histogram->team->rank, histogram->next++, &rank);
        struct histogram_message *message = &histogram->pending[rank];

        message->list[message->count++] = update;
        if (message->count == histogram->batch)
            message_send(histogram, port, rank);
    }
    for (int rank = 0; rank < histogram->team->world->size; rank++)
        if (histogram->pending[rank].count > 0)
            message_send(histogram, port, rank);
    while (histogram->free_count < HISTOGRAM_MESSAGES)
        port->turn(histogram);
}

static uint64_t received_read(struct histogram *histogram)
{
    uint64_t received = 0;

    pthread_mutex_lock(&histogram->lock);
    received = histogram->received;
    pthread_mutex_unlock(&histogram->lock);
    return received;
}

/* How many updates of all ranks have not been added yet. */
static uint64_t missing_count(
    struct histogram *histogram, const struct histogram_port *port)
{
    uint64_t own[2] = {histogram->sent, received_read(histogram)};
    uint64_t all[2] = {0, 0};
    MPI_Request request;
    int is_over = 0;

    MPI_Iallreduce(
        own, all, 2, MPI_UINT64_T, MPI_SUM, histogram->team->comm, &request);
    while (!is_over)
        if (!port->turn(histogram))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    return all[0] - all[1];
}

void histogram_stream(
    struct histogram *histogram, const struct histogram_port *port)
{
    all_send(histogram, port);
    while (missing_count(histogram, port) > 0)
        port->turn(histogram);
}
