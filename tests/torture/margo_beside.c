/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes on beside the calls of Margo under torture: providers, pools and
 * streams that come and go, timers, and questions about the instance.
 *
 * The seed says which of these run. Each runs in a thread of its own until the
 * calls have ended. */
#include <stdio.h>
#include <stdlib.h>

#include "margo_torture.h"

enum { ACTS = 4, PLAN_BESIDE = 7000 };

struct mt_beside {
    struct mt *mt;
    atomic_bool stops;
    ABT_thread threads[ACTS];
    unsigned count;
    pthread_t foreign; /* makes timers, too */
    bool has_foreign;
    struct mt_shared_timer timer;
    hg_id_t nothing_id;
};

/* An RPC that only passes through the loop. */
static void mt_nothing(hg_handle_t handle)
{
    (void)margo_respond(handle, NULL);
    (void)margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(mt_nothing)

unsigned mt_step(struct mt_steps *steps, unsigned n)
{
    return plan_draw(steps->hash, steps->count++, n);
}

static struct mt_steps steps_of(const struct mt *mt, unsigned thread)
{
    return (struct mt_steps){
        .hash = mt->hash + PLAN_BESIDE + thread * 64 + mt->rank};
}

static void rest(struct mt_beside *beside, struct mt_steps *steps)
{
    margo_thread_sleep(beside->mt->mid, 0.2 * mt_step(steps, 20));
}

static void providers(void *arg)
{
    struct mt_beside *beside = arg;
    struct mt *mt = beside->mt;
    struct mt_steps steps = steps_of(mt, 1);
    hg_id_t ids[MT_PROVIDERS] = {0};

    while (!atomic_load(&beside->stops)) {
        hg_id_t *id = &ids[mt_step(&steps, MT_PROVIDERS)];

        if (*id != 0) {
            MT_OK(mt, margo_deregister(mt->mid, *id));
            *id = 0;
        } else {
            *id = mt_provider_register(mt, (unsigned)(id - ids), ABT_POOL_NULL);
            if (*id == 0)
                book_finding(mt->book, "a provider cannot be registered");
        }
        rest(beside, &steps);
    }
    for (unsigned i = 0; i < MT_PROVIDERS; i++)
        if (ids[i] != 0)
            MT_OK(mt, margo_deregister(mt->mid, ids[i]));
}

static void timers(void *arg)
{
    struct mt_beside *beside = arg;
    struct mt_steps steps = steps_of(beside->mt, 2);

    while (!atomic_load(&beside->stops))
        mt_timers(beside->mt, &steps, &beside->timer);
}

static void *timers_foreign(void *arg)
{
    struct mt_beside *beside = arg;
    struct mt_steps steps = steps_of(beside->mt, 3);

    while (!atomic_load(&beside->stops))
        mt_timers(beside->mt, &steps, &beside->timer);
    return NULL;
}

/* When it has returned, the loop has dispatched all that came before. */
static void loop_pass(struct mt_beside *beside)
{
    struct mt *mt = beside->mt;
    hg_handle_t handle = HG_HANDLE_NULL;

    MT_OK(mt, margo_create(
                  mt->mid, mt->addrs[mt->rank], beside->nothing_id, &handle));
    MT_OK(mt, margo_forward(handle, NULL));
    MT_OK(mt, margo_destroy(handle));
}

/* A pool with streams of its own serves an RPC for some time. */
static void pool_once(struct mt_beside *beside, struct mt_steps *steps)
{
    static const char *const kinds[] = {"fifo_wait", "fifo", "prio_wait"};
    struct mt *mt = beside->mt;
    hg_id_t id = mt->call_ids[mt_step(steps, MT_RPCS)];
    struct margo_xstream_info streams[2];
    struct margo_pool_info pool;
    unsigned count = 1 + mt_step(steps, 2);
    size_t left = 1;
    char text[128];

    snprintf(text, sizeof(text), "{\"kind\":\"%s\"}", kinds[mt_step(steps, 3)]);
    MT_OK(mt, margo_add_pool_from_json(mt->mid, text, &pool));
    snprintf(
        text, sizeof(text), "{\"scheduler\":{\"pools\":[\"%s\"]}}", pool.name);
    for (unsigned i = 0; i < count; i++)
        MT_OK(mt, margo_add_xstream_from_json(mt->mid, text, &streams[i]));
    MT_OK(mt, margo_rpc_set_pool(mt->mid, id, pool.pool));
    rest(beside, steps);
    if (count == 2 && mt_step(steps, 2) == 0)
        MT_OK(mt, margo_remove_xstream(mt->mid, streams[--count].xstream));
    MT_OK(mt, margo_rpc_set_pool(mt->mid, id, ABT_POOL_NULL));
    loop_pass(beside);
    while (left > 0) {
        if (ABT_pool_get_total_size(pool.pool, &left) != ABT_SUCCESS)
            abort();
        margo_thread_sleep(mt->mid, 0.2);
    }
    for (unsigned i = 0; i < count; i++)
        MT_OK(mt, margo_remove_xstream(mt->mid, streams[i].xstream));
    MT_OK(mt, margo_remove_pool(mt->mid, pool.pool));
}

static void pools(void *arg)
{
    struct mt_beside *beside = arg;
    struct mt_steps steps = steps_of(beside->mt, 4);

    while (!atomic_load(&beside->stops)) {
        pool_once(beside, &steps);
        rest(beside, &steps);
    }
}

/* Asks for the identity of a provider, which the other rank may not have. */
static void identity_ask(struct mt *mt, struct mt_steps *steps)
{
    char text[32];
    size_t len = sizeof(text);
    unsigned rank = mt_step(steps, mt->size);
    hg_return_t rc = HG_SUCCESS;

    book_begin(mt->book);
    rc = margo_provider_get_identity(
        mt->mid, mt->addrs[rank], mt_provider_number(rank, 0), text, &len);
    if (rc != HG_SUCCESS && rc != HG_NOENTRY)
        book_finding(
            mt->book, "the identity of a provider: %s", HG_Error_to_string(rc));
    book_over(mt->book);
}

static void question(struct mt *mt, struct mt_steps *steps, bool *is_named)
{
    uint16_t own = mt_provider_number(mt->rank, 0);

    switch (mt_step(steps, 6)) {
    case 0:
        free(margo_get_config_opt(mt->mid, (int)mt_step(steps, 8)));
        break;
    case 1:
        if (margo_state_dump(mt->mid, "/dev/null", 0, NULL) != 0)
            book_finding(mt->book, "the state cannot be dumped");
        break;
    case 2:
        MT_OK(mt, margo_instance_ref_incr(mt->mid));
        MT_OK(mt, margo_instance_release(mt->mid));
        break;
    case 3:
        if (margo_set_progress_timeout_ub_msec(
                mt->mid, 1 + mt_step(steps, 100)) != 0)
            book_finding(mt->book, "the longest sleep cannot be set");
        break;
    case 4:
        if (*is_named)
            MT_OK(mt, margo_provider_deregister_identity(mt->mid, own));
        else
            MT_OK(mt, margo_provider_register_identity(mt->mid, own, "mt"));
        *is_named = !*is_named;
        break;
    default:
        identity_ask(mt, steps);
        break;
    }
}

static void questions(void *arg)
{
    struct mt_beside *beside = arg;
    struct mt_steps steps = steps_of(beside->mt, 5);
    bool is_named = false;

    while (!atomic_load(&beside->stops)) {
        question(beside->mt, &steps, &is_named);
        rest(beside, &steps);
    }
}

void mt_beside_register(struct mt *mt)
{
    struct mt_beside *beside = calloc(1, sizeof(*beside));

    if (beside == NULL)
        abort();
    beside->mt = mt;
    beside->nothing_id =
        MARGO_REGISTER(mt->mid, "mt_nothing", void, void, mt_nothing);
    mt->beside = beside;
}

void mt_beside_start(struct mt *mt)
{
    static void (*const acts[ACTS])(void *) = {
        providers, timers, pools, questions};
    struct mt_beside *beside = mt->beside;
    struct mt_steps steps = {.hash = mt->hash + PLAN_BESIDE};
    ABT_pool pool = ABT_POOL_NULL;

    if (margo_get_handler_pool(mt->mid, &pool) != 0)
        abort();
    mt_shared_timer_open(mt, &beside->timer);
    for (unsigned i = 0; i < ACTS; i++)
        if ((acts[i] == providers && (mt->ops >> MT_PROVIDER & 1) != 0) ||
            mt_step(&steps, 2) == 0) {
            if (ABT_thread_create(pool, acts[i], beside, ABT_THREAD_ATTR_NULL,
                    &beside->threads[beside->count++]) != ABT_SUCCESS)
                abort();
        }
    beside->has_foreign = mt_step(&steps, 2) == 0;
    if (beside->has_foreign &&
        pthread_create(&beside->foreign, NULL, timers_foreign, beside) != 0)
        abort();
}

void mt_beside_stop(struct mt *mt)
{
    struct mt_beside *beside = mt->beside;

    atomic_store(&beside->stops, true);
    for (unsigned i = 0; i < beside->count; i++)
        (void)ABT_thread_free(&beside->threads[i]);
    if (beside->has_foreign)
        mt_thread_join(mt, beside->foreign);
    mt_shared_timer_close(&beside->timer);
    free(beside);
    mt->beside = NULL;
}
