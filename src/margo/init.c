/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening of an instance, and the public functions for the class, the context,
 * the pools and the addresses of an instance. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_progress.h"
#include "base/assert.h"
#include "base/env.h"
#include "base/mem.h"
#include "core/class.h"
#include "init/init.h"
#include "margo-util.h"
#include "margo/config.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/log.h"
#include "margo/loop.h"
#include "margo/registry.h"
#include "margo/request.h"
#include "margo/rpc.h"

/* An instance with the structs of its parts, in one piece of memory. */
struct whole {
    struct margo_instance instance; /* first, as freeing it frees the whole */
    struct amg_margo_log log;
    struct amg_margo_config config;
    struct amg_margo_pools pools;
    struct amg_margo_loop loop;
    struct amg_margo_timers timers;
    struct amg_margo_handles handles;
    struct amg_margo_rpcs rpcs;
    struct amg_margo_services services;
    struct amg_margo_finalize finalize;
};

/* A handler that waits keeps the credit of its caller, and may make further
 * calls: nested calls between two processes need a credit for each level. So an
 * instance has more credits than HG's default of 64. */
enum { CREDITS = 1024 };

/* Arguments of the public call. */
struct open_args {
    const struct amg_margo_opener *opener;
    const char *address;
    int mode;
    const struct margo_init_info *info;
};

uint32_t amg_margo_credits(void)
{
    return amg_env_text(AMG_ENV_CREDITS) == NULL ? CREDITS : 0;
}

/* HG_Init_opt2() with more credits. */
static hg_class_t *string_open(
    const char *address, bool is_listening, const struct hg_init_info *hg_init)
{
    struct amg_init init = {
        .info = address,
        .how.is_listening = is_listening,
        .how.credits = amg_margo_credits(),
        .is_mercury = true,
    };
    hg_class_t *cls = NULL;

    if (amg_init_read_info(hg_init, &init) != HG_SUCCESS ||
        !AMG_CONTRACT_OF("margo_init", address != NULL || init.owner != NULL,
            "the address is NULL; name a transport, as na+sm"))
        return NULL;
    return amg_init_class(&init, &cls) == HG_SUCCESS ? cls : NULL;
}

/* Sets the class: the class of the init info, or a class that is opened now. */
static bool class_open(margo_instance_id mid, const struct open_args *args)
{
    const struct margo_init_info *info = args->info;
    const struct hg_init_info *hg_init = &mid->config->hg_init;
    bool is_listening = args->mode == MARGO_SERVER_MODE;

    mid->hg_class = info->hg_class;
    if (mid->hg_class == NULL && info->hg_context != NULL)
        mid->hg_class = HG_Context_get_class(info->hg_context);
    mid->owns_class = mid->hg_class == NULL;
    if (args->opener != NULL)
        mid->hg_class = args->opener->open(
            args->opener->arg, args->address, is_listening, hg_init);
    else if (mid->owns_class)
        mid->hg_class = string_open(args->address, is_listening, hg_init);
    if (mid->hg_class == NULL) {
        const char *opened = amg_init_plan_info(args->address);
        bool is_of_env = opened != args->address && strcmp(opened, "auto") != 0;

        margo_error(mid,
            "transport \"%s\"%s cannot be opened; the line before this one "
            "says why, and margo-info lists the transports",
            opened, is_of_env ? ", by AMALGAM_TRANSPORT," : "");
        return false;
    }
    mid->is_listening = HG_Class_is_listening(mid->hg_class);
    mid->is_collective =
        args->opener != NULL ||
        (mid->owns_class &&
            strcmp(HG_Class_get_name(mid->hg_class), "mpi") == 0);
    return true;
}

static bool context_open(
    margo_instance_id mid, const struct margo_init_info *info)
{
    mid->hg_context = info->hg_context;
    if (mid->hg_context != NULL)
        return true;
    mid->hg_context = HG_Context_create(mid->hg_class);
    mid->owns_context = mid->hg_context != NULL;
    if (mid->hg_context == NULL)
        margo_error(mid, "HG_Context_create() failed: no memory, or the class "
                         "has max_contexts contexts already");
    return mid->hg_context != NULL;
}

/* Opens the parts that need an open context. */
static bool services_open(
    margo_instance_id mid, const struct margo_init_info *info)
{
    bool has_core = amg_margo_pools_pin(mid);

    return amg_margo_handles_open(mid) &&
           amg_margo_monitoring_open(mid, info) &&
           amg_margo_services_open(mid) &&
           amg_margo_loop_start(mid, &amg_margo_finalize_of_loop, !has_core);
}

/* Opens all parts, after the runtime of user-level threads has started. */
static bool parts_open(
    margo_instance_id mid, const struct open_args *args, bool is_first)
{
    if (!amg_margo_pools_open(mid, args->info, is_first))
        return false;
    amg_margo_timers_init(mid);
    if (class_open(mid, args) && context_open(mid, args->info) &&
        services_open(mid, args->info))
        return true;
    if (mid->hg_class != NULL && mid->hg_context != NULL)
        amg_margo_close_network(mid);
    else if (mid->hg_class != NULL && mid->owns_class)
        (void)HG_Finalize(mid->hg_class);
    amg_margo_pools_close(mid);
    return false;
}

static margo_instance_id instance_make(const struct margo_init_info *info)
{
    struct whole *whole = amg_mem_zalloc(sizeof(*whole));
    margo_instance_id mid = NULL;

    if (whole == NULL) {
        margo_error(MARGO_INSTANCE_NULL, "no memory for an instance");
        return NULL;
    }
    mid = &whole->instance;
    mid->log = &whole->log;
    mid->config = &whole->config;
    mid->pools = &whole->pools;
    mid->loop = &whole->loop;
    mid->timers = &whole->timers;
    mid->handles = &whole->handles;
    mid->rpcs = &whole->rpcs;
    mid->services = &whole->services;
    mid->finalize = &whole->finalize;
    amg_margo_log_init(mid->log, info->logger);
    amg_bias_init(&mid->biased_lock);
    amg_margo_finalize_init(mid);
    amg_margo_rpcs_init(mid, amg_margo_serve_none);
    amg_margo_requests_open(mid);
    amg_margo_handles_init(mid);
    amg_margo_loop_init(mid);
    return mid;
}

margo_instance_id amg_margo_instance_open(const struct amg_margo_opener *opener,
    const char *address, int mode, const struct margo_init_info *info)
{
    static const struct margo_init_info none = MARGO_INIT_INFO_INITIALIZER;
    struct open_args args = {.opener = opener,
        .address = address,
        .mode = mode,
        .info = info == NULL ? &none : info};
    margo_instance_id mid = instance_make(args.info);
    bool is_first = false;

    if (mid == NULL)
        return MARGO_INSTANCE_NULL;
    amg_margo_runtime_finalize();
    if (!amg_margo_config_read(args.info, address, mode, mid->config))
        goto free_instance;
    if (opener != NULL)
        opener->adapt(opener->arg, mid->config);
    mid->max_handlers = mid->config->max_handlers;
    amg_margo_environment_set(mid->log, mid->config);
    if (!amg_margo_runtime_enter(&is_first))
        goto free_config;
    if (!parts_open(mid, &args, is_first))
        goto leave_runtime;
    amg_margo_instance_opened(mid);
    return mid;

leave_runtime:
    amg_margo_runtime_leave();
free_config:
    amg_margo_config_free(mid->config);
free_instance:
    amg_margo_instance_free(mid);
    amg_margo_runtime_finalize();
    return MARGO_INSTANCE_NULL;
}

margo_instance_id margo_init_ext(
    const char *addr_str, int mode, const struct margo_init_info *args)
{
    return amg_margo_instance_open(NULL, addr_str, mode, args);
}

static margo_instance_id init_short(const char *addr_str, int mode,
    const struct hg_init_info *hg_init_info, int use_progress_thread,
    int rpc_thread_count)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct hg_init_info copy;
    char text[96];

    if (hg_init_info != NULL) {
        copy = *hg_init_info;
        info.hg_init_info = &copy;
    }
    (void)snprintf(text, sizeof(text),
        "{\"use_progress_thread\": %s, \"rpc_thread_count\": %d}",
        use_progress_thread ? "true" : "false", rpc_thread_count);
    info.json_config = text;
    return amg_margo_instance_open(NULL, addr_str, mode, &info);
}

margo_instance_id margo_init(const char *addr_str, int mode,
    int use_progress_thread, int rpc_thread_count)
{
    return init_short(
        addr_str, mode, NULL, use_progress_thread, rpc_thread_count);
}

margo_instance_id margo_init_opt(const char *addr_str, int mode,
    const struct hg_init_info *hg_init_info, int use_progress_thread,
    int rpc_thread_count)
{
    return init_short(
        addr_str, mode, hg_init_info, use_progress_thread, rpc_thread_count);
}

margo_instance_id margo_init_pool(
    ABT_pool progress_pool, ABT_pool handler_pool, hg_context_t *hg_context)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

    if (!AMG_GIVEN(hg_context))
        return MARGO_INSTANCE_NULL;
    info.progress_pool = progress_pool;
    info.rpc_pool = handler_pool;
    info.hg_context = hg_context;
    info.hg_class = HG_Context_get_class(hg_context);
    return amg_margo_instance_open(NULL, NULL,
        HG_Class_is_listening(info.hg_class) ? MARGO_SERVER_MODE
                                             : MARGO_CLIENT_MODE,
        &info);
}

hg_bool_t margo_is_listening(margo_instance_id mid)
{
    return mid != MARGO_INSTANCE_NULL && mid->is_listening;
}

hg_context_t *margo_get_context(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL ? NULL : mid->hg_context;
}

hg_class_t *margo_get_class(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL ? NULL : mid->hg_class;
}

int margo_get_handler_pool(margo_instance_id mid, ABT_pool *pool)
{
    if (!AMG_GIVEN(mid) || !AMG_GIVEN(pool))
        return -1;
    *pool = mid->pools->rpc_pool;
    return 0;
}

int margo_get_progress_pool(margo_instance_id mid, ABT_pool *pool)
{
    if (!AMG_GIVEN(mid) || !AMG_GIVEN(pool))
        return -1;
    *pool = mid->pools->progress_pool;
    return 0;
}

int margo_set_param(margo_instance_id mid, const char *key, const char *value)
{
    unsigned long number = 0;
    char *end = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(key) || !AMG_GIVEN(value))
        return -1;
    if (strcmp(key, "progress_timeout_ub_msec") != 0 &&
        strcmp(key, "progress_timeout_ub_msecs") != 0) {
        margo_error(mid,
            "margo_set_param(): no parameter is called \"%s\"; there is "
            "\"progress_timeout_ub_msec\"",
            key);
        return -1;
    }
    errno = 0;
    number = strtoul(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || value[0] == '-' ||
        number > UINT_MAX) {
        margo_error(mid,
            "margo_set_param(): \"%s\" is \"%s\", and should be a number of "
            "milliseconds, 0 to %u",
            key, value, UINT_MAX);
        return -1;
    }
    return margo_set_progress_timeout_ub_msec(mid, (unsigned)number);
}

static bool is_open(const char *call, margo_instance_id mid)
{
    return AMG_CONTRACT_OF(call, mid != MARGO_INSTANCE_NULL, "mid is NULL") &&
           AMG_CONTRACT_OF(
               call, mid->hg_class != NULL, "the instance has no class");
}

hg_return_t margo_addr_lookup(
    margo_instance_id mid, const char *name, hg_addr_t *addr)
{
    struct margo_monitor_lookup_args event = {.name = name};

    if (!is_open(__func__, mid) || !AMG_GIVEN(name) || !AMG_GIVEN(addr))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY_CALL(
        mid, lookup, &event, HG_Addr_lookup2(mid->hg_class, name, &event.addr));
    if (event.ret == HG_SUCCESS)
        *addr = event.addr;
    return event.ret;
}

hg_return_t margo_addr_free(margo_instance_id mid, hg_addr_t addr)
{
    if (!is_open(__func__, mid))
        return HG_INVALID_ARG;
    return addr == HG_ADDR_NULL ? HG_SUCCESS
                                : HG_Addr_free(mid->hg_class, addr);
}

hg_return_t margo_addr_self(margo_instance_id mid, hg_addr_t *addr)
{
    struct margo_monitor_lookup_args event = {.name = NULL};

    if (!is_open(__func__, mid) || !AMG_GIVEN(addr))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY_CALL(
        mid, lookup, &event, HG_Addr_self(mid->hg_class, &event.addr));
    if (event.ret == HG_SUCCESS)
        *addr = event.addr;
    return event.ret;
}

hg_return_t margo_addr_dup(
    margo_instance_id mid, hg_addr_t addr, hg_addr_t *new_addr)
{
    if (!is_open(__func__, mid) || !AMG_GIVEN(addr) || !AMG_GIVEN(new_addr))
        return HG_INVALID_ARG;
    return HG_Addr_dup(mid->hg_class, addr, new_addr);
}

hg_bool_t margo_addr_cmp(
    margo_instance_id mid, hg_addr_t addr1, hg_addr_t addr2)
{
    return is_open(__func__, mid) ? HG_Addr_cmp(mid->hg_class, addr1, addr2)
                                  : HG_FALSE;
}

hg_return_t margo_addr_set_remove(margo_instance_id mid, hg_addr_t addr)
{
    if (!is_open(__func__, mid) || !AMG_GIVEN(addr))
        return HG_INVALID_ARG;
    return HG_Addr_set_remove(mid->hg_class, addr);
}

hg_return_t margo_addr_to_string(
    margo_instance_id mid, char *buf, hg_size_t *buf_size, hg_addr_t addr)
{
    if (!is_open(__func__, mid) || !AMG_GIVEN(buf_size) || !AMG_GIVEN(addr))
        return HG_INVALID_ARG;
    return HG_Addr_to_string(mid->hg_class, buf, buf_size, addr);
}

/* Logs that there is no profiling by the tool interface of Argobots. */
static int profile_refuse(margo_instance_id mid, const char *what)
{
    if (!AMG_CONTRACT_OF(what, mid != MARGO_INSTANCE_NULL, "mid is NULL"))
        return -1;
    margo_error(mid,
        "%s(): no profile, the tool interface of Argobots is not used; "
        "use monitoring for calls, margo_state_dump() for threads",
        what);
    return -1;
}

int margo_start_abt_profiling(margo_instance_id mid, bool detailed)
{
    (void)detailed;
    return profile_refuse(mid, "margo_start_abt_profiling");
}

int margo_stop_abt_profiling(margo_instance_id mid)
{
    return profile_refuse(mid, "margo_stop_abt_profiling");
}

int margo_dump_abt_profiling(
    margo_instance_id mid, const char *file, int uniquify, char **resolved)
{
    (void)file;
    (void)uniquify;
    (void)resolved;
    return profile_refuse(mid, "margo_dump_abt_profiling");
}
