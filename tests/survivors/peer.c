/* SPDX-License-Identifier: BSD-3-Clause */
/* A server, or a client that always has calls in flight; see survive.sh.
 *
 *   peer server TRANSPORT FILE    writes its address to FILE
 *   peer client TRANSPORT FILE    calls the server of FILE
 *
 * A client whose call fails waits for the end of its other calls, and then
 * calls the server whose address it finds. After SIGUSR1 it writes a line when
 * a call that it began later was answered: "PID answered ERRORS", with the
 * number of calls that failed since the previous line. SIGTERM ends both
 * cleanly. */
#include <mercury.h>
#include <stdlib.h>
#include <string.h>

#include "survivor.h"

/* A call of a client. */
struct call {
    hg_handle_t handle;
    uint64_t number;
    bool is_busy;
};

/* A call that pulls, at the server. */
struct pull {
    hg_handle_t handle;
    pull_t in;
    hg_bulk_t local;
    unsigned char *bytes;
};

static hg_class_t *cls;
static hg_context_t *context;
static hg_id_t text_id;
static hg_id_t pull_id;
static struct call calls[CALLS];
static unsigned busy;
static char text[TEXT_LEN + 1];
static unsigned char bytes[BULK_LEN];
static hg_bulk_t exposed;
static hg_addr_t server = HG_ADDR_NULL;
static uint64_t next_number = 1;
static uint64_t asked_at; /* first number of later calls; 0: none */
static unsigned errors;   /* since the last line */
static bool has_failed;   /* the server is gone */

static void turn(void)
{
    unsigned count = 0;

    (void)HG_Progress(context, 20);
    do
        count = 0;
    while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0);
}

/* The client may be dead by now: then the reply is lost. */
static void answer(hg_handle_t handle, uint64_t number)
{
    out_t out = {number};

    (void)HG_Respond(handle, NULL, NULL, &out);
    (void)HG_Destroy(handle);
}

static hg_return_t text_serve(hg_handle_t handle)
{
    text_t in;
    uint64_t number = 0;

    if (HG_Get_input(handle, &in) != HG_SUCCESS)
        return HG_Destroy(handle);
    survivor_check(strspn(in.text, "a") == strlen(in.text), "wrong text");
    number = in.number + strlen(in.text);
    (void)HG_Free_input(handle, &in);
    answer(handle, number);
    return HG_SUCCESS;
}

static hg_return_t pull_done(const struct hg_cb_info *info)
{
    struct pull *pull = info->arg;
    uint64_t number = pull->in.number;

    if (info->ret == HG_SUCCESS)
        for (int i = 0; i < BULK_LEN; i++)
            survivor_check(pull->bytes[i] == (unsigned char)i, "wrong bytes");
    (void)HG_Bulk_free(pull->local);
    (void)HG_Free_input(pull->handle, &pull->in);
    if (info->ret == HG_SUCCESS)
        answer(pull->handle, number + 1);
    else
        (void)HG_Destroy(pull->handle);
    free(pull->bytes);
    free(pull);
    return HG_SUCCESS;
}

static hg_return_t pull_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct pull *pull = calloc(1, sizeof(*pull));
    hg_size_t len = BULK_LEN;
    void *at = NULL;

    survivor_check(pull != NULL, "no memory");
    pull->handle = handle;
    if (HG_Get_input(handle, &pull->in) != HG_SUCCESS) {
        free(pull);
        return HG_Destroy(handle);
    }
    at = pull->bytes = calloc(1, BULK_LEN);
    survivor_check(
        at != NULL && HG_Bulk_create(cls, 1, &at, &len, HG_BULK_WRITE_ONLY,
                          &pull->local) == HG_SUCCESS,
        "no memory");
    if (HG_Bulk_transfer(context, pull_done, pull, HG_BULK_PULL, info->addr,
            pull->in.bulk, 0, pull->local, 0, len,
            HG_OP_ID_IGNORE) == HG_SUCCESS)
        return HG_SUCCESS;
    (void)HG_Bulk_free(pull->local);
    (void)HG_Free_input(handle, &pull->in);
    (void)HG_Destroy(handle);
    free(pull->bytes);
    free(pull);
    return HG_SUCCESS;
}

static void call_begin(struct call *call);

static hg_return_t call_done(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    out_t out;

    survivor_check(call->is_busy, "a callback came twice");
    call->is_busy = false;
    busy--;
    if (info->ret == HG_SUCCESS &&
        HG_Get_output(call->handle, &out) == HG_SUCCESS) {
        survivor_check(out.number > call->number, "a wrong answer");
        (void)HG_Free_output(call->handle, &out);
        if (asked_at != 0 && call->number >= asked_at) {
            survivor_say_number("answered", errors);
            asked_at = errors = 0;
        }
    } else {
        errors++;
        has_failed = true;
    }
    (void)HG_Destroy(call->handle);
    if (!has_failed && !survivor_is_over)
        call_begin(call);
    return HG_SUCCESS;
}

static void call_begin(struct call *call)
{
    bool pulls = (call - calls) % 3 == 2;
    bool is_long = (call - calls) % 3 == 1;
    text_t text_in = {next_number, is_long ? text : text + TEXT_LEN - 64};
    pull_t pull_in = {next_number, exposed};

    call->number = next_number++;
    if (HG_Create(context, server, pulls ? pull_id : text_id, &call->handle) !=
        HG_SUCCESS) {
        has_failed = true;
        return;
    }
    call->is_busy = true;
    busy++;
    if (HG_Forward(call->handle, call_done, call,
            pulls ? (void *)&pull_in : (void *)&text_in) == HG_SUCCESS)
        return;
    call->is_busy = false;
    busy--;
    errors++;
    has_failed = true;
    (void)HG_Destroy(call->handle);
}

/* False: no server was found. */
static bool server_find(const char *path)
{
    char address[ADDR_CAP];

    survivor_address_read(path, address);
    return address[0] != '\0' &&
           HG_Addr_lookup2(cls, address, &server) == HG_SUCCESS;
}

static void client_run(const char *path)
{
    void *at = bytes;
    hg_size_t len = BULK_LEN;

    memset(text, 'a', TEXT_LEN);
    for (int i = 0; i < BULK_LEN; i++)
        bytes[i] = (unsigned char)i;
    survivor_check(HG_Bulk_create(cls, 1, &at, &len, HG_BULK_READ_ONLY,
                       &exposed) == HG_SUCCESS,
        "cannot expose");
    survivor_say("begins");
    while (!survivor_is_over) {
        has_failed = false;
        if (!server_find(path)) {
            turn();
            continue;
        }
        for (int i = 0; i < CALLS; i++)
            call_begin(&calls[i]);
        while (!has_failed && !survivor_is_over) {
            if (survivor_is_asked) {
                survivor_is_asked = 0;
                asked_at = next_number;
            }
            turn();
        }
        while (busy > 0) /* each call ends */
            turn();
        (void)HG_Addr_free(cls, server);
    }
    survivor_check(HG_Bulk_free(exposed) == HG_SUCCESS, "the memory is in use");
}

static void server_run(const char *path)
{
    char address[ADDR_CAP];
    hg_size_t cap = sizeof(address);
    hg_addr_t self = HG_ADDR_NULL;

    survivor_check(
        HG_Addr_self(cls, &self) == HG_SUCCESS &&
            HG_Addr_to_string(cls, address, &cap, self) == HG_SUCCESS,
        "no address");
    (void)HG_Addr_free(cls, self);
    survivor_address_write(path, address);
    survivor_say("serves");
    while (!survivor_is_over)
        turn();
}

int main(int argc, char **argv)
{
    bool is_server = argc == 4 && strcmp(argv[1], "server") == 0;
    hg_return_t ret = HG_SUCCESS;

    survivor_check(argc == 4, "peer server|client TRANSPORT FILE");
    cls = HG_Init(argv[2], is_server);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    survivor_check(context != NULL, "cannot open");
    survivor_signals();
    text_id = MERCURY_REGISTER(cls, "text", text_t, out_t, text_serve);
    pull_id = MERCURY_REGISTER(cls, "pull", pull_t, out_t, pull_serve);
    if (is_server)
        server_run(argv[3]);
    else
        client_run(argv[3]);
    while ((ret = HG_Context_destroy(context)) == HG_BUSY)
        turn(); /* what clients that died have left ends first */
    survivor_check(ret == HG_SUCCESS, "the context is in use");
    survivor_check(HG_Finalize(cls) == HG_SUCCESS, "the class is in use");
    HG_Cleanup();
    return EXIT_SUCCESS;
}
