/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance of Margo under torture, from its opening to its end.
 *
 * Between ranks of a job it is opened over a communicator. Otherwise each
 * process opens its own, and the addresses travel with the notes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "lines.h"
#include "margo_torture.h"

enum {
    DRAW_CONFIG = 9000,
    TEXT_CAP = 1024,
    ADDR_CAP = 256,
    LOG_LINES = 40,
    LINE_CAP = 250
};

/* The text of the configuration, as the seed says. */
static void config_write(const struct mt *mt, char *text, size_t cap)
{
    static const int threads[] = {0, 0, 1, 2, -1};
    static const int spins[] = {10, 10, 0, 1};
    static const int sleeps[] = {100, 100, 1, 0};
    static const int kept[] = {256, 256, 0, 1};
    struct mt_steps steps = {.hash = mt->hash + DRAW_CONFIG};
    bool has_thread = mt_step(&steps, 2) != 0;
    int rpc_threads = threads[mt_step(&steps, 5)];
    int spin = spins[mt_step(&steps, 4)];
    int sleep = sleeps[mt_step(&steps, 4)];
    int handles = kept[mt_step(&steps, 4)];
    bool is_limited = mt_step(&steps, 3) == 0;
    /* A handler that calls on must not wait for a place that it has. */
    bool nests = (mt->ops >> MT_NEST & 1) != 0;

    snprintf(text, cap,
        "{\"use_progress_thread\":%s,\"rpc_thread_count\":%d,"
        "\"progress_spindown_msec\":%d,\"progress_timeout_ub_msec\":%d,"
        "\"handle_cache_size\":%d,\"amalgam\":{\"max_concurrent_rpcs\":%u}}",
        has_thread ? "true" : "false", rpc_threads, spin, sleep, handles,
        is_limited && !nests ? 1 + mt_step(&steps, 8) : 0);
}

static void addrs_of_job(struct mt *mt)
{
    for (unsigned i = 0; i < mt->size; i++)
        MT_OK(mt, mt_job_addr(mt->mid, i, &mt->addrs[i]));
}

static void addrs_exchange(struct mt *mt, struct exchange *exchange)
{
    char text[ADDR_CAP] = "";
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    MT_OK(mt, margo_addr_self(mt->mid, &self));
    MT_OK(mt, margo_addr_to_string(mt->mid, text, &len, self));
    MT_OK(mt, margo_addr_free(mt->mid, self));
    exchange_all(exchange, text, sizeof(text));
    for (unsigned i = 0; i < mt->size; i++) {
        size_t note_len = 0;
        unsigned rank = mt->plan->is_self ? exchange_rank(exchange) : i;
        const char *note = exchange_of(exchange, rank, &note_len);

        MT_OK(mt, margo_addr_lookup(mt->mid, note, &mt->addrs[i]));
    }
}

bool mt_open(struct mt *mt, struct exchange *exchange, const char *transport)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = lines_logger();
    struct mt_steps steps = {.hash = mt->hash + DRAW_CONFIG + 1000};
    struct margo_monitor monitor = mt_monitor_of(mt);
    char text[TEXT_CAP];

    config_write(mt, text, sizeof(text));
    lines_add(text);
    info.json_config = text;
    info.logger = &logger;
    if (mt_step(&steps, 3) == 0)
        info.monitor = &monitor;
    mt->mid = mt->plan->is_job
                  ? mt_job_open(transport, &info)
                  : margo_init_ext(transport, MARGO_SERVER_MODE, &info);
    if (mt->mid == MARGO_INSTANCE_NULL)
        return false;
    mt->addrs = calloc(mt->size, sizeof(*mt->addrs));
    if (mt->addrs == NULL)
        abort();
    pthread_mutex_init(&mt->kept.lock, NULL);
    mt_register(mt);
    mt_beside_register(mt);
    MT_OK(mt, margo_bulk_poolset_create(
                  mt->mid, MT_POOLS, 2, 64, 32, HG_BULK_READWRITE, &mt->pools));
    if (mt->plan->is_job)
        addrs_of_job(mt);
    else
        addrs_exchange(mt, exchange);
    return true;
}

void mt_release(struct mt *mt)
{
    for (unsigned i = 0; i < mt->size; i++)
        MT_OK(mt, margo_addr_free(mt->mid, mt->addrs[i]));
    free(mt->addrs);
    if (margo_bulk_poolset_destroy(mt->pools) != 0)
        book_finding(mt->book, "a bulk pool has buffers in use");
    mt_keep_end(mt);
    pthread_mutex_destroy(&mt->kept.lock);
}
