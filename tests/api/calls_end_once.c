/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call ends once at its origin, and every reply once at its target,
 * whichever side cancels, answers late, or closes its context, with short and
 * long arguments and replies; and all contexts close. The rounds are an
 * argument. */
#include <stdlib.h>

#include "api.h"
#include "api_blob.h"
#include "mercury_macros.h"

enum { ORIGIN = 1, TARGET = 2, CONTEXTS = 3 }; /* ids of contexts */

enum { SHORT = 10, LONG = 100000, PATIENCE_MS = 20000 };

enum event {
    LATE_REPLY,           /* the origin has cancelled before the reply */
    CANCEL,               /* the origin cancels, at any moment */
    CANCEL_ANSWER,        /* the target cancels its reply */
    ORIGIN_CLOSED,        /* the reply arrives at a closed context */
    ORIGIN_CLOSES,        /* or at one that is being closed */
    ORIGIN_LEFT,          /* or at a class that has no open context */
    TARGET_CLOSES,        /* while a reply is in flight */
    TARGET_CLOSES_SILENT, /* without a reply */
    TARGET_CLOSED,        /* the call arrives at a context that closes */
    EVENTS
};

static struct api *the;
static hg_id_t rpc;
static hg_context_t *contexts[CONTEXTS];
static hg_handle_t kept;
static unsigned begun; /* replies */
static unsigned ended;
static hg_return_t ended_ret;

static bool is_answered_at_once(enum event event)
{
    return event == CANCEL || event == ORIGIN_CLOSES || event == TARGET_CLOSED;
}

static hg_return_t answer_ended(const struct hg_cb_info *info)
{
    ended++;
    ended_ret = info->ret;
    CHECK(the, ended <= begun);
    return HG_SUCCESS;
}

static void answer(hg_handle_t handle, uint64_t len)
{
    api_blob_t blob = {.len = len};

    begun++;
    OK(the, HG_Respond(handle, answer_ended, NULL, &blob));
}

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t blob;

    OK(the, HG_Get_input(handle, &blob));
    CHECK(the, blob.is_right);
    if (is_answered_at_once((enum event)(blob.seed % EVENTS))) {
        answer(handle, blob.answer_len);
        OK(the, HG_Destroy(handle));
    } else {
        CHECK(the, kept == HG_HANDLE_NULL);
        kept = handle;
    }
    return HG_Free_input(handle, &blob);
}

static void open_context(uint8_t id)
{
    contexts[id] = HG_Context_create_id(the->cls, id);
    CHECK(the, contexts[id] != NULL);
    api_drive(contexts[id]);
}

/* Opens the closed ones. */
static void contexts_open(void)
{
    for (uint8_t id = ORIGIN; id < CONTEXTS; id++)
        if (contexts[id] == NULL)
            open_context(id);
    if (the->context == NULL)
        the->context = HG_Context_create(the->cls);
    CHECK(the, the->context != NULL);
}

static void close_context(uint8_t id)
{
    uint64_t until_ns = api_now_ns() + PATIENCE_MS * 1000000ull;

    /* Busy while it has calls to trigger. */
    while (HG_Context_destroy(contexts[id]) == HG_BUSY) {
        CHECK(the, api_now_ns() < until_ns);
        api_turn(the);
    }
    api_drive_no_more(contexts[id]);
    contexts[id] = NULL;
}

/* Part of the target, once it holds the call or is to close. */
static void be_target(enum event event, uint64_t out_len)
{
    switch (event) {
    case LATE_REPLY:
    case ORIGIN_CLOSED:
    case ORIGIN_LEFT:
    case CANCEL_ANSWER:
    case TARGET_CLOSES:
        answer(kept, out_len);
        break;
    default:
        break;
    }
    if (event == CANCEL_ANSWER)
        OK(the, HG_Cancel(kept));
    if (kept != HG_HANDLE_NULL)
        OK(the, HG_Destroy(kept));
    kept = HG_HANDLE_NULL;
    if (event == TARGET_CLOSES || event == TARGET_CLOSES_SILENT ||
        event == TARGET_CLOSED)
        close_context(TARGET);
    if (event == ORIGIN_LEFT)
        api_sync(the); /* the origin reopens its contexts */
    UNTIL(the, begun == ended);
    if (event == ORIGIN_LEFT) /* an acknowledgement, or its own notice */
        CHECK(the, ended_ret == HG_SUCCESS || ended_ret == HG_CANCELED);
    if (event == LATE_REPLY || event == ORIGIN_CLOSED || event == TARGET_CLOSES)
        OK(the, ended_ret);
    if (event == CANCEL_ANSWER)
        CHECK(the, ended_ret == HG_SUCCESS || ended_ret == HG_CANCELED);
}

static bool is_cancelled_first(enum event event)
{
    return event == LATE_REPLY || event == CANCEL || event == ORIGIN_CLOSED ||
           event == ORIGIN_CLOSES || event == ORIGIN_LEFT;
}

/* The call has ended, with an allowed code. */
static void origin_end(
    enum event event, hg_handle_t handle, struct api_call *call)
{
    hg_return_t rc = api_wait(the, call);

    if (event == LATE_REPLY || event == ORIGIN_CLOSED || event == ORIGIN_LEFT ||
        event == TARGET_CLOSES_SILENT)
        EXPECT(the, HG_CANCELED, rc);
    if (event == TARGET_CLOSES)
        OK(the, rc);
    if (event == TARGET_CLOSED)
        CHECK(the, rc == HG_SUCCESS || rc == HG_CANCELED || rc == HG_NOENTRY);
    OK(the, HG_Destroy(handle));
    if (event == ORIGIN_CLOSED || event == ORIGIN_CLOSES ||
        event == ORIGIN_LEFT)
        close_context(ORIGIN);
    if (event == ORIGIN_LEFT) {
        close_context(TARGET);
        OK(the, HG_Context_destroy(the->context));
        the->context = NULL;
    }
}

/* One call from one rank to the other. */
static void play(
    enum event event, uint64_t in_len, uint64_t out_len, unsigned round)
{
    bool is_origin = the->is_alone || the->rank == (int)(round % 2);
    bool is_target = the->is_alone || !is_origin;
    api_blob_t blob = {.len = in_len,
        .seed = (uint64_t)round * EVENTS + event,
        .answer_len = out_len};
    hg_handle_t handle = HG_HANDLE_NULL;
    struct api_call call = {0};

    if (is_origin) {
        OK(the, HG_Create(contexts[ORIGIN], the->right, rpc, &handle));
        OK(the, HG_Set_target_id(handle, TARGET));
        api_forward(the, handle, &blob, &call);
    }
    if (!is_answered_at_once(event)) {
        UNTIL(the, !is_target || kept != HG_HANDLE_NULL);
        api_sync(the);
    }
    if (is_origin && is_cancelled_first(event)) {
        OK(the, HG_Cancel(handle));
        origin_end(event, handle, &call);
    }
    if (event == LATE_REPLY || event == ORIGIN_CLOSED || event == ORIGIN_LEFT)
        api_sync(the);
    if (is_origin && event == ORIGIN_LEFT) {
        api_sync(the); /* the reply has left */
        contexts_open();
    }
    if (is_target)
        be_target(event, out_len);
    if (event == CANCEL_ANSWER) {
        api_sync(the);
        if (is_origin && !the->is_alone)
            OK(the, HG_Cancel(handle)); /* there may be no reply */
    }
    if (is_origin && !is_cancelled_first(event))
        origin_end(event, handle, &call);
    api_sync(the);
    CHECK(the, !is_origin || call.done == 1);
    contexts_open();
    api_sync(the);
}

/* Calls to self cannot be cancelled, nor can a rank close its own contexts. */
static bool is_played(enum event event)
{
    return !the->is_alone || event == CANCEL_ANSWER ||
           event == TARGET_CLOSES_SILENT;
}

static unsigned rounds = 2;

static void test(struct api *api)
{
    the = api;
    rpc = MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    open_context(ORIGIN);
    open_context(TARGET);
    HG_Set_log_level("error"); /* a line for each would be too many */
    api_sync(api);
    for (unsigned event = 0; event < EVENTS; event++)
        for (unsigned pair = 0; pair < 4; pair++)
            for (unsigned round = 0; round < rounds; round++) {
                if (!is_played((enum event)event))
                    continue;
                play((enum event)event, pair % 2 == 0 ? SHORT : LONG,
                    pair / 2 == 0 ? SHORT : LONG, round);
            }
    close_context(ORIGIN);
    close_context(TARGET);
    CHECK(api, begun == ended && kept == HG_HANDLE_NULL);
}

int main(int argc, char **argv)
{
    if (argc > 2)
        rounds = (unsigned)atoi(argv[2]);
    return api_main(argc, argv, &(struct api_wish){.contexts = CONTEXTS}, test);
}
