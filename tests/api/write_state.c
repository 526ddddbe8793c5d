/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_write_state() names what is under way, each time with a count above
 * 0: a call without an answer, requests without a credit, a transfer. Before
 * and after that the class is idle: 0 things are not at home. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_state.h"
#include "api_bulk.h"
#include "mercury_macros.h"

enum { CREDITS = 4, CALLS = 10, LEN = 1 << 20 };

static struct api *the;
static hg_handle_t kept[CALLS];
static unsigned kept_count;
static bool keeps = true;

static hg_return_t serve(hg_handle_t handle)
{
    if (!keeps) {
        OK(the, HG_Respond(handle, NULL, NULL, NULL));
        return HG_Destroy(handle);
    }
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

/* Waits until this rank is idle, then until all are. */
static void expect_idle(struct api *api)
{
    api_wait_begin(api);
    while (amalgam_write_state(api->cls, NULL) > 0) {
        api_turn(api);
        if (api_now_ns() < api->deadline_ns)
            continue;
        (void)amalgam_write_state(api->cls, stderr);
        CHECK(api, amalgam_write_state(api->cls, NULL) == 0);
    }
    api_sync(api);
}

static void answer_all(struct api *api)
{
    keeps = false;
    for (unsigned i = 0; i < kept_count; i++) {
        OK(api, HG_Respond(kept[i], NULL, NULL, NULL));
        OK(api, HG_Destroy(kept[i]));
    }
    kept_count = 0;
}

/* Calls the neighbour, whose handler keeps what it gets, so often. */
static void test_calls(
    struct api *api, hg_id_t id, unsigned count, const char *words)
{
    struct api_call calls[CALLS];
    hg_handle_t handles[CALLS];
    unsigned most = count < CREDITS ? count : CREDITS;

    keeps = true;
    api_sync(api);
    for (unsigned i = 0; i < count; i++) {
        handles[i] = api_handle(api, id);
        api_forward(api, handles[i], NULL, &calls[i]);
    }
    UNTIL(api, kept_count == most);
    expect_named(api, words);
    expect_named(api, "unanswered calls");
    expect_named(api, "calls of peers being handled, or kept by the program");
    CHECK(api, amalgam_write_state(api->cls, NULL) >= count);
    api_sync(api);
    answer_all(api);
    for (unsigned i = 0; i < count; i++) {
        OK(api, api_wait(api, &calls[i]));
        OK(api, HG_Destroy(handles[i]));
    }
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
    hg_id_t id = MERCURY_REGISTER(api->cls, "kept", void, void, serve);
    char *bytes = calloc(2, LEN);

    the = api;
    CHECK(api, bytes != NULL);
    CHECK(api, amalgam_write_state(NULL, NULL) == (size_t)-1);
    api_bulk_start(api);
    api_sync(api);
    expect_idle(api);
    test_calls(api, id, 1, "unanswered calls 1, credits taken 1 of 4");
    test_calls(api, id, CALLS,
        "requests waiting for a credit or room 6, credits taken 4 of 4");
    test_transfer(api, bytes);
    expect_idle(api);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (setenv("AMALGAM_CREDITS", "4", 1) != 0)
        return EXIT_FAILURE;
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
