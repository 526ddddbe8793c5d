/* SPDX-License-Identifier: BSD-3-Clause */
/* A typical program for Mercury, in the common part of C11 and C++14: every
 * option, macros and hand-written procs, requests, bulk, an NA class. */
#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <mercury_request.h>
#include <na.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 10000
#define LEN     100000

#if HG_VERSION_MAJOR != 2 || !defined(HG_HAS_BOOST)
#error this is written for Mercury 2 with its generating macros
#endif

static void fail(int line, const char *what)
{
    fprintf(stderr, "compat_user: line %d: %s\n", line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

MERCURY_GEN_PROC(save_in_t,
    ((hg_const_string_t)(name))((hg_uint64_t)(len))((hg_bulk_t)(data)))

/* Encoded by hand, as programs do for types beyond the macros. */
typedef struct save_out {
    hg_return_t ret;
    hg_size_t sum;
    hg_bool_t is_whole;
} save_out_t;

static HG_INLINE HG_UNUSED hg_return_t hg_proc_save_out_t(
    hg_proc_t proc, void *data)
{
    save_out_t *out = (save_out_t *)data;
    hg_return_t ret = hg_proc_raw(proc, &out->ret, sizeof(out->ret));

    if (ret != HG_SUCCESS)
        return ret;
    ret = hg_proc_hg_size_t(proc, &out->sum);
    if (ret != HG_SUCCESS)
        return ret;
    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
    case HG_DECODE:
        return hg_proc_hg_bool_t(proc, &out->is_whole);
    case HG_FREE:
        out->sum = 0;
        HG_FALLTHROUGH;
    default:
        return HG_SUCCESS;
    }
}

struct program {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_request_class_t *requests;
    hg_id_t save_id;
};

/* State of the target during the transfer. */
struct save {
    hg_handle_t handle;
    hg_bulk_t local;
    save_in_t in;
    unsigned char *bytes;
};

static hg_return_t saved(const struct hg_cb_info *info)
{
    struct save *save = (struct save *)info->arg;
    save_out_t out = {info->ret, 0, HG_TRUE};

    CHECK(info->type == HG_CB_BULK && info->info.bulk.op == HG_BULK_PULL);
    CHECK(info->info.bulk.size == save->in.len);
    for (hg_size_t i = 0; i < save->in.len; i++)
        out.sum += save->bytes[i];
    CHECK(HG_Respond(save->handle, NULL, NULL, &out) == HG_SUCCESS);
    CHECK(HG_Bulk_free(save->local) == HG_SUCCESS);
    CHECK(HG_Free_input(save->handle, &save->in) == HG_SUCCESS);
    CHECK(HG_Destroy(save->handle) == HG_SUCCESS);
    free(save->bytes);
    free(save);
    return HG_SUCCESS;
}

static hg_return_t save_cb(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct save *save = (struct save *)calloc(1, sizeof(*save));
    void *ptr = NULL;

    CHECK(save != NULL && info->addr != HG_ADDR_NULL);
    save->handle = handle;
    CHECK(HG_Get_input(handle, &save->in) == HG_SUCCESS);
    CHECK(strcmp(save->in.name, "matrix") == 0);
    CHECK(HG_Bulk_get_size(save->in.data) == save->in.len);
    save->bytes = (unsigned char *)malloc(save->in.len);
    CHECK(save->bytes != NULL);
    ptr = save->bytes;
    CHECK(HG_Bulk_create(info->hg_class, 1, &ptr, &save->in.len,
              HG_BULK_WRITE_ONLY, &save->local) == HG_SUCCESS);
    CHECK(HG_Bulk_transfer(info->context, saved, save, HG_BULK_PULL, info->addr,
              save->in.data, 0, save->local, 0, save->in.len,
              HG_OP_ID_IGNORE) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Calls of requests that programs keep pointers to. */
static void (*const request_destroy)(hg_request_t *) = hg_request_destroy;
static void (*const request_complete)(hg_request_t *) = hg_request_complete;

static hg_return_t answered(const struct hg_cb_info *info)
{
    CHECK(info->ret == HG_SUCCESS && info->type == HG_CB_FORWARD);
    request_complete((hg_request_t *)info->arg);
    return HG_SUCCESS;
}

static int progress(unsigned int timeout, void *arg)
{
    struct program *program = (struct program *)arg;

    return HG_Progress(program->context, timeout) == HG_SUCCESS
               ? HG_UTIL_SUCCESS
               : HG_UTIL_FAIL;
}

static int trigger(unsigned int timeout, unsigned int *flag, void *arg)
{
    struct program *program = (struct program *)arg;
    unsigned int count = 0;

    if (HG_Trigger(program->context, timeout, 1, &count) != HG_SUCCESS)
        count = 0;
    *flag = count > 0 ? HG_UTIL_TRUE : HG_UTIL_FALSE;
    return HG_UTIL_SUCCESS;
}

static void call(struct program *program, hg_addr_t addr)
{
    static unsigned char bytes[LEN];
    void *ptr = bytes;
    hg_size_t len = LEN;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_request_t *request = hg_request_create(program->requests);
    unsigned int flag = 0;
    save_in_t in;
    save_out_t out;

    memset(bytes, 3, sizeof(bytes));
    in.name = "matrix";
    in.len = LEN;
    CHECK(request != NULL);
    CHECK(HG_Bulk_create(program->hg_class, 1, &ptr, &len, HG_BULK_READ_ONLY,
              &in.data) == HG_SUCCESS);
    CHECK(HG_Create(program->context, addr, program->save_id, &handle) ==
          HG_SUCCESS);
    CHECK(HG_Forward(handle, answered, request, &in) == HG_SUCCESS);
    CHECK(hg_request_wait(request, WAIT_MS, &flag) == HG_UTIL_SUCCESS && flag);
    CHECK(HG_Get_output(handle, &out) == HG_SUCCESS);
    CHECK(out.ret == HG_SUCCESS && out.sum == 3 * LEN && out.is_whole);
    CHECK(HG_Free_output(handle, &out) == HG_SUCCESS);
    CHECK(HG_Destroy(handle) == HG_SUCCESS);
    CHECK(HG_Bulk_free(in.data) == HG_SUCCESS);
    request_destroy(request);
}

/* Uses a class, opened in some way, and closes it. */
static void run(hg_class_t *hg_class)
{
    struct program program;
    hg_addr_t addr = HG_ADDR_NULL;
    void *arg = NULL;
    unsigned int count = 0;

    CHECK(hg_class != NULL);
    program.hg_class = hg_class;
    program.context = HG_Context_create(hg_class);
    CHECK(program.context != NULL);
    program.requests = hg_request_init(progress, trigger, &program);
    CHECK(program.requests != NULL);
    program.save_id =
        MERCURY_REGISTER(hg_class, "save", save_in_t, save_out_t, save_cb);
    CHECK(program.save_id != 0);
    CHECK(HG_Addr_self(hg_class, &addr) == HG_SUCCESS);
    call(&program, addr);
    CHECK(HG_Addr_free(hg_class, addr) == HG_SUCCESS);
    hg_request_finalize(program.requests, &arg);
    CHECK(arg == &program);
    while (HG_Trigger(program.context, 0, 1, &count) == HG_SUCCESS)
        continue;
    CHECK(HG_Context_destroy(program.context) == HG_SUCCESS);
    CHECK(HG_Finalize(hg_class) == HG_SUCCESS);
}

static void na_options_set(struct na_init_info_4_0 *na)
{
    na->ip_subnet = "127.0.0.0/8";
    na->auth_key = "1:2";
    na->max_unexpected_size = 8192;
    na->max_expected_size = 4096;
    na->progress_mode = NA_NO_BLOCK | NA_NO_RETRY;
    na->addr_format = NA_ADDR_NATIVE;
    na->max_contexts = 2;
    na->thread_mode = NA_THREAD_MODE_SINGLE;
    na->request_mem_device = true;
}

/* Every field has a value that is not its default. */
static void options_set(struct hg_init_info *info)
{
    *info = HG_INIT_INFO_INITIALIZER;
    na_options_set(&info->na_init_info);
    info->na_class = NULL;
    info->request_post_init = 64;
    info->request_post_incr = -1;
    info->auto_sm = HG_TRUE;
    info->sm_info_string = "name";
    info->checksum_level = HG_CHECKSUM_RPC_PAYLOAD;
    info->no_bulk_eager = HG_TRUE;
    info->no_loopback = HG_TRUE;
    info->stats = HG_FALSE; /* would fill the test's output */
    info->no_multi_recv = HG_TRUE;
    info->release_input_early = HG_TRUE;
    info->traffic_class = NA_TC_LOW_LATENCY;
    info->no_overflow = true;
    info->multi_recv_op_max = 8;
    info->multi_recv_copy_threshold = 2;
}

static void versions(void)
{
    struct hg_init_info info;

    CHECK(HG_VERSION_GE(HG_VERSION(2, 4), HG_VERSION(2, 3)));
    CHECK(HG_VERSION_LT(HG_VERSION(2, 2), HG_VERSION(2, 3)));
    CHECK(HG_MAJOR(HG_VERSION(2, 4)) == 2 && HG_MINOR(HG_VERSION(2, 4)) == 4);
    options_set(&info);
    run(HG_Init("self", HG_TRUE));
    run(HG_Init_opt("self", HG_TRUE, &info));
    run(HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 2), &info));
    run(HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 3), &info));
    run(HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 4), &info));
    run(HG_Init_opt2("self", HG_TRUE, 0, NULL));
    /* A field of version 2.4 is ignored for earlier ones. */
    info.multi_recv_copy_threshold = 9;
    run(HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 2), &info));
    run(HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 3), &info));
    HG_Set_log_level("none");
    CHECK(HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 4), &info) == NULL);
    HG_Set_log_level("warning");
}

/* The NA class is opened first. */
static void na_class(void)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    struct na_init_info na_info = NA_INIT_INFO_INITIALIZER;
    na_class_t *na = NULL;

    na_info.max_contexts = 2;
    na_info.traffic_class = NA_TC_BULK_DATA;
    na = NA_Initialize_opt2("na+self", true, NA_VERSION(5, 0), &na_info);
    CHECK(na != NULL);
    info.na_class = na;
    run(HG_Init_opt2(NULL, HG_TRUE, HG_VERSION(2, 4), &info));
    CHECK(NA_Finalize(na) == NA_SUCCESS);
}

int main(void)
{
    versions();
    na_class();
    return EXIT_SUCCESS;
}
