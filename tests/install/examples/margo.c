/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the examples of the pages margo_*.3: a server, and its client, which is
 * the parent process. Exit code 0: each call ended as it must. */
#include <margo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))

MERCURY_GEN_PROC(pair_t, ((int32_t)(x))((int32_t)(y)))

/* The examples. */
int server_run(void);
void save_serve(margo_instance_id mid);
hg_return_t sum_ask(
    margo_instance_id mid, hg_addr_t server, hg_id_t id, int32_t *ret_sum);
hg_return_t try_thrice(
    margo_instance_id mid, hg_addr_t server, hg_id_t id, void *input);
hg_return_t save_ask(
    margo_instance_id mid, hg_handle_t handle, void *bytes, hg_size_t len);

static hg_handle_t kept[3];
static unsigned kept_count;

static void failed(const char *what, int line)
{
    fprintf(stderr, "FAILED: line %d: %s\n", line, what);
    exit(1);
}

/* A handler that does not answer. */
static void later(hg_handle_t handle)
{
    CHECK(kept_count < 3);
    kept[kept_count++] = handle;
}
static DEFINE_MARGO_RPC_HANDLER(later)

    /* This process calls itself: each try reaches the handler, and ends late.
     */
    static void self_try(margo_instance_id mid, hg_addr_t self)
{
    hg_id_t id = MARGO_REGISTER(mid, "later", void, void, later);

    CHECK(try_thrice(mid, self, id, NULL) == HG_TIMEOUT);
    while (kept_count < 3)
        margo_thread_sleep(mid, 1);
    for (unsigned i = 0; i < 3; i++) {
        margo_respond(kept[i], NULL);
        margo_destroy(kept[i]);
    }
}

static void self_save(margo_instance_id mid, hg_addr_t self)
{
    enum { LEN = 1000000 };
    void *bytes = calloc(1, LEN);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t id = 0;
    hg_bool_t is_known = HG_FALSE;
    int32_t error = -1;

    CHECK(bytes != NULL);
    save_serve(mid);
    margo_registered_name(mid, "save", &id, &is_known);
    CHECK(is_known);
    CHECK(margo_create(mid, self, id, &handle) == HG_SUCCESS);
    CHECK(save_ask(mid, handle, bytes, LEN) == HG_SUCCESS);
    CHECK(margo_get_output(handle, &error) == HG_SUCCESS);
    CHECK(error == 0);
    margo_free_output(handle, &error);
    margo_destroy(handle);
    free(bytes);
}

static void server_ask(margo_instance_id mid, const char *address)
{
    pair_t in = {1, 2};
    hg_addr_t server = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t sum_id = MARGO_REGISTER(mid, "sum", pair_t, int32_t, NULL);
    hg_id_t stop_id = MARGO_REGISTER(mid, "stop", void, void, NULL);
    int32_t sum = 0;
    hg_return_t ret = HG_SUCCESS;

    CHECK(margo_addr_lookup(mid, address, &server) == HG_SUCCESS);
    CHECK(sum_ask(mid, server, sum_id, &sum) == HG_SUCCESS);
    CHECK(sum == 42);
    /* On a busy machine all three tries may end too late. */
    ret = try_thrice(mid, server, sum_id, &in);
    CHECK(ret == HG_SUCCESS || ret == HG_TIMEOUT);
    CHECK(margo_create(mid, server, stop_id, &handle) == HG_SUCCESS);
    CHECK(margo_forward(handle, NULL) == HG_SUCCESS);
    margo_destroy(handle);
    margo_addr_free(mid, server);
}

int main(void)
{
    char address[256] = "";
    int status = 0;
    int ends[2];
    pid_t server = -1;
    FILE *file = NULL;
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    hg_addr_t self = HG_ADDR_NULL;

    CHECK(pipe(ends) == 0);
    server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a client that failed leaves none */
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        return server_run();
    }
    close(ends[1]);
    file = fdopen(ends[0], "r");
    CHECK(file != NULL && fgets(address, sizeof(address), file) != NULL);
    address[strcspn(address, "\n")] = '\0';
    fclose(file);
    mid = margo_init("na+sm", MARGO_SERVER_MODE, 0, 0);
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(margo_addr_self(mid, &self) == HG_SUCCESS);
    server_ask(mid, address);
    self_save(mid, self);
    self_try(mid, self);
    margo_addr_free(mid, self);
    margo_finalize(mid);
    CHECK(waitpid(server, &status, 0) == server && status == 0);
    return 0;
}
