/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles, bulk handles, addresses, requests, contexts and classes that were
 * freed may be given to any call: it returns an error, writes one line that
 * names call and object, and the program goes on. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "mercury_bulk.h"
#include "mercury_macros.h"
#include "mercury_request.h"

enum { LEN = 100 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static unsigned lines;
static char line[512];
static unsigned served;

/* Keeps the lines of the library. */
static int listen_to(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    lines++;
    return len;
}

static void said(struct api *api, const char *call, const void *object)
{
    char pointer[32];

    snprintf(pointer, sizeof(pointer), "%p", object);
    CHECK(api, lines == 1);
    CHECK(api, strstr(line, call) != NULL);
    CHECK(api, strstr(line, pointer) != NULL);
    lines = 0;
}

/* The call fails and logs it. */
#define GONE(api, name, object, ...)                                           \
    (EXPECT(api, HG_INVALID_ARG, name(__VA_ARGS__)), said(api, #name, (object)))

static void handles(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    hg_handle_t other = HG_HANDLE_NULL;
    number_t number = {1};

    OK(api, HG_Destroy(handle));
    GONE(api, HG_Destroy, handle, handle);
    GONE(api, HG_Destroy, handle, handle);
    GONE(api, HG_Ref_incr, handle, handle);
    GONE(api, HG_Reset, handle, handle, HG_ADDR_NULL, 0);
    GONE(api, HG_Forward, handle, handle, NULL, NULL, &number);
    GONE(api, HG_Cancel, handle, handle);
    GONE(api, HG_Respond, handle, handle, NULL, NULL, NULL);
    GONE(api, HG_Get_input, handle, handle, &number);
    GONE(api, HG_Free_output, handle, handle, &number);
    GONE(api, HG_Set_data, handle, handle, NULL, NULL);
    CHECK(api, HG_Get_info(handle) == NULL);
    said(api, "HG_Get_info", handle);
    /* Two handles never have the same address. */
    handle = api_handle(api, id);
    other = api_handle(api, id);
    CHECK(api, handle != other);
    OK(api, HG_Destroy(handle));
    OK(api, HG_Destroy(other));
}

static hg_return_t serve(hg_handle_t handle)
{
    number_t number = {0};

    /* Without a get HG_Free_input() would drop a reference, as Mercury's. */
    if (HG_Get_input_payload_size(handle) > 0) {
        OK(the, HG_Get_input(handle, &number));
        OK(the, HG_Free_input(handle, &number));
        lines = 0;
        GONE(the, HG_Free_input, handle, handle, &number);
        GONE(the, HG_Free_input, handle, handle, &number);
    }
    OK(the, HG_Respond(handle, NULL, NULL, &number));
    OK(the, HG_Free_output(handle, &number)); /* the program's own */
    OK(the, HG_Destroy(handle));
    served++;
    return HG_SUCCESS;
}

static void arguments(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    number_t number = {7};

    for (unsigned i = 0; i < 3; i++)
        OK(api, api_ask(api, handle, i == 1 ? NULL : &number));
    OK(api, HG_Get_output(handle, &number));
    OK(api, HG_Free_output(handle, &number));
    lines = 0;
    GONE(api, HG_Free_output, handle, handle, &number);
    OK(api, HG_Destroy(handle));
    UNTIL(api, served == 3);
}

static void bulk_handles(struct api *api)
{
    static char bytes[LEN];
    void *ptr = bytes;
    hg_size_t len = LEN;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_bulk_t local = HG_BULK_NULL;
    char packed[512];

    OK(api, HG_Bulk_create(api->cls, 1, &ptr, &len, HG_BULK_READWRITE, &local));
    OK(api, HG_Bulk_create(api->cls, 1, &ptr, &len, HG_BULK_READWRITE, &bulk));
    OK(api, HG_Bulk_free(bulk));
    lines = 0;
    GONE(api, HG_Bulk_free, bulk, bulk);
    GONE(api, HG_Bulk_ref_incr, bulk, bulk);
    GONE(api, HG_Bulk_bind, bulk, bulk, api->context);
    GONE(api, HG_Bulk_serialize, bulk, packed, sizeof(packed), 0, bulk);
    EXPECT(api, HG_INVALID_ARG,
        HG_Bulk_transfer(api->context, api_done, NULL, HG_BULK_PULL, api->right,
            bulk, 0, local, 0, LEN, HG_OP_ID_IGNORE));
    said(api, "HG_Bulk_transfer", bulk);
    OK(api, HG_Bulk_free(local));
}

static void addresses(struct api *api)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_addr_t copy = HG_ADDR_NULL;

    OK(api, HG_Addr_self(api->cls, &addr));
    OK(api, HG_Addr_free(api->cls, addr));
    GONE(api, HG_Addr_free, addr, api->cls, addr);
    GONE(api, HG_Addr_dup, addr, api->cls, addr, &copy);
}

static int progress(unsigned timeout, void *arg)
{
    (void)timeout;
    (void)arg;
    return HG_UTIL_SUCCESS;
}

static int trigger(unsigned timeout, unsigned *flag, void *arg)
{
    (void)timeout;
    (void)arg;
    *flag = 0;
    return HG_UTIL_SUCCESS;
}

static void requests(struct api *api)
{
    hg_request_class_t *cls = hg_request_init(progress, trigger, NULL);
    hg_request_t *request = hg_request_create(cls);
    unsigned flag = 0;

    (void)hg_request_complete(request);
    CHECK(api, hg_request_wait(request, 1, &flag) == HG_UTIL_SUCCESS && flag);
    CHECK(api, hg_request_wait(request, 1, &flag) == HG_UTIL_SUCCESS && flag);
    (void)hg_request_destroy(request);
    lines = 0;
    CHECK(api, hg_request_wait(request, 1, &flag) == HG_UTIL_FAIL);
    said(api, "hg_request_wait", request);
    (void)hg_request_destroy(request);
    said(api, "hg_request_destroy", request);
    (void)hg_request_complete(request);
    said(api, "hg_request_complete", request);
    (void)hg_request_finalize(cls, NULL);
}

static void classes(struct api *api)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    hg_context_t *context = HG_Context_create(cls);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t addr = HG_ADDR_NULL;

    CHECK(api, context != NULL);
    OK(api, HG_Context_destroy(context));
    lines = 0;
    GONE(api, HG_Progress, context, context, 0);
    GONE(api, HG_Trigger, context, context, 0, 1, NULL);
    GONE(api, HG_Create, context, context, HG_ADDR_NULL, 0, &handle);
    GONE(api, HG_Context_destroy, context, context);
    OK(api, HG_Finalize(cls));
    lines = 0;
    GONE(api, HG_Finalize, cls, cls);
    GONE(api, HG_Addr_self, cls, cls, &addr);
    CHECK(api, HG_Context_create(cls) == NULL);
    said(api, "HG_Context_create", cls);
    CHECK(api, HG_Register_name(cls, "late", NULL, NULL, NULL) == 0);
    said(api, "HG_Register_name", cls);
}

static void test(struct api *api)
{
    hg_id_t id =
        MERCURY_REGISTER(api->cls, "number", number_t, number_t, serve);

    the = api;
    HG_Set_log_func(listen_to);
    api_sync(api);
    lines = 0;
    handles(api, id);
    bulk_handles(api);
    addresses(api);
    requests(api);
    classes(api);
    api_sync(api);
    arguments(api, id);
    api_sync(api);
    HG_Set_log_func(fprintf);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
