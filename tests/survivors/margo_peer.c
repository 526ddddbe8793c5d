/* SPDX-License-Identifier: BSD-3-Clause */
/* peer.c with Margo: the server's handlers and the client's callers are
 * user-level threads, all on the one stream that also makes progress. */
#include <margo.h>
#include <stdlib.h>
#include <string.h>

#include "survivor.h"

enum { LOOK_MS = 5 };

static margo_instance_id mid;
static hg_id_t text_id;
static hg_id_t pull_id;
static char text[TEXT_LEN + 1];
static unsigned char bytes[BULK_LEN];
static hg_bulk_t exposed;
static hg_addr_t server = HG_ADDR_NULL;
static uint64_t next_number = 1;
static uint64_t asked_at; /* first number of later calls; 0: none */
static unsigned errors;   /* since the last line */
static bool has_failed;   /* the server is gone */

/* The client may be dead by now: then the reply is lost. */
static void answer(hg_handle_t handle, uint64_t number)
{
    out_t out = {number};

    (void)margo_respond(handle, &out);
}

static void text_serve(hg_handle_t handle)
{
    text_t in;

    if (margo_get_input(handle, &in) == HG_SUCCESS) {
        survivor_check(strspn(in.text, "a") == strlen(in.text), "wrong text");
        answer(handle, in.number + strlen(in.text));
        (void)margo_free_input(handle, &in);
    }
    (void)margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(text_serve)

static void pull(hg_handle_t handle, const pull_t *in)
{
    hg_size_t len = BULK_LEN;
    unsigned char *got = calloc(1, BULK_LEN);
    void *at = got;
    hg_bulk_t local = HG_BULK_NULL;

    survivor_check(got != NULL && margo_bulk_create(mid, 1, &at, &len,
                                      HG_BULK_WRITE_ONLY, &local) == HG_SUCCESS,
        "no memory");
    if (margo_bulk_transfer(mid, HG_BULK_PULL, margo_get_info(handle)->addr,
            in->bulk, 0, local, 0, len) == HG_SUCCESS) {
        for (int i = 0; i < BULK_LEN; i++)
            survivor_check(got[i] == (unsigned char)i, "wrong bytes");
        answer(handle, in->number + 1);
    }
    (void)margo_bulk_free(local);
    free(got);
}

static void pull_serve(hg_handle_t handle)
{
    pull_t in;

    if (margo_get_input(handle, &in) == HG_SUCCESS) {
        pull(handle, &in);
        (void)margo_free_input(handle, &in);
    }
    (void)margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(pull_serve)

static hg_return_t call(hg_handle_t handle, long which, uint64_t number)
{
    text_t text_in = {number, which % 3 == 1 ? text : text + TEXT_LEN - 64};
    pull_t pull_in = {number, exposed};
    out_t out;
    hg_return_t rc = margo_forward(
        handle, which % 3 == 2 ? (void *)&pull_in : (void *)&text_in);

    if (rc != HG_SUCCESS)
        return rc;
    rc = margo_get_output(handle, &out);
    if (rc != HG_SUCCESS)
        return rc;
    survivor_check(out.number > number, "a wrong answer");
    return margo_free_output(handle, &out);
}

/* Calls repeatedly, until a call fails. */
static void caller(void *arg)
{
    long which = (char *)arg - text;

    while (!has_failed && !survivor_is_over) {
        hg_handle_t handle = HG_HANDLE_NULL;
        uint64_t number = next_number++;
        hg_return_t rc = margo_create(
            mid, server, which % 3 == 2 ? pull_id : text_id, &handle);

        if (rc == HG_SUCCESS) {
            rc = call(handle, which, number);
            (void)margo_destroy(handle);
        }
        if (rc != HG_SUCCESS) {
            errors++;
            has_failed = true;
        } else if (asked_at != 0 && number >= asked_at) {
            survivor_say_number("answered", errors);
            asked_at = errors = 0;
        }
    }
}

static void callers_run(void)
{
    ABT_thread threads[CALLS];
    ABT_pool pool = ABT_POOL_NULL;

    survivor_check(margo_get_handler_pool(mid, &pool) == HG_SUCCESS, "no pool");
    for (int i = 0; i < CALLS; i++)
        survivor_check(ABT_thread_create(pool, caller, text + i,
                           ABT_THREAD_ATTR_NULL, &threads[i]) == ABT_SUCCESS,
            "no thread");
    while (!has_failed && !survivor_is_over) {
        if (survivor_is_asked) {
            survivor_is_asked = 0;
            asked_at = next_number;
        }
        margo_thread_sleep(mid, LOOK_MS);
    }
    for (int i = 0; i < CALLS; i++) /* each call ends */
        survivor_check(
            ABT_thread_free(&threads[i]) == ABT_SUCCESS, "cannot join");
}

static void client_run(const char *path)
{
    char address[ADDR_CAP];
    void *at = bytes;
    hg_size_t len = BULK_LEN;

    memset(text, 'a', TEXT_LEN);
    for (int i = 0; i < BULK_LEN; i++)
        bytes[i] = (unsigned char)i;
    survivor_check(margo_bulk_create(mid, 1, &at, &len, HG_BULK_READ_ONLY,
                       &exposed) == HG_SUCCESS,
        "cannot expose");
    survivor_say("begins");
    while (!survivor_is_over) {
        has_failed = false;
        survivor_address_read(path, address);
        if (margo_addr_lookup(mid, address, &server) != HG_SUCCESS) {
            margo_thread_sleep(mid, LOOK_MS);
            continue;
        }
        callers_run();
        (void)margo_addr_free(mid, server);
    }
    survivor_check(
        margo_bulk_free(exposed) == HG_SUCCESS, "the memory is in use");
}

static void server_run(const char *path)
{
    char address[ADDR_CAP];
    hg_size_t cap = sizeof(address);
    hg_addr_t self = HG_ADDR_NULL;

    survivor_check(
        margo_addr_self(mid, &self) == HG_SUCCESS &&
            margo_addr_to_string(mid, address, &cap, self) == HG_SUCCESS,
        "no address");
    (void)margo_addr_free(mid, self);
    survivor_address_write(path, address);
    survivor_say("serves");
    while (!survivor_is_over)
        margo_thread_sleep(mid, LOOK_MS);
}

int main(int argc, char **argv)
{
    bool is_server = argc == 4 && strcmp(argv[1], "server") == 0;

    survivor_check(argc == 4, "margo_peer server|client TRANSPORT FILE");
    survivor_signals();
    mid = margo_init(
        argv[2], is_server ? MARGO_SERVER_MODE : MARGO_CLIENT_MODE, 0, 0);
    survivor_check(mid != MARGO_INSTANCE_NULL, "cannot open");
    text_id = MARGO_REGISTER(mid, "text", text_t, out_t, text_serve);
    pull_id = MARGO_REGISTER(mid, "pull", pull_t, out_t, pull_serve);
    if (is_server)
        server_run(argv[3]);
    else
        client_run(argv[3]);
    margo_finalize(mid);
    return EXIT_SUCCESS;
}
