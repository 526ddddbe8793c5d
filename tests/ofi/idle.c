/* SPDX-License-Identifier: BSD-3-Clause */
/* A server and its client that wait for work, blocked in HG_Progress(): they
 * use next to nothing of a core, and the memory of a process with a class and a
 * context is bounded. Argument: "tcp", "net" or "shm". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mercury.h"
#include "servers.h"

enum {
    TIMEOUT_MS = 700,
    SECONDS = 3,
    PERCENT_MAX = 15, /* generous: for sanitizers on a busy machine */
    RESIDENT_MAX_KIB = 24 * 1024,
};

static double now_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Blocks in progress. Returns its cost, in percent of a core. */
static double idle(hg_context_t *context, double seconds)
{
    double begin_s = now_s(CLOCK_MONOTONIC);
    double used_s = now_s(CLOCK_PROCESS_CPUTIME_ID);

    while (now_s(CLOCK_MONOTONIC) - begin_s < seconds) {
        hg_return_t rc = HG_Progress(context, TIMEOUT_MS);

        CHECK(rc == HG_SUCCESS || rc == HG_TIMEOUT);
    }
    return 100 * (now_s(CLOCK_PROCESS_CPUTIME_ID) - used_s) /
           (now_s(CLOCK_MONOTONIC) - begin_s);
}

static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "VmRSS: %ld kB", &kib);
    fclose(file);
    return kib;
}

static hg_return_t serve_idle(hg_handle_t handle)
{
    unsigned *asked = HG_Registered_data(
        HG_Get_info(handle)->hg_class, HG_Get_info(handle)->id);

    (*asked)++;
    CHECK(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t answered(const struct hg_cb_info *info)
{
    CHECK(info->ret == HG_SUCCESS);
    (*(unsigned *)info->arg)++;
    return HG_Destroy(info->info.forward.handle);
}

static void until(hg_context_t *context, const unsigned *count)
{
    while (*count == 0) {
        unsigned ran = 0;

        (void)HG_Progress(context, 100);
        (void)HG_Trigger(context, 0, 1, &ran);
    }
}

static hg_context_t *open_at(const char *where, unsigned *asked, hg_id_t *id)
{
    hg_class_t *cls = HG_Init(where, HG_TRUE);
    hg_context_t *context = NULL;

    CHECK(cls != NULL);
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    *id = HG_Register_name(cls, "idle", NULL, NULL, serve_idle);
    CHECK(HG_Register_data(cls, *id, asked, NULL) == HG_SUCCESS);
    return context;
}

static void close_all(hg_context_t *context, hg_addr_t addr)
{
    hg_class_t *cls = HG_Context_get_class(context);

    CHECK(HG_Addr_free(cls, addr) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
}

static void tell(const char *who, double percent)
{
    printf("%s: %.2f %% of a core, %ld KiB resident\n", who, percent,
        resident_kib());
    fflush(stdout);
    CHECK(percent < PERCENT_MAX);
}

static void memory_check(const char *who)
{
    printf("%s: %ld KiB resident with one context\n", who, resident_kib());
#ifdef NDEBUG /* not with the shadow memory of a sanitizer */
    CHECK(resident_kib() <= RESIDENT_MAX_KIB);
#endif
}

static void serve(const char *where, int fd, double seconds)
{
    unsigned asked = 0;
    hg_id_t id = 0;
    hg_context_t *context = open_at(where, &asked, &id);
    char text[SERVERS_TEXT_CAP] = "";
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memory_check("server");
    CHECK(HG_Addr_self(HG_Context_get_class(context), &self) == HG_SUCCESS);
    CHECK(HG_Addr_to_string(HG_Context_get_class(context), text, &len, self) ==
          HG_SUCCESS);
    CHECK(write(fd, text, sizeof(text)) == (ssize_t)sizeof(text));
    until(context, &asked);
    tell("server", idle(context, seconds));
    asked = 0;
    until(context, &asked);
    close_all(context, self); /* the answer still leaves */
    exit(EXIT_SUCCESS);
}

static void ask(hg_context_t *context, hg_addr_t addr, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned done = 0;

    CHECK(HG_Create(context, addr, id, &handle) == HG_SUCCESS);
    CHECK(HG_Forward(handle, answered, &done, NULL) == HG_SUCCESS);
    until(context, &done);
}

static void client(
    const char *where, const char *address, double seconds, pid_t pid)
{
    unsigned unused = 0;
    hg_id_t id = 0;
    hg_context_t *context = open_at(where, &unused, &id);
    hg_addr_t addr = HG_ADDR_NULL;
    int end = 0;

    memory_check("client");
    CHECK(HG_Addr_lookup2(HG_Context_get_class(context), address, &addr) ==
          HG_SUCCESS);
    ask(context, addr, id);
    tell("client", idle(context, seconds));
    ask(context, addr, id);
    close_all(context, addr);
    CHECK(waitpid(pid, &end, 0) == pid && WIFEXITED(end));
    CHECK(WEXITSTATUS(end) == EXIT_SUCCESS);
}

/* idle PROVIDER [SECONDS] */
int main(int argc, char **argv)
{
    const char *provider = argc > 1 ? argv[1] : "tcp";
    double seconds = argc > 2 ? atof(argv[2]) : SECONDS;
    char address[SERVERS_TEXT_CAP];
    char where[SERVERS_TEXT_CAP];
    int ends[2];
    pid_t pid = -1;

    snprintf(where, sizeof(where), "ofi+%s%s", provider,
        strcmp(provider, "shm") == 0 ? "" : "://127.0.0.1");
    CHECK(pipe(ends) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        serve(where, ends[1], seconds);
    close(ends[1]);
    CHECK(read(ends[0], address, sizeof(address)) == (ssize_t)sizeof(address));
    close(ends[0]);
    client(where, address, seconds, pid);
    return EXIT_SUCCESS;
}
