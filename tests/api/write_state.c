/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_write_state() names what is under way, each time with a count above
 * 0: a call without an answer, requests without a credit, a cancelled call, a
 * one-way call, a transfer. Before and after that the class is idle: 0 things
 * are not at home. Any thread may call it while others make progress. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_state.h"
#include "api_bulk.h"
#include "mercury_macros.h"

enum { CREDITS = 4, CALLS = 10, ROUNDS = 20, LEN = 1 << 20 };

static struct api *the;
static hg_handle_t kept[CALLS];
static unsigned kept_count;
static bool keeps = true;
static hg_id_t call_id, one_way_id;
static atomic_bool is_over; /* a flag */

static hg_return_t end(hg_handle_t handle)
{
    if (HG_Get_info(handle)->id == call_id)
        OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_return_t serve(hg_handle_t handle)
{
    if (!keeps)
        return end(handle);
    CHECK(the, kept_count < CALLS);
    kept[kept_count++] = handle;
    return HG_SUCCESS;
}

/* The count is above 0, and the text has `words`, else all of it is shown. */
static void expect_named(struct api *api, const char *words)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    size_t count = 0;

    CHECK(api, out != NULL);
    count = amalgam_write_state(api->cls, out);
    CHECK(api, fclose(out) == 0);
    if (count == 0 || strstr(text, words) == NULL)
        fprintf(stderr, "'%s' and a count are not in:\n%s", words, text);
    CHECK(api, count > 0);
    CHECK(api, strstr(text, words) != NULL);
    CHECK(api, strncmp(text, "amalgam [", strlen("amalgam [")) == 0);
    free(text);
}

/* All ranks are idle, and go on together. */
static void expect_idle(struct api *api)
{
    api_settle(api);
    api_sync(api);
}

/* All ranks have looked: ends the calls that this one keeps, and all others. */
static void end_all(struct api *api)
{
    api_sync(api);
    keeps = false;
    for (unsigned i = 0; i < kept_count; i++)
        OK(api, end(kept[i]));
    kept_count = 0;
}

/* From now on all ranks keep calls. */
static void keep_all(struct api *api)
{
    keeps = true;
    api_sync(api);
}

/* Calls the neighbour, whose handler keeps what it gets, so often. */
static void test_calls(struct api *api, unsigned count, const char *words)
{
    struct api_call calls[CALLS];
    hg_handle_t handles[CALLS];
    unsigned most = count < CREDITS || api->is_alone ? count : CREDITS;

    keep_all(api);
    for (unsigned i = 0; i < count; i++) {
        handles[i] = api_handle(api, call_id);
        api_forward(api, handles[i], NULL, &calls[i]);
    }
    UNTIL(api, kept_count == most);
    if (!api->is_alone) { /* a call to oneself takes no credit */
        expect_named(api, words);
        expect_named(api, "unanswered calls");
    }
    expect_named(api, "calls of peers being handled, or kept by the program");
    CHECK(api, amalgam_write_state(api->cls, NULL) >= count);
    end_all(api);
    for (unsigned i = 0; i < count; i++) {
        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Destroy(handles[i]));
    }
    expect_idle(api);
}

/* The callback has run, and the credit is not back. */
static void test_ended(struct api *api, hg_id_t id, const char *words)
{
    hg_handle_t handle = api_handle(api, id);
    struct api_call call;
    bool is_cancelled = id == call_id;

    keep_all(api);
    api_forward(api, handle, NULL, &call);
    UNTIL(api, kept_count == 1);
    if (is_cancelled)
        OK(api, HG_Cancel(handle));
    EXPECT(api, is_cancelled ? HG_CANCELED : HG_SUCCESS, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
    expect_named(api, words);
    end_all(api);
    expect_idle(api);
}

static void *looker(void *arg)
{
    struct api *api = arg;

    while (!atomic_load(&is_over)) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        CHECK(api, out != NULL);
        CHECK(api, amalgam_write_state(api->cls, out) != (size_t)-1);
        CHECK(api, fclose(out) == 0);
        free(text);
    }
    return NULL;
}

static void test_from_another_thread(struct api *api)
{
    hg_handle_t handle = api_handle(api, call_id);
    pthread_t thread;

    CHECK(api, pthread_create(&thread, NULL, looker, api) == 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        OK(api, api_ask(api, handle, NULL));
    OK(api, HG_Destroy(handle));
    atomic_store(&is_over, true);
    CHECK(api, pthread_join(thread, NULL) == 0);
    expect_idle(api);
}

static void test_transfer(struct api *api, char *bytes)
{
    hg_size_t len = LEN;
    hg_bulk_t mine = api_bulk_expose(api, bytes, 1, &len, HG_BULK_READ_ONLY);
    hg_bulk_t local =
        api_bulk_expose(api, bytes + LEN, 1, &len, HG_BULK_READWRITE);
    struct api_shown left;
    struct api_call call = {0};

    api_bulk_show(api, mine, 0, &left);
    expect_idle(api);
    OK(api, HG_Bulk_transfer(api->context, api_done, &call, HG_BULK_PULL,
                left.addr, left.bulk, 0, local, 0, LEN, HG_OP_ID_IGNORE));
    expect_named(api, "bulk transfers without their callback 1");
    OK(api, api_wait(api, &call));
    expect_idle(api);
    api_bulk_forget(api, &left);
    OK(api, HG_Bulk_free(mine));
    OK(api, HG_Bulk_free(local));
}

static void test(struct api *api)
{
    char *bytes = calloc(2, LEN);

    the = api;
    call_id = MERCURY_REGISTER(api->cls, "kept", void, void, serve);
    one_way_id = MERCURY_REGISTER(api->cls, "one_way", void, void, serve);
    OK(api, HG_Registered_disable_response(api->cls, one_way_id, HG_TRUE));
    CHECK(api, bytes != NULL);
    CHECK(api, amalgam_write_state(NULL, NULL) == (size_t)-1);
    api_bulk_start(api);
    api_sync(api);
    expect_idle(api);
    test_calls(api, 1, "unanswered calls 1, credits taken 1 of 4");
    test_calls(api, CALLS,
        "requests waiting for a credit or room 6, credits taken 4 of 4");
    if (!api->is_alone) /* a call to oneself cannot be cancelled */
        test_ended(api, call_id, "cancelled calls not answered 1");
    test_ended(api, one_way_id,
        api->is_alone ? "kept by the program 1"
                      : "one-way calls not known to be handled 1");
    test_transfer(api, bytes);
    test_from_another_thread(api);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (setenv("AMALGAM_CREDITS", "4", 1) != 0)
        return EXIT_FAILURE;
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
