/* SPDX-License-Identifier: BSD-3-Clause */
/* A class counts its messages, including those of closed contexts, and logs the
 * counters on request, or with `stats` at its end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "amalgam_counters.h"
#include "api_blob.h"
#include "api_bulk.h"
#include "mercury_macros.h"

enum { SHORT_CALLS = 5, LONG = 100000, COUNTERS_MAX = 64 };

static struct api *the;
static hg_handle_t held;
static unsigned one_way_served;
static char line[2000];

/* An hg_log_func_t; keeps the line about counters. */
static int keep_line(FILE *stream, const char *format, ...)
{
    char text[sizeof(line)];
    va_list args;

    (void)stream;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (strstr(text, "requests sent") != NULL)
        memcpy(line, text, sizeof(line));
    return 0;
}

static hg_return_t serve(hg_handle_t handle)
{
    api_blob_t in;
    api_blob_t out = {0};

    OK(the, HG_Get_input(handle, &in));
    out.len = in.answer_len;
    OK(the, HG_Free_input(handle, &in));
    if (in.seed == 1) {
        held = handle;
        return HG_SUCCESS;
    }
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    return HG_Destroy(handle);
}

static hg_return_t take(hg_handle_t handle)
{
    one_way_served++;
    return HG_Destroy(handle);
}

static uint64_t in_work_now(struct api *api)
{
    struct hg_diag_counters counters;

    OK(api, HG_Class_get_counters(api->cls, &counters));
    return counters.rpc_req_recv_active_count;
}

/* The counter of this name. */
static uint64_t counter(struct api *api, const char *name)
{
    struct amalgam_counter all[COUNTERS_MAX];
    size_t count = amalgam_counters(api->cls, all, COUNTERS_MAX);
    size_t i = 0;

    CHECK(api, count > 0 && count < COUNTERS_MAX);
    while (i < count && strcmp(all[i].name, name) != 0)
        i++;
    CHECK(api, i < count);
    return all[i].value;
}

/* A long reply is pending until the origin acknowledges its pull. */
static void expect(struct api *api, const struct hg_diag_counters *wanted)
{
    struct hg_diag_counters counters;

    api_sync(api);
    UNTIL(api, in_work_now(api) == wanted->rpc_req_recv_active_count);
    memset(&counters, 0xff, sizeof(counters));
    OK(api, HG_Class_get_counters(api->cls, &counters));
    CHECK(api, counters.rpc_req_sent_count == wanted->rpc_req_sent_count);
    CHECK(api, counters.rpc_req_recv_count == wanted->rpc_req_recv_count);
    CHECK(api, counters.rpc_resp_sent_count == wanted->rpc_resp_sent_count);
    CHECK(api, counters.rpc_resp_recv_count == wanted->rpc_resp_recv_count);
    CHECK(api, counters.rpc_req_extra_count == wanted->rpc_req_extra_count);
    CHECK(api, counters.rpc_resp_extra_count == wanted->rpc_resp_extra_count);
    CHECK(api, counters.rpc_multi_recv_copy_count == 0);
    CHECK(api, counters.bulk_count == wanted->bulk_count);
    CHECK(api, counter(api, "calls_sent") == wanted->rpc_req_sent_count);
    CHECK(api, counter(api, "calls_received") == wanted->rpc_req_recv_count);
    CHECK(api, counter(api, "answers_sent") == wanted->rpc_resp_sent_count);
    CHECK(api, counter(api, "answers_received") == wanted->rpc_resp_recv_count);
    CHECK(api, counter(api, "long_calls") == wanted->rpc_req_extra_count);
    CHECK(api, counter(api, "long_answers") == wanted->rpc_resp_extra_count);
    CHECK(api, counter(api, "bulk_transfers") == wanted->bulk_count);
    api_sync(api);
}

/* A call that the target holds, so that it is pending while we look. */
static void in_work(struct api *api, hg_id_t id, struct hg_diag_counters *sum)
{
    hg_handle_t handle = api_handle(api, id);
    api_blob_t in = {.seed = 1};
    struct api_call call;

    api_forward(api, handle, &in, &call);
    UNTIL(api, held != HG_HANDLE_NULL);
    sum->rpc_req_sent_count++;
    sum->rpc_req_recv_count++;
    sum->rpc_req_recv_active_count = 1;
    expect(api, sum);
    OK(api, HG_Respond(held, NULL, NULL, NULL));
    OK(api, HG_Destroy(held));
    OK(api, api_wait(api, &call));
    OK(api, HG_Destroy(handle));
    sum->rpc_resp_sent_count++;
    sum->rpc_resp_recv_count++;
    sum->rpc_req_recv_active_count = 0;
    expect(api, sum);
}

/* In a second context, which is closed afterwards. */
static void calls(struct api *api, hg_id_t id, struct hg_diag_counters *sum)
{
    hg_context_t *context = HG_Context_create_id(api->cls, 1);
    hg_handle_t handle = HG_HANDLE_NULL;
    api_blob_t in = {0};

    api_drive(context);
    OK(api, HG_Create(context, api->right, id, &handle));
    for (int i = 0; i < SHORT_CALLS; i++)
        OK(api, api_ask(api, handle, &in));
    in = (api_blob_t){.len = LONG, .answer_len = LONG};
    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Destroy(handle));
    sum->rpc_req_sent_count += SHORT_CALLS + 1;
    sum->rpc_req_recv_count += SHORT_CALLS + 1;
    sum->rpc_resp_sent_count += SHORT_CALLS + 1;
    sum->rpc_resp_recv_count += SHORT_CALLS + 1;
    sum->rpc_req_extra_count++;
    sum->rpc_resp_extra_count++;
    expect(api, sum);
    CHECK(api, counter(api, "long_bytes") / LONG == 2); /* one each way */
    api_drive_no_more(context);
    OK(api, HG_Context_destroy(context));
    expect(api, sum);
}

static void one_way(struct api *api, hg_id_t id, struct hg_diag_counters *sum)
{
    hg_handle_t handle = api_handle(api, id);

    OK(api, api_ask(api, handle, NULL));
    OK(api, HG_Destroy(handle));
    UNTIL(api, one_way_served == 1);
    sum->rpc_req_sent_count++;
    sum->rpc_req_recv_count++;
    expect(api, sum);
}

static void bulk(struct api *api, struct hg_diag_counters *sum)
{
    static char bytes[2][8];
    struct api_call call = {0};
    hg_bulk_t from =
        api_bulk_expose_one(api, bytes[0], sizeof(bytes[0]), HG_BULK_READWRITE);
    hg_bulk_t to =
        api_bulk_expose_one(api, bytes[1], sizeof(bytes[1]), HG_BULK_READWRITE);
    hg_addr_t self = HG_ADDR_NULL;

    OK(api, HG_Addr_self(api->cls, &self));
    OK(api, HG_Bulk_transfer(api->context, api_done, &call, HG_BULK_PULL, self,
                from, 0, to, 0, sizeof(bytes[0]), HG_OP_ID_IGNORE));
    OK(api, api_wait(api, &call));
    OK(api, HG_Bulk_free(from));
    OK(api, HG_Bulk_free(to));
    OK(api, HG_Addr_free(api->cls, self));
    sum->bulk_count++;
    expect(api, sum);
    CHECK(api, counter(api, "bulk_bytes") == sizeof(bytes[0]));
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "blob", api_blob_t, api_blob_t, serve);
    hg_id_t take_id = MERCURY_REGISTER(api->cls, "take", void, void, take);
    struct hg_diag_counters sum = {0};

    the = api;
    OK(api, HG_Registered_disable_response(api->cls, take_id, HG_TRUE));
    EXPECT(api, HG_INVALID_ARG, HG_Class_get_counters(NULL, &sum));
    EXPECT(api, HG_INVALID_ARG, HG_Class_get_counters(api->cls, NULL));
    expect(api, &sum);
    in_work(api, id, &sum);
    calls(api, id, &sum);
    one_way(api, take_id, &sum);
    bulk(api, &sum);
    HG_Set_log_func(keep_line);
    HG_Diag_dump_counters();
    CHECK(api, strstr(line, "requests sent 8, long 1, received 8") != NULL);
    CHECK(api, strstr(line, "bulk transfers 1") != NULL);
    line[0] = '\0';
}

static void tune(int rank, struct hg_init_info *info)
{
    (void)rank;
    info->stats = HG_TRUE;
    info->na_init_info.max_contexts = 2;
}

int main(int argc, char **argv)
{
    int rc = api_main(argc, argv, &(struct api_wish){.tune = tune}, test);

    if (rc == 0 && strstr(line, "requests sent 8") == NULL) {
        fprintf(stderr, "the class ended without its counters\n");
        return 1;
    }
    return rc;
}
