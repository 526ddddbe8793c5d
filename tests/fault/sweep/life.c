/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a class of the sweep. Every call that was accepted ends once, by
 * its callback; a one-way call is handled once, or a line of the log tells of
 * its loss, on one of the two sides; the next calls succeed, but for one of
 * each process, which may tell that the other one has given it up. */
#include "fault/sweep/life.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "base/clock.h"
#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"
#include "fault/sweep/pair.h"
#ifdef AMALGAM_HAS_MPI
#include "amalgam.h"
#endif

enum {
    CALLS = 20,
    NOTES = 20, /* by handles, and as many without */
    BULK_LEN = 200000,
    LONG_LEN = 100000,
    NAME_CAP = 256,
    KEY_CAP = 1024,
    QUIET_MS = 300, /* nothing comes any more */
};

static const uint32_t lens[] = {8, 3000, 200, LONG_LEN};

enum { LENS = sizeof(lens) / sizeof(lens[0]) };

struct blob {
    uint64_t number;
    uint32_t len;
};

/* What a process tells the other one. */
struct greeting {
    bool is_open;
    char name[NAME_CAP];
    uint64_t key_len;
    char key[KEY_CAP];
};

struct call {
    hg_handle_t handle;
    uint64_t number;
    unsigned ended;
    hg_return_t ret;
};

static struct life {
    const struct life_plan *plan;
    hg_class_t *cls;
    hg_context_t *context;
    hg_addr_t peer;
    hg_id_t ask;
    hg_id_t note;
    hg_id_t bare;
    hg_bulk_t mine;
    hg_bulk_t theirs;
    struct call calls[CALLS];
    struct call pull;
    bool has_pull;
    unsigned open_calls; /* accepted, and not ended */
    uint64_t moved_ns;   /* when something came, last */
    /* One-way calls: accepted here, and handled here. */
    uint8_t sent[2 * NOTES];
    uint8_t came[2 * NOTES];
    struct life_result result;
} life;

static uint8_t exposed[BULK_LEN];
static uint8_t landing[BULK_LEN];
static char bytes[LONG_LEN];

static hg_return_t blob_code(hg_proc_t proc, void *data)
{
    struct blob *blob = data;
    hg_return_t rc = hg_proc_uint64_t(proc, &blob->number);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blob->len);
    if (rc != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE)
        return rc;
    if (blob->len > LONG_LEN)
        return HG_PROTOCOL_ERROR;
    return hg_proc_raw(proc, bytes, blob->len);
}

static void moved(void)
{
    life.moved_ns = amg_clock_ns();
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    struct blob blob;

    moved();
    if (HG_Get_input(handle, &blob) == HG_SUCCESS) {
        (void)HG_Free_input(handle, &blob);
        blob.number++;
        (void)HG_Respond(handle, NULL, NULL, &blob);
    }
    return HG_Destroy(handle);
}

static void note_came(uint64_t number)
{
    moved();
    if (number >= 2 * (uint64_t)NOTES)
        complain(
            "a one-way call has the number %llu", (unsigned long long)number);
    else if (life.came[number]++ > 0)
        complain("one-way call %llu came twice", (unsigned long long)number);
}

/* A call whose arguments cannot be had is one that was not handled. */
static hg_return_t note_serve(hg_handle_t handle)
{
    struct blob blob;

    if (HG_Get_input(handle, &blob) == HG_SUCCESS) {
        note_came(blob.number);
        (void)HG_Free_input(handle, &blob);
    }
    return HG_Destroy(handle);
}

static void bare_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    uint64_t number = 0;

    (void)hg_class;
    (void)from_rank;
    if (len == sizeof(number))
        memcpy(&number, arg, len);
    note_came(len == sizeof(number) ? number : UINT64_MAX);
}

static void turn(void)
{
    unsigned count = 0;

    if (HG_Event_progress(life.context, NULL) != HG_SUCCESS ||
        HG_Event_trigger(life.context, 64, &count) != HG_SUCCESS)
        sched_yield();
    else if (count == 0)
        sched_yield();
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    struct blob out;

    moved();
    if (call->ended++ > 0)
        complain("call %llu ended twice", (unsigned long long)call->number);
    call->ret = info->ret;
    life.open_calls--;
    life.result.ended++;
    life.result.failed += info->ret != HG_SUCCESS;
    if (info->type != HG_CB_FORWARD || info->ret != HG_SUCCESS ||
        HG_Get_output(call->handle, &out) != HG_SUCCESS)
        return HG_SUCCESS;
    if (out.number != call->number + 1)
        complain("call %llu has the result of call %llu",
            (unsigned long long)call->number,
            (unsigned long long)out.number - 1);
    (void)HG_Free_output(call->handle, &out);
    return HG_SUCCESS;
}

static void accepted(void)
{
    life.open_calls++;
    life.result.accepted++;
}

static void asks_post(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct call *call = &life.calls[i];
        struct blob in = {.number = i * 10, .len = lens[i % LENS]};

        *call = (struct call){.number = i * 10};
        if (HG_Create(life.context, life.peer, life.ask, &call->handle) !=
            HG_SUCCESS) {
            call->handle = HG_HANDLE_NULL;
            continue;
        }
        accepted();
        if (HG_Forward(call->handle, call_ended, call, &in) != HG_SUCCESS) {
            life.open_calls--;
            life.result.accepted--;
            if (call->ended > 0)
                complain("call %u was refused, and ended", i);
        }
    }
}

static bool note_post(uint64_t number)
{
    struct blob in = {.number = number, .len = number % 5 == 0 ? LONG_LEN : 8};
    hg_handle_t handle = HG_HANDLE_NULL;
    bool is_sent = false;

    if (HG_Create(life.context, life.peer, life.note, &handle) != HG_SUCCESS)
        return false;
    is_sent = HG_Forward(handle, NULL, NULL, &in) == HG_SUCCESS;
    (void)HG_Destroy(handle);
    return is_sent;
}

static void notes_post(void)
{
    for (uint64_t i = 0; i < NOTES; i++)
        life.sent[i] = note_post(i);
    for (uint64_t i = NOTES; i < 2 * (uint64_t)NOTES; i++)
        life.sent[i] = amalgam_forward_oneway(life.context, life.peer,
                           life.bare, &i, sizeof(i)) == HG_SUCCESS;
}

static void pull_post(void)
{
    void *at = landing;
    hg_size_t len = BULK_LEN;
    hg_bulk_t local = HG_BULK_NULL;

    if (life.theirs == HG_BULK_NULL ||
        HG_Bulk_create(life.cls, 1, &at, &len, HG_BULK_WRITE_ONLY, &local) !=
            HG_SUCCESS)
        return;
    memset(landing, 0, BULK_LEN);
    life.pull = (struct call){.number = UINT32_MAX};
    life.has_pull = HG_Bulk_transfer(life.context, call_ended, &life.pull,
                        HG_BULK_PULL, life.peer, life.theirs, 0, local, 0,
                        BULK_LEN, HG_OP_ID_IGNORE) == HG_SUCCESS;
    if (life.has_pull)
        accepted();
    /* The transfer holds it until it ends. */
    if (HG_Bulk_free(local) != HG_SUCCESS)
        complain("HG_Bulk_free of memory of a transfer");
}

static void pull_check(void)
{
    if (!life.has_pull || life.pull.ret != HG_SUCCESS)
        return;
    for (unsigned i = 0; i < BULK_LEN; i++)
        if (landing[i] != (uint8_t)(i * 7 + !life.plan->rank)) {
            complain("byte %u of the pulled memory is wrong", i);
            return;
        }
}

/* Serves until both processes have nothing open, or for ever: the sweep has a
 * time limit. */
static void calls_await(void)
{
    bool has_said = false;
    bool has_heard = false;

    while (!has_said || !has_heard) {
        turn();
        if (!has_said && life.open_calls == 0) {
            pair_say();
            has_said = true;
        }
        has_heard = has_heard || pair_heard();
    }
}

/* Serves until nothing comes to either process any more. */
static void notes_await(void)
{
    uint8_t theirs[2 * NOTES];
    bool has_said = false;
    bool has_heard = false;

    pair_swap(life.sent, theirs, sizeof(theirs));
    moved();
    while (!has_said || !has_heard) {
        bool is_over = amg_clock_ns() - life.moved_ns > QUIET_MS * 1000000ull;

        turn();
        if (!has_said &&
            (is_over || memcmp(theirs, life.came, sizeof(theirs)) == 0)) {
            pair_say();
            has_said = true;
        }
        has_heard = has_heard || pair_heard();
    }
}

/* After the end of the class: one-way calls that did not come were told of. */
static void notes_check(void)
{
    uint8_t theirs[2 * NOTES];
    uint8_t missing = 0;
    unsigned lines[2];

    pair_swap(life.sent, theirs, sizeof(theirs));
    for (unsigned i = 0; i < 2 * NOTES; i++) {
        missing += theirs[i] > life.came[i];
        if (theirs[i] < life.came[i])
            complain("one-way call %u came, and was refused", i);
    }
    lines[0] = log_lines_seen();
    pair_swap(&lines[0], &lines[1], sizeof(lines[0]));
    if (missing > 0 && lines[0] + lines[1] == 0)
        complain("%u one-way calls are lost without a line", missing);
}

static void handles_free(void)
{
    for (unsigned i = 0; i < CALLS; i++) {
        if (life.calls[i].handle != HG_HANDLE_NULL &&
            HG_Destroy(life.calls[i].handle) != HG_SUCCESS)
            complain("HG_Destroy of call %u", i);
        life.calls[i].handle = HG_HANDLE_NULL;
    }
}

static void all_post(bool with_notes)
{
    asks_post(CALLS);
    if (with_notes)
        notes_post();
    pull_post();
    calls_await();
    if (with_notes)
        notes_await();
    pull_check();
    handles_free();
}

/* The fault may have hit one of the last messages: the process that sent it has
 * given the other one up, and the news is still on its way. A call that the
 * other process posts before the news comes ends with HG_HOSTUNREACH. One call
 * of each process finds that out; when both have ended, both processes know. */
static void news_await(void)
{
    asks_post(1);
    if (life.open_calls == 0)
        complain("the first call after the fault was refused");
    calls_await();
    if (life.calls[0].ret != HG_SUCCESS && life.calls[0].ret != HG_HOSTUNREACH)
        complain("the first call after the fault ended with %s",
            HG_Error_to_string(life.calls[0].ret));
    handles_free();
}

/* If the fault is over, what both sides do now succeeds. */
static void again(void)
{
    unsigned failed_before = 0;
    unsigned accepted_before = 0;
    bool is_over = fault_is_over();

    if (is_over)
        news_await();
    failed_before = life.result.failed;
    accepted_before = life.result.accepted;
    all_post(false);
    if (!is_over)
        return;
    if (life.result.failed > failed_before)
        complain("%u calls after the fault failed, e.g. %s",
            life.result.failed - failed_before,
            HG_Error_to_string(life.calls[CALLS - 1].ret));
    if (life.result.accepted - accepted_before < CALLS)
        complain("%u calls after the fault were refused",
            CALLS - (life.result.accepted - accepted_before));
}

static hg_class_t *class_open(const struct life_plan *plan)
{
#ifdef AMALGAM_HAS_MPI
    if (plan->by_mpi) {
        MPI_Comm comm = MPI_COMM_NULL;
        hg_class_t *cls = NULL;

        /* One of its own, as what a rank that failed leaves there stays. */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        cls = amalgam_init(comm, plan->transport, NULL);
        if (cls != NULL)
            MPI_Comm_free(&comm);
        return cls;
    }
#endif
    return HG_Init(plan->transport, HG_TRUE);
}

static bool rpcs_register(void)
{
    life.ask =
        HG_Register_name(life.cls, "ask", blob_code, blob_code, ask_serve);
    life.note = HG_Register_name(life.cls, "note", blob_code, NULL, note_serve);
    life.bare = amalgam_register_oneway(life.cls, "bare", bare_serve);
    return life.ask != 0 && life.note != 0 && life.bare != 0 &&
           HG_Registered_disable_response(life.cls, life.note, HG_TRUE) ==
               HG_SUCCESS;
}

static void greeting_fill(struct greeting *mine)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_size_t len = NAME_CAP;
    hg_size_t exposed_len = BULK_LEN;
    void *at = exposed;

    memset(mine, 0, sizeof(*mine));
    for (unsigned i = 0; i < BULK_LEN; i++)
        exposed[i] = (uint8_t)(i * 7 + life.plan->rank);
    life.context = HG_Context_create(life.cls);
    if (life.context == NULL || !rpcs_register() ||
        HG_Addr_self(life.cls, &self) != HG_SUCCESS)
        return;
    mine->is_open =
        HG_Addr_to_string(life.cls, mine->name, &len, self) == HG_SUCCESS;
    (void)HG_Addr_free(life.cls, self);
    if (HG_Bulk_create(life.cls, 1, &at, &exposed_len, HG_BULK_READWRITE,
            &life.mine) != HG_SUCCESS) {
        life.mine = HG_BULK_NULL;
        return;
    }
    mine->key_len = HG_Bulk_get_serialize_size(life.mine, 0);
    if (mine->key_len > KEY_CAP ||
        HG_Bulk_serialize(mine->key, mine->key_len, 0, life.mine) != HG_SUCCESS)
        mine->key_len = 0;
}

/* Whether both processes are open, and this one knows the other. */
static bool meet(void)
{
    struct greeting mine = {0};
    struct greeting theirs;
    bool is_well = false;
    bool are_both = false;

    if (life.cls != NULL)
        greeting_fill(&mine);
    life.result.is_open = mine.is_open;
    pair_swap(&mine, &theirs, sizeof(mine));
    is_well = mine.is_open && theirs.is_open &&
              HG_Addr_lookup2(life.cls, theirs.name, &life.peer) == HG_SUCCESS;
    if (is_well && theirs.key_len > 0 &&
        HG_Bulk_deserialize(
            life.cls, &life.theirs, theirs.key, theirs.key_len) != HG_SUCCESS)
        life.theirs = HG_BULK_NULL;
    pair_swap(&is_well, &are_both, sizeof(is_well));
    return is_well && are_both;
}

static void free_all(void)
{
    (void)HG_Bulk_free(life.theirs);
    if (HG_Bulk_free(life.mine) != HG_SUCCESS)
        complain("HG_Bulk_free of exposed memory");
    if (life.peer != HG_ADDR_NULL)
        (void)HG_Addr_free(life.cls, life.peer);
}

static void class_close(void)
{
    hg_return_t rc = HG_SUCCESS;

    if (life.cls == NULL)
        return;
#ifdef AMALGAM_HAS_MPI
    if (life.plan->by_mpi) {
        rc = amalgam_finalize(life.cls);
        if (rc != HG_SUCCESS)
            complain("amalgam_finalize: %s", HG_Error_to_string(rc));
        return;
    }
#endif
    if (life.context != NULL) {
        do {
            turn();
            rc = HG_Context_destroy(life.context);
        } while (rc == HG_BUSY);
        if (rc != HG_SUCCESS)
            complain("HG_Context_destroy: %s", HG_Error_to_string(rc));
    }
    rc = HG_Finalize(life.cls);
    if (rc != HG_SUCCESS)
        complain("HG_Finalize: %s", HG_Error_to_string(rc));
}

struct life_result life_run(const struct life_plan *plan,
    void (*step)(enum life_step step, void *arg), void *arg)
{
    bool is_well = false;

    life = (struct life){.plan = plan};
    step(LIFE_OPEN, arg);
    life.cls = class_open(plan);
    is_well = meet();
    step(LIFE_CALL, arg);
    if (is_well) {
        all_post(true);
        again();
    }
    free_all();
    step(LIFE_CLOSE, arg);
    class_close();
    if (is_well)
        notes_check();
    return life.result;
}
