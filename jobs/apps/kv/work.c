/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of a rank on the hash table, and the check of its results.
 *
 * The bytes of a value follow from key, version and offset, so a reader knows
 * each byte; its length follows from key and version, too. */
#include "jobs/apps/kv/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/apps/kv/wire.h"

enum { COUNTERS = 4, ADDS = 25, KEY_CAP = 48 };

/* Below, around and above KV_SMALL_MAX. */
static const size_t lens[] = {
    1, 8, 100, 1000, KV_SMALL_MAX, KV_SMALL_MAX + 1, 5000, 70000, 300001};

enum { LENS = sizeof(lens) / sizeof(lens[0]) };

static size_t value_len(const char *key, unsigned version)
{
    return lens[(kv_hash(key) / 7 + version) % LENS];
}

static unsigned char value_byte(uint64_t seed, size_t i)
{
    uint64_t x = seed + i * 2654435761u;

    return (unsigned char)(x ^ x >> 29);
}

static uint64_t value_seed(const char *key, unsigned version)
{
    return kv_hash(key) * (2 * (uint64_t)version + 1);
}

static bool value_is(
    const char *key, unsigned version, const unsigned char *value, size_t len)
{
    uint64_t seed = value_seed(key, version);

    if (len != value_len(key, version))
        return false;
    for (size_t i = 0; i < len; i++)
        if (value[i] != value_byte(seed, i))
            return false;
    return true;
}

static void key_write(char *key, unsigned rank, unsigned number)
{
    snprintf(key, KEY_CAP, "key %u of rank %u", number, rank);
}

static void counter_write(char *key, unsigned number)
{
    snprintf(key, KEY_CAP, "counter %u", number);
}

/* One worker: its part of a step. */
struct worker {
    struct work *work;
    unsigned number; /* on this rank */
    void (*step)(struct worker *worker);
    ABT_thread thread;
    struct work_counts counts;
};

/* Prints the first error. */
static void wrong_tell(
    struct worker *worker, const char *what, const char *key, hg_return_t ret)
{
    if (worker->counts.failed + worker->counts.wrong == 0)
        fprintf(stderr, "kv: rank %u: %s \"%s\": %s\n", worker->work->rank,
            what, key,
            ret == HG_SUCCESS ? "not what was put" : HG_Error_to_string(ret));
    if (ret == HG_SUCCESS)
        worker->counts.wrong++;
    else
        worker->counts.failed++;
}

static void bytes_count(struct worker *worker, size_t len)
{
    worker->counts.bytes += len;
    worker->counts.large += len > KV_SMALL_MAX;
}

static void key_put(struct worker *worker, const char *key, unsigned version)
{
    size_t len = value_len(key, version);
    uint64_t seed = value_seed(key, version);
    unsigned char *value = malloc(len);
    hg_return_t ret = HG_NOMEM;

    for (size_t i = 0; value != NULL && i < len; i++)
        value[i] = value_byte(seed, i);
    if (value != NULL)
        ret = client_put(worker->work->client, key, value, len);
    free(value);
    worker->counts.puts++;
    bytes_count(worker, len);
    if (ret != HG_SUCCESS)
        wrong_tell(worker, "put", key, ret);
}

/* Reads a value, whose version must be from `first` to `last`. */
static void key_check(
    struct worker *worker, const char *key, unsigned first, unsigned last)
{
    void *value = NULL;
    size_t len = 0;
    bool is_right = false;
    hg_return_t ret = client_get(worker->work->client, key, &value, &len);

    worker->counts.gets++;
    if (ret == HG_SUCCESS) {
        bytes_count(worker, len);
        for (unsigned version = first; version <= last; version++)
            is_right = is_right || value_is(key, version, value, len);
        free(value);
    }
    if (!is_right)
        wrong_tell(worker, "get", key, ret);
}

/* Every worker has some keys of each rank. */
static void keys_check(struct worker *worker, unsigned first, unsigned last)
{
    const struct work *work = worker->work;
    char key[KEY_CAP];

    for (unsigned i = 0; i < work->ranks; i++)
        for (unsigned number = worker->number; number < work->keys;
             number += work->workers) {
            key_write(key, (work->rank + i) % work->ranks, number);
            key_check(worker, key, first, last);
        }
}

static void own_put(struct worker *worker, unsigned version)
{
    const struct work *work = worker->work;
    char key[KEY_CAP];

    for (unsigned number = worker->number; number < work->keys;
         number += work->workers) {
        key_write(key, work->rank, number);
        key_put(worker, key, version);
    }
}

static void fill_step(struct worker *worker)
{
    const uint64_t zero = 0;
    char key[KEY_CAP];

    own_put(worker, 1);
    if (worker->work->rank != 0 || worker->number != 0)
        return;
    for (unsigned i = 0; i < COUNTERS; i++) {
        hg_return_t ret = HG_SUCCESS;

        counter_write(key, i);
        ret = client_put(worker->work->client, key, &zero, sizeof(zero));
        worker->counts.puts++;
        if (ret != HG_SUCCESS)
            wrong_tell(worker, "put", key, ret);
    }
}

static void counters_add(struct worker *worker)
{
    char key[KEY_CAP];

    for (unsigned i = 0; i < ADDS * COUNTERS; i++) {
        uint64_t sum = 0;
        hg_return_t ret = HG_SUCCESS;

        counter_write(key, i % COUNTERS);
        ret = client_add(
            worker->work->client, key, worker->work->rank + 1u, &sum);
        worker->counts.adds++;
        if (ret != HG_SUCCESS || sum == 0)
            wrong_tell(worker, "add to", key, ret);
    }
}

static void change_step(struct worker *worker)
{
    own_put(worker, 2);
    counters_add(worker);
    keys_check(worker, 1, 2);
}

/* Each worker of each rank r has added r + 1 to each counter ADDS times. */
static void counters_check(struct worker *worker)
{
    const struct work *work = worker->work;
    uint64_t sum =
        (uint64_t)ADDS * work->workers * work->ranks * (work->ranks + 1) / 2;
    char key[KEY_CAP];

    for (unsigned i = 0; i < COUNTERS; i++) {
        void *value = NULL;
        size_t len = 0;
        hg_return_t ret = HG_SUCCESS;

        counter_write(key, i);
        ret = client_get(work->client, key, &value, &len);
        worker->counts.gets++;
        if (ret != HG_SUCCESS || len != sizeof(sum) ||
            memcmp(value, &sum, sizeof(sum)) != 0)
            wrong_tell(worker, "get", key, ret);
        if (ret == HG_SUCCESS)
            free(value);
    }
}

static void verify_step(struct worker *worker)
{
    keys_check(worker, 2, 2);
    if (worker->number == 0)
        counters_check(worker);
}

static void counts_add(
    struct work_counts *sum, const struct work_counts *counts)
{
    sum->puts += counts->puts;
    sum->gets += counts->gets;
    sum->adds += counts->adds;
    sum->bytes += counts->bytes;
    sum->large += counts->large;
    sum->wrong += counts->wrong;
    sum->failed += counts->failed;
}

static void worker_run(void *arg)
{
    struct worker *worker = arg;

    worker->step(worker);
    ABT_mutex_lock(worker->work->lock);
    counts_add(&worker->work->counts, &worker->counts);
    ABT_mutex_unlock(worker->work->lock);
}

/* Runs all workers; returns when they have ended. */
static bool step_run(struct work *work, void (*step)(struct worker *worker))
{
    struct worker *workers = calloc(work->workers, sizeof(*workers));
    bool is_fine = workers != NULL;
    unsigned started = 0;

    while (is_fine && started < work->workers) {
        struct worker *worker = &workers[started];

        worker->work = work;
        worker->number = started;
        worker->step = step;
        is_fine = ABT_thread_create(work->pool, worker_run, worker,
                      ABT_THREAD_ATTR_NULL, &worker->thread) == ABT_SUCCESS;
        started += is_fine;
    }
    for (unsigned i = 0; i < started; i++)
        ABT_thread_free(&workers[i].thread); /* joins the thread first */
    free(workers);
    return is_fine;
}

bool work_fill(struct work *work)
{
    return step_run(work, fill_step);
}

bool work_change(struct work *work)
{
    return step_run(work, change_step);
}

bool work_verify(struct work *work)
{
    return step_run(work, verify_step);
}
