/* SPDX-License-Identifier: BSD-3-Clause */
/* A service over TCP as tutorials write it: no MPI, an address that is printed
 * and looked up by a callback, a file's bytes pulled from the client, an end by
 * RPC. The size for the address is not initialised, and the server's own
 * address is never freed; a second server at its port gets an error. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"

enum { FILE_LEN = 1000003, TEXT_CAP = 128, LOG_CAP = 4096, WAIT_MS = 100 };

#define CHECK(expr) ((expr) ? (void)0 : check_fail(__FILE__, __LINE__, #expr))

MERCURY_GEN_PROC(
    save_t, ((hg_string_t)(name))((hg_size_t)(size))((hg_bulk_t)(bytes)))
MERCURY_GEN_PROC(saved_t, ((int32_t)(ret))((uint64_t)(sum)))

/* A save at the server. */
struct save {
    hg_handle_t handle;
    hg_bulk_t bulk;
    hg_size_t size;
    void *bytes;
};

static hg_class_t *cls;
static hg_context_t *context;
static int is_over;
static int32_t status;
static hg_addr_t server_addr;
static pid_t server_pid;

static void check_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    if (server_pid > 0)
        kill(server_pid, SIGKILL);
    exit(EXIT_FAILURE);
}

static uint64_t sum_of(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t sum = len;

    for (size_t i = 0; i < len; i++)
        sum = sum * 31 + at[i];
    return sum;
}

static void turn_until_over(void)
{
    while (!is_over) {
        unsigned count = 0;
        hg_return_t rc = HG_SUCCESS;

        do
            rc = HG_Trigger(context, 0, 1, &count);
        while (rc == HG_SUCCESS && count > 0 && !is_over);
        (void)HG_Progress(context, WAIT_MS);
    }
}

/* No part of MPI is loaded in this process. */
static void maps_check(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");

    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL)
        CHECK(strstr(line, "libmpi") == NULL &&
              strstr(line, "libamalgam_mpi") == NULL);
    fclose(maps);
}

static hg_return_t save_pulled(const struct hg_cb_info *info)
{
    struct save *save = info->arg;
    saved_t out = {.ret = (int32_t)info->ret};

    if (info->ret == HG_SUCCESS)
        out.sum = sum_of(save->bytes, save->size);
    CHECK(HG_Respond(save->handle, NULL, NULL, &out) == HG_SUCCESS);
    CHECK(HG_Bulk_free(save->bulk) == HG_SUCCESS);
    CHECK(HG_Destroy(save->handle) == HG_SUCCESS);
    free(save->bytes);
    free(save);
    return HG_SUCCESS;
}

static hg_return_t save_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct save *save = calloc(1, sizeof(*save));
    save_t in;

    CHECK(save != NULL);
    CHECK(HG_Get_input(handle, &in) == HG_SUCCESS);
    CHECK(strcmp(in.name, "a file") == 0);
    CHECK(*(int *)HG_Registered_data(info->hg_class, info->id) == FILE_LEN);
    save->handle = handle;
    save->size = in.size;
    save->bytes = calloc(1, in.size);
    CHECK(HG_Bulk_create(info->hg_class, 1, &save->bytes, &save->size,
              HG_BULK_WRITE_ONLY, &save->bulk) == HG_SUCCESS);
    CHECK(HG_Bulk_transfer(context, save_pulled, save, HG_BULK_PULL, info->addr,
              in.bytes, 0, save->bulk, 0, save->size,
              HG_OP_ID_IGNORE) == HG_SUCCESS);
    CHECK(HG_Free_input(handle, &in) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t stop_serve(hg_handle_t handle)
{
    is_over = 1;
    return HG_Destroy(handle);
}

/* As if the size were not initialised. */
static void address_write(void)
{
    static hg_addr_t self; /* so that no sanitizer reports a leak */
    char text[TEXT_CAP] = "";
    hg_size_t size = 0;

    CHECK(HG_Addr_self(cls, &self) == HG_SUCCESS);
    HG_Set_log_level("none");
    CHECK(HG_Addr_to_string(cls, text, &size, self) == HG_OVERFLOW);
    CHECK(text[0] == '\0' && size > 0 && size <= sizeof(text));
    HG_Set_log_level("warning");
    size = (hg_size_t)-1;
    CHECK(HG_Addr_to_string(cls, text, &size, self) == HG_SUCCESS);
    CHECK(write(STDOUT_FILENO, text, sizeof(text)) == (ssize_t)sizeof(text));
}

/* `self` is never freed. */
static int serve(const char *where)
{
    static int file_len = FILE_LEN;
    hg_id_t stop = 0;
    hg_id_t id = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cls = HG_Init(where, HG_TRUE);
    CHECK(cls != NULL);
    address_write();
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    id = MERCURY_REGISTER(cls, "save", save_t, saved_t, save_serve);
    CHECK(HG_Register_data(cls, id, &file_len, NULL) == HG_SUCCESS);
    stop = HG_Register_name(cls, "stop", NULL, NULL, stop_serve);
    CHECK(HG_Registered_disable_response(cls, stop, HG_TRUE) == HG_SUCCESS);
    turn_until_over();
    maps_check();
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    HG_Set_log_level("none");
    return HG_Finalize(cls) == HG_BUSY ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void server_start(const char *where, char *ret_address)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    server_pid = fork();
    CHECK(server_pid >= 0);
    if (server_pid == 0) {
        CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
        execl("/proc/self/exe", "server", where, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    CHECK(read(ends[0], ret_address, TEXT_CAP) == TEXT_CAP);
    close(ends[0]);
}

static hg_return_t found(const struct hg_cb_info *info)
{
    CHECK(info->ret == HG_SUCCESS);
    server_addr = info->info.lookup.addr;
    is_over = 1;
    return HG_SUCCESS;
}

static hg_return_t saved(const struct hg_cb_info *info)
{
    saved_t out;

    CHECK(info->ret == HG_SUCCESS);
    CHECK(HG_Get_output(info->info.forward.handle, &out) == HG_SUCCESS);
    status = out.ret;
    CHECK(out.sum == *(const uint64_t *)info->arg);
    CHECK(HG_Free_output(info->info.forward.handle, &out) == HG_SUCCESS);
    CHECK(HG_Destroy(info->info.forward.handle) == HG_SUCCESS);
    is_over = 1;
    return HG_SUCCESS;
}

static void file_send(hg_id_t id)
{
    save_t in = {.name = "a file", .size = FILE_LEN};
    void *bytes = malloc(FILE_LEN);
    hg_handle_t handle = HG_HANDLE_NULL;
    uint64_t sum = 0;

    CHECK(bytes != NULL);
    for (unsigned i = 0; i < FILE_LEN; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(i * 7 >> 3);
    sum = sum_of(bytes, FILE_LEN);
    CHECK(HG_Bulk_create(cls, 1, &bytes, &in.size, HG_BULK_READ_ONLY,
              &in.bytes) == HG_SUCCESS);
    CHECK(HG_Create(context, server_addr, id, &handle) == HG_SUCCESS);
    is_over = 0;
    CHECK(HG_Forward(handle, saved, &sum, &in) == HG_SUCCESS);
    turn_until_over();
    CHECK(status == 0);
    CHECK(HG_Bulk_free(in.bytes) == HG_SUCCESS);
    free(bytes);
}

static void client(const char *address)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t stop = 0;
    hg_id_t id = 0;

    cls = HG_Init("tcp", HG_FALSE);
    CHECK(cls != NULL);
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    id = MERCURY_REGISTER(cls, "save", save_t, saved_t, NULL);
    stop = HG_Register_name(cls, "stop", NULL, NULL, NULL);
    CHECK(HG_Registered_disable_response(cls, stop, HG_TRUE) == HG_SUCCESS);
    is_over = 0;
    CHECK(HG_Addr_lookup(context, found, NULL, address, HG_OP_ID_IGNORE) ==
          HG_SUCCESS);
    turn_until_over();
    file_send(id);
    file_send(id);
    /* Forwarded, destroyed, and the class closed at once: the request still
     * leaves. */
    CHECK(HG_Create(context, server_addr, stop, &handle) == HG_SUCCESS);
    CHECK(HG_Forward(handle, NULL, NULL, NULL) == HG_SUCCESS);
    CHECK(HG_Destroy(handle) == HG_SUCCESS);
    CHECK(HG_Addr_free(cls, server_addr) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
}

/* "tcp://127.0.0.1:PORT" once more. */
static void port_taken(const char *address)
{
    char log[LOG_CAP] = "";
    char where[TEXT_CAP];
    FILE *stream = fmemopen(log, sizeof(log), "w");

    CHECK(stream != NULL);
    snprintf(where, sizeof(where), "tcp://127.0.0.1%s", strrchr(address, ':'));
    HG_Set_log_stream("error", stream);
    CHECK(HG_Init(where, HG_TRUE) == NULL);
    HG_Set_log_stream("error", stderr);
    fclose(stream);
    printf("%s", log);
    CHECK(strstr(log, strrchr(address, ':') + 1) != NULL);
    CHECK(strstr(log, "another program uses that port") != NULL);
}

static void service(const char *where, char *ret_address)
{
    int end = 0;

    server_start(where, ret_address);
    printf("%s: reached at %s\n", where, ret_address);
    port_taken(ret_address);
    client(ret_address);
    CHECK(waitpid(server_pid, &end, 0) == server_pid);
    server_pid = 0;
    CHECK(WIFEXITED(end) && WEXITSTATUS(end) == EXIT_SUCCESS);
    maps_check();
}

int main(int argc, char **argv)
{
    char address[TEXT_CAP];
    char again[TEXT_CAP];
    char where[TEXT_CAP];

    if (argc > 1)
        return serve(argv[1]);
    service("tcp://127.0.0.1", address);
    /* The port that was taken a moment ago, by its number. */
    snprintf(where, sizeof(where), "tcp://127.0.0.1%s", strrchr(address, ':'));
    service(where, again);
    CHECK(strcmp(address, again) == 0);
    return EXIT_SUCCESS;
}
