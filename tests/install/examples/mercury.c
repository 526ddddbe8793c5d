/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the examples of the pages HG_*.3: a server, and its client, which is the
 * parent process. Exit code 0: each call ended as it must. */
#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

/* As in HG_Bulk_create.c. */
struct sending {
    hg_bulk_t bulk;
    hg_return_t ret;
    bool is_over;
};

/* The examples. */
int serve(hg_rpc_cb_t sum);
hg_id_t sum_register(hg_class_t *hg_class, hg_rpc_cb_t handler, void *data);
hg_return_t sum_cb(hg_handle_t handle);
hg_return_t save_cb(hg_handle_t handle);
void loop(hg_context_t *context, const bool *is_over);
hg_addr_t server_find(hg_class_t *hg_class, const char *path);
hg_return_t sum_call(hg_context_t *context, hg_addr_t server, hg_id_t id,
    hg_cb_t answered, void *arg);
hg_return_t sum_answered(const struct hg_cb_info *info);
hg_return_t call(hg_context_t *context, hg_handle_t handle, void *input);
hg_return_t save_send(
    hg_handle_t handle, void *bytes, hg_size_t len, struct sending *sending);
hg_return_t call_within(
    hg_context_t *context, hg_handle_t handle, void *input, double limit_s);

static hg_handle_t kept = HG_HANDLE_NULL;
static bool is_over;

static void failed(const char *what, int line)
{
    fprintf(stderr, "FAILED: line %d: %s\n", line, what);
    exit(1);
}

/* A handler that does not answer, until the client says stop. */
static hg_return_t later(hg_handle_t handle)
{
    kept = handle;
    return HG_SUCCESS;
}

static hg_return_t stop(hg_handle_t handle)
{
    HG_Respond(kept, NULL, NULL, NULL);
    HG_Destroy(kept);
    HG_Respond(handle, NULL, NULL, NULL);
    is_over = true;
    return HG_Destroy(handle);
}

static void names_register(hg_class_t *hg_class, hg_id_t ret_ids[3])
{
    ret_ids[0] =
        HG_Register_name(hg_class, "save", hg_proc_hg_bulk_t, NULL, save_cb);
    ret_ids[1] = HG_Register_name(hg_class, "later", NULL, NULL, later);
    ret_ids[2] = HG_Register_name(hg_class, "stop", NULL, NULL, stop);
}

static int server_main(const char *path)
{
    hg_class_t *hg_class = NULL;
    hg_context_t *context = NULL;
    hg_addr_t self = HG_ADDR_NULL;
    char address[256];
    char part[256];
    hg_size_t len = sizeof(address);
    hg_id_t ids[3];
    FILE *file = NULL;

    CHECK(serve(sum_cb) == 0); /* this one ends at once */
    hg_class = HG_Init("na+sm", HG_TRUE);
    CHECK(hg_class != NULL);
    sum_register(hg_class, sum_cb, NULL);
    names_register(hg_class, ids);
    context = HG_Context_create(hg_class);
    HG_Addr_self(hg_class, &self);
    HG_Addr_to_string(hg_class, address, &len, self);
    HG_Addr_free(hg_class, self);
    snprintf(part, sizeof(part), "%s.part", path);
    file = fopen(part, "w");
    CHECK(file != NULL);
    fprintf(file, "%s\n", address);
    fclose(file);
    CHECK(rename(part, path) == 0);
    loop(context, &is_over);
    HG_Context_destroy(context);
    return HG_Finalize(hg_class) == HG_SUCCESS ? 0 : 1;
}

static void progress(hg_context_t *context)
{
    HG_Progress(context, 100);
    while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
        continue;
}

static hg_handle_t handle_to(
    hg_context_t *context, hg_addr_t server, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK(HG_Create(context, server, id, &handle) == HG_SUCCESS);
    return handle;
}

/* The sum twice: by a callback, and by the loop of HG_Trigger.3. */
static void sums_ask(hg_context_t *context, hg_addr_t server, hg_id_t id)
{
    pair_t in = {3, 4};
    int32_t sum = 0;
    hg_handle_t handle = handle_to(context, server, id);

    CHECK(sum_call(context, server, id, sum_answered, &sum) == HG_SUCCESS);
    while (sum == 0)
        progress(context);
    CHECK(sum == 42);
    CHECK(call(context, handle, &in) == HG_SUCCESS);
    CHECK(HG_Get_output(handle, &sum) == HG_SUCCESS);
    CHECK(sum == 7);
    HG_Free_output(handle, &sum);
    CHECK(call_within(context, handle, &in, 60) == HG_SUCCESS);
    HG_Destroy(handle);
}

static void bytes_save(hg_context_t *context, hg_addr_t server, hg_id_t id)
{
    enum { LEN = 1000000 };
    void *bytes = calloc(1, LEN);
    struct sending sending;
    hg_handle_t handle = handle_to(context, server, id);

    CHECK(bytes != NULL);
    CHECK(save_send(handle, bytes, LEN, &sending) == HG_SUCCESS);
    while (!sending.is_over)
        progress(context);
    CHECK(sending.ret == HG_SUCCESS);
    HG_Destroy(handle);
    free(bytes);
}

static void client_main(const char *path)
{
    hg_class_t *hg_class = HG_Init("na+sm", HG_FALSE);
    hg_context_t *context = NULL;
    hg_addr_t server = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t ids[3];
    hg_id_t sum_id = 0;

    CHECK(hg_class != NULL);
    context = HG_Context_create(hg_class);
    sum_id = sum_register(hg_class, NULL, NULL);
    names_register(hg_class, ids);
    CHECK(server_find(hg_class, "/no/such/file") == HG_ADDR_NULL);
    while (server == HG_ADDR_NULL) {
        CHECK(waitpid(-1, NULL, WNOHANG) == 0); /* the server is alive */
        server = server_find(hg_class, path);
    }
    sums_ask(context, server, sum_id);
    bytes_save(context, server, ids[0]);
    handle = handle_to(context, server, ids[1]);
    CHECK(call_within(context, handle, NULL, 0.05) == HG_CANCELED);
    HG_Destroy(handle);
    handle = handle_to(context, server, ids[2]);
    CHECK(call_within(context, handle, NULL, 60) == HG_SUCCESS);
    HG_Destroy(handle);
    HG_Addr_free(hg_class, server);
    HG_Context_destroy(context);
    CHECK(HG_Finalize(hg_class) == HG_SUCCESS);
}

int main(int argc, char **argv)
{
    int status = 0;
    pid_t server = -1;

    CHECK(argc == 2); /* the file that gets the server's address */
    server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a client that failed leaves none */
        return server_main(argv[1]);
    }
    client_main(argv[1]);
    CHECK(waitpid(server, &status, 0) == server && status == 0);
    return 0;
}
