/* SPDX-License-Identifier: BSD-3-Clause */
/* When the n-th allocation fails, every public call returns HG_NOMEM or works,
 * and nothing leaks; n = 1, 2, ... until none fails. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"
#include "na.h"

enum { N_MAX = 3000, DEADLINE_MS = 30000, LONG_LEN = 50000, BURST = 40 };

MERCURY_GEN_PROC(args_t, ((hg_string_t)(text))((hg_bulk_t)(bulk)))

static uint64_t fail_at; /* the n of this run, for messages */
static unsigned in_flight;
static hg_class_t *cls;
static hg_context_t *context;
static hg_addr_t self;

/* Time that no wait really takes: HG_Context_destroy() gives the origin of a
 * long reply 5 s, and one without memory never pulls it. */
static uint64_t skipped_ns;

int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    uint64_t now_ns = 0;
    int rc = (int)syscall(SYS_clock_gettime, clock, ret_now);

    now_ns = (uint64_t)ret_now->tv_nsec + skipped_ns;
    ret_now->tv_sec += (time_t)(now_ns / (1000 * AMG_NS_PER_MS));
    ret_now->tv_nsec = (long)(now_ns % (1000 * AMG_NS_PER_MS));
    return rc;
}

int epoll_pwait2(int fd, struct epoll_event *events, int cap,
    const struct timespec *timeout, const sigset_t *mask)
{
    static const struct timespec at_once;
    int count = (int)syscall(SYS_epoll_pwait2, fd, events, cap,
        timeout == NULL ? NULL : &at_once, mask, sizeof(uint64_t));

    if (count == 0 && timeout != NULL)
        skipped_ns += (uint64_t)timeout->tv_sec * 1000 * AMG_NS_PER_MS +
                      (uint64_t)timeout->tv_nsec;
    return count;
}

static void fail(int line, const char *what)
{
    fprintf(stderr, "alloc_nth: allocation %llu failing: line %d: %s\n",
        (unsigned long long)fail_at, line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

/* A call that allocates succeeded, or returned the reason. */
static bool is_well(hg_return_t rc, int line)
{
    if (rc != HG_SUCCESS && rc != HG_NOMEM)
        fail(line, HG_Error_to_string(rc));
    return rc == HG_SUCCESS;
}

#define WELL(call) is_well((call), __LINE__)

static hg_return_t ended(const struct hg_cb_info *info)
{
    args_t out;

    CHECK(in_flight > 0);
    in_flight--;
    /* A target without memory refuses, or drops the call without a reply. */
    CHECK(info->ret == HG_SUCCESS || info->ret == HG_NOMEM ||
          info->ret == HG_CANCELED);
    if (info->type != HG_CB_FORWARD || info->ret != HG_SUCCESS)
        return HG_SUCCESS;
    if (WELL(HG_Get_output(info->info.forward.handle, &out)))
        CHECK(HG_Free_output(info->info.forward.handle, &out) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    args_t args;

    if (WELL(HG_Get_input(handle, &args))) {
        (void)WELL(HG_Respond(handle, NULL, NULL, &args));
        CHECK(HG_Free_input(handle, &args) == HG_SUCCESS);
    }
    return HG_Destroy(handle);
}

static void drive(void)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(DEADLINE_MS);
    unsigned count = 1;

    while (in_flight > 0 || count > 0) {
        CHECK(HG_Event_progress(context, NULL) == HG_SUCCESS);
        CHECK(HG_Event_trigger(context, 1, &count) == HG_SUCCESS);
        CHECK(amg_clock_ns() < deadline_ns);
        if (count == 0)
            sched_yield();
    }
}

static void calls_run(hg_id_t id, hg_bulk_t bulk)
{
    static char text[LONG_LEN];
    hg_handle_t handles[BURST];
    unsigned count = 0;
    args_t args = {text, bulk};

    memset(text, 'x', LONG_LEN - 1);
    for (unsigned i = 0; i < BURST; i++) {
        /* One does not fit in a message. */
        args.text = i == 9 ? text : "short";
        if (!WELL(HG_Create(context, self, id, &handles[count])))
            continue;
        if (WELL(HG_Forward(handles[count], ended, NULL, &args)))
            in_flight++;
        count++;
    }
    drive();
    for (unsigned i = 0; i < count; i++)
        CHECK(HG_Destroy(handles[i]) == HG_SUCCESS);
}

static void bulk_run(hg_bulk_t origin)
{
    static uint8_t bytes[LONG_LEN];
    void *ptr = bytes;
    const hg_size_t len = LONG_LEN;
    hg_bulk_t local = HG_BULK_NULL;
    hg_bulk_t copy = HG_BULK_NULL;
    uint8_t packed[512];

    if (!WELL(HG_Bulk_create(cls, 1, &ptr, &len, HG_BULK_READWRITE, &local)))
        return;
    (void)WELL(HG_Bulk_bind(local, context));
    if (WELL(HG_Bulk_serialize(packed, sizeof(packed), 0, origin)) &&
        WELL(HG_Bulk_deserialize(cls, &copy, packed, sizeof(packed)))) {
        if (WELL(HG_Bulk_transfer(context, ended, NULL, HG_BULK_PULL, self,
                copy, 0, local, 0, LONG_LEN, HG_OP_ID_IGNORE)))
            in_flight++;
        drive();
        CHECK(HG_Bulk_free(copy) == HG_SUCCESS);
    }
    CHECK(HG_Bulk_free(local) == HG_SUCCESS);
}

static hg_return_t looked_up(const struct hg_cb_info *info)
{
    CHECK(in_flight > 0);
    in_flight--;
    return HG_Addr_free(cls, info->info.lookup.addr);
}

static void work(hg_id_t id)
{
    const hg_size_t lens[2] = {LONG_LEN, 10};
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_addr_t copy = HG_ADDR_NULL;
    char text[128];
    hg_size_t text_len = sizeof(text);

    if (WELL(HG_Addr_dup(cls, self, &copy)))
        CHECK(HG_Addr_free(cls, copy) == HG_SUCCESS);
    CHECK(HG_Addr_to_string(cls, text, &text_len, self) == HG_SUCCESS);
    if (WELL(HG_Addr_lookup1(context, looked_up, NULL, text, HG_OP_ID_IGNORE)))
        in_flight++;
    (void)WELL(HG_Bulk_create(cls, 2, NULL, lens, HG_BULK_READ_ONLY, &bulk));
    calls_run(id, bulk);
    if (bulk != HG_BULK_NULL) {
        bulk_run(bulk);
        CHECK(HG_Bulk_free(bulk) == HG_SUCCESS);
    }
}

/* One whole life of a class; over an NA class, or NULL. */
static void live_over(na_class_t *na)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    hg_id_t id = 0;

    info.na_class = na;
    cls = HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 4), &info);
    if (cls == NULL)
        return;
    id = MERCURY_REGISTER(cls, "args", args_t, args_t, serve);
    context = HG_Context_create(cls);
    self = HG_ADDR_NULL;
    (void)WELL(HG_Addr_self(cls, &self));
    if (id != 0 && context != NULL && self != HG_ADDR_NULL)
        work(id);
    CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    if (context != NULL)
        CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
}

static void protocols_list(void)
{
    struct na_protocol_info *list = NULL;

    if (!WELL(HG_Get_na_protocol_info(NULL, &list)))
        return;
    CHECK(list != NULL);
    HG_Free_na_protocol_info(list);
}

static void live(void)
{
    na_class_t *na = NULL;

    protocols_list();
    live_over(NULL);
    na = NA_Initialize("self", true);
    if (na == NULL)
        return;
    live_over(na);
    CHECK(NA_Finalize(na) == NA_SUCCESS);
}

int main(void)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    bool has_failed = true;

    HG_Set_log_level("none");
    for (fail_at = 1; has_failed; fail_at++) {
        CHECK(fail_at <= N_MAX);
        amg_mem_stats_get(&before);
        amg_mem_fail_nth(fail_at);
        live();
        amg_mem_fail_nth(0);
        amg_mem_stats_get(&after);
        CHECK(after.live == before.live);
        /* A failed allocation is not counted. */
        has_failed = after.calls - before.calls >= fail_at - 1;
    }
    printf(
        "%llu allocations failed in turn\n", (unsigned long long)(fail_at - 2));
    return EXIT_SUCCESS;
}
