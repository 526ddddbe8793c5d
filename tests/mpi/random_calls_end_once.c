/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of each rank call, answer, cancel, destroy, expose memory and free
 * it, all at random and at once: every callback runs once, successful
 * operations have the right bytes, and at the end nothing is left.
 * `random_calls_end_once SECONDS SEED`; the seed is printed first. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mercury_proc_bulk.h"
#include "ranks.h"

enum {
    WORKERS = 2,
    CONTEXTS = 2,
    DRIVERS = 3,           /* threads that make progress and run callbacks */
    BLOB_MAX = 20000,      /* several messages, so that some are long */
    LEND_MAX = 400000,     /* many fragments of the test's length */
    SEGMENTS = 40,         /* of exposed memory: more than are moved at once */
    SLOTS_MAX = 256,       /* calls that wait for the answering thread */
    IN_FLIGHT = 8,         /* calls of a worker at once */
    FINALLY_SECONDS = 150, /* to end all operations: 20 threads on two cores */
};

/* Random bytes that follow from `seed`. `back_len`: length of the reply. */
struct blob {
    uint32_t len;
    uint32_t back_len;
    uint64_t seed;
    void *bytes;
};

MERCURY_GEN_PROC(lend_t, ((hg_bulk_t)(bulk))((uint64_t)(len))((uint64_t)(seed)))

/* One call or loan of a worker. The mutex orders a cancel and the callback. */
struct slot {
    hg_handle_t handle; /* kept between uses */
    bool is_busy;
    bool is_destroyed; /* the callback is the last to see the handle */
    bool is_echo;
    int rank; /* the called rank */
    uint64_t seed;
    uint32_t back_len;
    void *lent; /* memory that the target pulls, and its handle */
    hg_bulk_t bulk;
    atomic_uint ended;
    hg_return_t ret;
};

/* A pull of exposed memory, at its target. */
struct loan {
    hg_handle_t handle;
    lend_t in;
    unsigned char *bytes;
    hg_bulk_t local;
    atomic_uint holders; /* the callback, and the thread that began the pull */
    pthread_mutex_t mutex; /* guards `id` against the callback */
    hg_op_id_t id;
    bool is_over;
};

static struct ranks all;
static hg_context_t *contexts[CONTEXTS];
static hg_id_t echo_id;
static hg_id_t note_id;
static hg_id_t lend_id;
static atomic_bool is_over;   /* workers start nothing more */
static atomic_bool is_silent; /* drivers stop */
static atomic_uint cancelled;
static atomic_uint succeeded;
static unsigned long first_seed;

static pthread_mutex_t later_mutex = PTHREAD_MUTEX_INITIALIZER;
static hg_handle_t later[SLOTS_MAX];
static unsigned later_count;

/* Sleeps a moment: on kernels that count a yield as run time, threads that only
 * yield can keep others from the core for seconds. */
static void rest(void)
{
    usleep(20);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33) % below;
}

static hg_return_t hg_proc_blob(hg_proc_t proc, void *data)
{
    struct blob *blob = data;
    hg_return_t rc = hg_proc_uint32_t(proc, &blob->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blob->back_len);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &blob->seed);
    if (rc != HG_SUCCESS)
        return rc;
    if (hg_proc_get_op(proc) == HG_FREE) {
        free(blob->bytes);
        return HG_SUCCESS;
    }
    if (hg_proc_get_op(proc) == HG_DECODE) {
        if (blob->len > BLOB_MAX)
            return HG_OVERFLOW;
        blob->bytes = malloc(blob->len + 1);
        CHECK(blob->bytes != NULL);
    }
    return hg_proc_raw(proc, blob->bytes, blob->len);
}

static void blob_make(struct blob *ret_blob, uint32_t len, uint64_t seed)
{
    ret_blob->len = len;
    ret_blob->back_len = 0;
    ret_blob->seed = seed;
    ret_blob->bytes = malloc(len + 1);
    CHECK(ret_blob->bytes != NULL);
    ranks_fill(ret_blob->bytes, len, seed, 0);
}

static hg_return_t answer_left(const struct hg_cb_info *info)
{
    (void)info;
    return HG_SUCCESS;
}

static void echo_answer(hg_handle_t handle)
{
    struct blob in;
    struct blob out;

    OK(HG_Get_input(handle, &in));
    CHECK(ranks_is_filled(in.bytes, in.len, in.seed, 0));
    blob_make(&out, in.back_len, in.seed + 1);
    OK(HG_Respond(handle, in.seed % 2 == 0 ? answer_left : NULL, NULL, &out));
    free(out.bytes);
    OK(HG_Free_input(handle, &in));
    OK(HG_Destroy(handle));
}

/* Some are answered at once, others by a separate thread. */
static hg_return_t echo_serve(hg_handle_t handle)
{
    bool is_taken = false;

    pthread_mutex_lock(&later_mutex);
    if (later_count < SLOTS_MAX && (uintptr_t)pthread_self() / 4096 % 3 != 0) {
        later[later_count] = handle;
        later_count++;
        is_taken = true;
    }
    pthread_mutex_unlock(&later_mutex);
    if (!is_taken)
        echo_answer(handle);
    return HG_SUCCESS;
}

static void *answerer(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_silent)) {
        hg_handle_t handle = HG_HANDLE_NULL;

        pthread_mutex_lock(&later_mutex);
        if (later_count > 0) {
            later_count--;
            handle = later[later_count];
        }
        pthread_mutex_unlock(&later_mutex);
        if (handle == HG_HANDLE_NULL)
            rest();
        else
            echo_answer(handle);
    }
    return NULL;
}

static hg_return_t note_serve(hg_handle_t handle)
{
    struct blob in;

    OK(HG_Get_input(handle, &in));
    CHECK(ranks_is_filled(in.bytes, in.len, in.seed, 0));
    OK(HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static void loan_drop(struct loan *loan)
{
    if (atomic_fetch_sub(&loan->holders, 1) == 1)
        free(loan);
}

static hg_return_t loan_pulled(const struct hg_cb_info *info)
{
    struct loan *loan = info->arg;

    pthread_mutex_lock(&loan->mutex);
    loan->is_over = true;
    pthread_mutex_unlock(&loan->mutex);
    if (info->ret == HG_SUCCESS)
        CHECK(ranks_is_filled(loan->bytes, loan->in.len, loan->in.seed, 0));
    else
        CHECK(info->ret == HG_CANCELED || info->ret == HG_NOENTRY);
    OK(HG_Bulk_free(loan->local));
    free(loan->bytes);
    OK(HG_Free_input(loan->handle, &loan->in));
    OK(HG_Respond(loan->handle, NULL, NULL, NULL));
    OK(HG_Destroy(loan->handle));
    loan_drop(loan);
    return HG_SUCCESS;
}

/* Sometimes cancels the transfer it has just begun, while others make
 * progress. */
static void loan_cancel(struct loan *loan, uint64_t seed)
{
    for (uint32_t i = draw(&seed, 300); i > 0; i--)
        sched_yield();
    pthread_mutex_lock(&loan->mutex);
    if (!loan->is_over)
        OK(HG_Bulk_cancel(loan->id));
    pthread_mutex_unlock(&loan->mutex);
}

static hg_return_t lend_serve(hg_handle_t handle)
{
    struct loan *loan = calloc(1, sizeof(*loan));
    const struct hg_info *info = HG_Get_info(handle);
    uint64_t seed = 0;
    bool is_cancelled = false;

    CHECK(loan != NULL);
    atomic_init(&loan->holders, 2);
    pthread_mutex_init(&loan->mutex, NULL);
    loan->handle = handle;
    OK(HG_Get_input(handle, &loan->in));
    seed = loan->in.seed;
    is_cancelled = draw(&seed, 3) == 0;
    loan->bytes = malloc(loan->in.len);
    CHECK(loan->bytes != NULL);
    loan->local =
        ranks_bulk(&all, loan->bytes, loan->in.len, HG_BULK_READWRITE);
    pthread_mutex_lock(&loan->mutex);
    OK(HG_Bulk_transfer_id(info->context, loan_pulled, loan, HG_BULK_PULL,
        info->addr, info->context_id, loan->in.bulk, 0, loan->local, 0,
        loan->in.len, &loan->id));
    pthread_mutex_unlock(&loan->mutex);
    if (is_cancelled)
        loan_cancel(loan, seed);
    loan_drop(loan);
    return HG_SUCCESS;
}

static hg_return_t slot_ended(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;

    CHECK(info->type == HG_CB_FORWARD);
    if (info->ret == HG_SUCCESS && slot->is_echo) {
        struct blob out;

        OK(HG_Get_output(info->info.forward.handle, &out));
        CHECK(out.len == slot->back_len && out.seed == slot->seed + 1);
        CHECK(ranks_is_filled(out.bytes, out.len, out.seed, 0));
        OK(HG_Free_output(info->info.forward.handle, &out));
    }
    if (info->ret == HG_SUCCESS)
        atomic_fetch_add(&succeeded, 1);
    else if (info->ret == HG_CANCELED)
        atomic_fetch_add(&cancelled, 1);
    else
        OK(info->ret);
    slot->ret = info->ret;
    CHECK(atomic_fetch_add(&slot->ended, 1) == 0);
    return HG_SUCCESS;
}

/* Points the slot's handle at a rank; creates one if there is none. */
static void slot_aim(struct slot *slot, uint64_t *random, hg_id_t id)
{
    hg_addr_t addr = HG_ADDR_NULL;

    slot->rank = (int)draw(random, (uint32_t)all.size);
    OK(amalgam_addr_rank(all.cls, slot->rank, &addr));
    if (slot->handle == HG_HANDLE_NULL)
        OK(HG_Create(
            contexts[draw(random, CONTEXTS)], addr, id, &slot->handle));
    else
        OK(HG_Reset(slot->handle, addr, id));
    OK(HG_Set_target_id(slot->handle, (uint8_t)draw(random, CONTEXTS)));
    OK(HG_Addr_free(all.cls, addr));
}

static void slot_call(struct slot *slot, uint64_t *random, bool is_echo)
{
    uint32_t top = draw(random, 4) == 0 ? BLOB_MAX : 200;
    struct blob in;

    slot_aim(slot, random, is_echo ? echo_id : note_id);
    blob_make(&in, draw(random, top), slot->seed);
    in.back_len = draw(random, draw(random, 4) == 0 ? BLOB_MAX : 200);
    slot->back_len = in.back_len;
    slot->is_echo = is_echo;
    OK(HG_Forward(slot->handle, slot_ended, slot, &in));
    free(in.bytes);
}

static hg_bulk_t lent_bulk(void *bytes, hg_size_t len)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    void *bases[SEGMENTS];
    hg_size_t lens[SEGMENTS];

    for (unsigned i = 0; i < SEGMENTS; i++) {
        bases[i] = (unsigned char *)bytes + len / SEGMENTS * i;
        lens[i] = len / SEGMENTS;
    }
    lens[SEGMENTS - 1] += len % SEGMENTS;
    OK(HG_Bulk_create(
        all.cls, SEGMENTS, bases, lens, HG_BULK_READ_ONLY, &bulk));
    return bulk;
}

static void slot_lend(struct slot *slot, uint64_t *random)
{
    lend_t in = {HG_BULK_NULL, 1 + draw(random, LEND_MAX), slot->seed};

    slot_aim(slot, random, lend_id);
    slot->is_echo = false;
    slot->lent = malloc(in.len);
    CHECK(slot->lent != NULL);
    ranks_fill(slot->lent, in.len, in.seed, 0);
    slot->bulk = lent_bulk(slot->lent, in.len);
    in.bulk = slot->bulk;
    OK(HG_Forward(slot->handle, slot_ended, slot, &in));
}

static void slot_begin(struct slot *slot, uint64_t *random)
{
    uint32_t kind = draw(random, 8);

    atomic_store(&slot->ended, 0);
    slot->is_busy = true;
    slot->is_destroyed = false;
    slot->seed = draw(random, UINT32_MAX);
    if (kind == 0)
        slot_lend(slot, random);
    else
        slot_call(slot, random, kind != 1);
}

/* Frees exposed memory; the pull of its target may be in flight. */
static void slot_take_back(struct slot *slot)
{
    hg_return_t rc = HG_SUCCESS;

    if (slot->bulk == HG_BULK_NULL)
        return;
    while ((rc = HG_Bulk_free(slot->bulk)) == HG_BUSY)
        continue;
    OK(rc);
    slot->bulk = HG_BULK_NULL;
    free(slot->lent);
    slot->lent = NULL;
}

static void slot_disturb(struct slot *slot, uint64_t *random)
{
    switch (draw(random, 6)) {
    case 0: /* a call to self cannot be cancelled */
        if (!slot->is_destroyed && slot->rank != all.rank)
            OK(HG_Cancel(slot->handle));
        break;
    case 1: /* its pull may be in flight */
        slot_take_back(slot);
        break;
    case 2:
        if (!slot->is_destroyed)
            OK(HG_Destroy(slot->handle));
        slot->is_destroyed = true;
        slot->handle = HG_HANDLE_NULL;
        break;
    default:
        break;
    }
}

static void slot_end(struct slot *slot)
{
    slot_take_back(slot);
    slot->is_busy = false;
}

static void *worker(void *arg)
{
    uint64_t random = first_seed * 1000003 + (uintptr_t)arg;
    struct slot slots[IN_FLIGHT];
    bool is_busy = true;

    memset(slots, 0, sizeof(slots));
    while (is_busy || !atomic_load(&is_over)) {
        is_busy = false;
        for (unsigned i = 0; i < IN_FLIGHT; i++) {
            struct slot *slot = &slots[i];

            if (slot->is_busy && atomic_load(&slot->ended) > 0)
                slot_end(slot);
            else if (slot->is_busy)
                slot_disturb(slot, &random);
            else if (!atomic_load(&is_over))
                slot_begin(slot, &random);
            is_busy = is_busy || slot->is_busy;
        }
        rest();
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        if (slots[i].handle != HG_HANDLE_NULL)
            OK(HG_Destroy(slots[i].handle));
    return NULL;
}

static void *driver(void *arg)
{
    hg_context_t *context = arg;

    while (!atomic_load(&is_silent)) {
        unsigned count = 0;
        hg_return_t rc = HG_Progress(context, 1);

        CHECK(rc == HG_SUCCESS || rc == HG_TIMEOUT);
        do {
            rc = HG_Trigger(context, 0, 4, &count);
        } while (rc == HG_SUCCESS && count > 0);
    }
    return NULL;
}

static void run(unsigned seconds)
{
    pthread_t drivers[DRIVERS + 1];
    pthread_t workers[WORKERS];
    uint64_t end_ns = ranks_now_ns() + seconds * 1000000000ull;

    for (uintptr_t i = 0; i <= DRIVERS; i++)
        CHECK(pthread_create(&drivers[i], NULL, i < DRIVERS ? driver : answerer,
                  contexts[i % CONTEXTS]) == 0);
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&workers[i], NULL, worker,
                  (void *)(i * 64 + (uintptr_t)all.rank)) == 0);
    while (ranks_now_ns() < end_ns)
        usleep(10000);
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < WORKERS; i++)
        CHECK(pthread_join(workers[i], NULL) == 0);
    ranks_leave(&all); /* the drivers serve */
    ranks_meet(MPI_COMM_WORLD);
    atomic_store(&is_silent, true);
    for (unsigned i = 0; i <= DRIVERS; i++)
        CHECK(pthread_join(drivers[i], NULL) == 0);
}

int main(int argc, char **argv)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;

    first_seed = argc > 2 ? strtoul(argv[2], NULL, 10)
                          : (unsigned long)ranks_now_ns() % 1000000;
    fprintf(stderr, "random_calls_end_once: seed %lu\n", first_seed);
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_limit(seconds + FINALLY_SECONDS);
    HG_Set_log_level("error");
    options.contexts = CONTEXTS;
    ranks_open_with(&all, MPI_COMM_WORLD, &options);
    contexts[0] = all.context;
    contexts[1] = HG_Context_create_id(all.cls, 1);
    CHECK(contexts[1] != NULL);
    echo_id = HG_Register_name(
        all.cls, "stress_echo", hg_proc_blob, hg_proc_blob, echo_serve);
    note_id = HG_Register_name(
        all.cls, "stress_note", hg_proc_blob, NULL, note_serve);
    OK(HG_Registered_disable_response(all.cls, note_id, HG_TRUE));
    lend_id =
        MERCURY_REGISTER(all.cls, "stress_lend", lend_t, void, lend_serve);
    ranks_meet(MPI_COMM_WORLD);
    run(seconds);
    ranks_close(&all);
    printf("rank %d, seed %lu: %u calls ended well, %u were canceled\n",
        all.rank, first_seed, atomic_load(&succeeded), atomic_load(&cancelled));
    return ranks_stop();
}
