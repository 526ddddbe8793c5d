/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing of classes and contexts (HG_Init and its forms). */
#include "init/init.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "bulk/bulk_transfer.h"
#include "core/progress.h"
#include "mercury_class.h"
#include "mercury_context.h"
#include "na.h"
#include "affinity/bind.h"
#include "rpc/group.h"
#include "transport/boot.h"
#include "shm/shm_transport.h"
#include "wire/header.h"

enum {
    DESTROY_TIMEOUT_MS = 5000, /* for operations in flight, as in Mercury */
    ABANDON_TIMEOUT_MS = 200,  /* for operations that were given up */
};

/* Kinds of objects that the program may still hold, in the order in which
 * programs of Mercury free them: bulk handles, contexts, addresses. */
static const struct {
    enum amg_class_count what;
    const char *name;
    const char *advice;
} kinds[] = {
    {AMG_CLASS_BORROWERS, "HG class of this NA class", "HG_Finalize()"},
    {AMG_CLASS_BULKS, "bulk handle", "HG_Bulk_free()"},
    {AMG_CLASS_ALLOCS, "memory of amalgam_alloc()", "amalgam_free()"},
    {AMG_CLASS_HANDLES, "RPC handle", "HG_Destroy()"},
    {AMG_CLASS_CONTEXTS, "context", "HG_Context_destroy()"},
    {AMG_CLASS_ADDRS, "address",
        "HG_Addr_free(), of an NA class NA_Addr_free(),"},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Uses the domains of another class. */
static void plan_borrow(struct amg_class_plan *plan, hg_class_t *owner)
{
    plan->owner = owner;
    plan->how = owner->plan.how;
    plan->main_route = owner->plan.main_route;
    plan->name = owner->plan.name;
    plan->no_block = plan->no_block || owner->plan.no_block;
    memcpy(plan->transports, owner->plan.transports, sizeof(plan->transports));
    memcpy(plan->protocol, owner->plan.protocol, sizeof(plan->protocol));
}

/* Logs how peers are reached, and for a class with domains of its own also
 * `reason`; the first rank prints `reach` to stderr with AMALGAM_REPORT. */
static void class_tell(const hg_class_t *cls, const char *info)
{
    AMG_LOG_INFO("cls", "%s: %s; %u bytes a message, %u credits", info,
        cls->reach, cls->limits.request_len, cls->limits.credits);
    if (cls->plan.owner == NULL && cls->reason[0] != '\0')
        AMG_LOG_INFO("cls", "%s: %s", info, cls->reason);
    if (cls->plan.owner == NULL && cls->is_first &&
        amg_env_number(AMG_ENV_REPORT) != 0)
        fprintf(stderr, "amalgam: %s: %s\n", info, cls->reach);
}

/* Opens a class without RPC, which is all that an NA class needs. */
static hg_return_t init_without_rpc(
    const struct amg_init *init, hg_class_t **ret_class)
{
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct amg_class_plan plan = {
        .head_len = AMG_HEADER_LEN,
        .checksum_level = init->checksum_level,
        .release_input_early = init->release_input_early,
        .no_loopback = init->no_loopback,
        .wants_stats = init->wants_stats,
        .no_overflow = init->no_overflow,
        .no_bulk_eager = init->no_bulk_eager,
        .no_block = init->no_block,
        .progress = init->progress_options,
        .is_mercury = init->is_mercury,
    };
    hg_class_t *cls = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (plan.progress == NULL)
        plan.progress = &progress;
    progress.progress = init->progress;
    progress.wait = init->wait;
    (void)amg_bind_process(); /* before anything starts threads */
    amg_env_check();

    if (init->checksum_level == HG_CHECKSUM_RPC_PAYLOAD)
        plan.head_len += AMG_HEADER_TAIL_LEN;
    if (init->owner != NULL)
        plan_borrow(&plan, init->owner);
    else
        rc = amg_init_plan(init, &plan);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_class_open(&plan, &cls);
    if (rc != HG_SUCCESS)
        return rc;
    if (init->no_loopback && !cls->plan.no_loopback)
        AMG_LOG_WARNING("cls",
            "no_loopback: '%s' cannot reach its own process, or the class does "
            "not listen; local calls do not use the transport",
            cls->plan.transports[cls->plan.main_route]->name);
    class_tell(cls,
        init->owner != NULL ? "(an NA class)" : amg_init_plan_info(init->info));
    *ret_class = cls;
    return HG_SUCCESS;
}

hg_return_t amg_init_class(const struct amg_init *init, hg_class_t **ret_class)
{
    hg_class_t *cls = NULL;
    /* Allocated first: if a rank failed after all ranks have opened, the class
     * of the other ranks could not be closed. */
    struct amg_rpc_class *rpcs = amg_mem_zalloc(sizeof(*rpcs));
    struct amg_groups *groups = amg_mem_zalloc(sizeof(*groups));
    hg_return_t rc = rpcs == NULL || groups == NULL
                         ? HG_NOMEM
                         : init_without_rpc(init, &cls);

    if (rc != HG_SUCCESS) {
        amg_mem_free(groups);
        amg_mem_free(rpcs);
        return rc;
    }
    amg_rpc_class_attach(cls, rpcs, &amg_serve_handle_ops);
    if (cls->plan.main_route == AMG_ROUTE_SELF) /* a job of one rank */
        cls->job.size = cls->job.node_size = 1;
    amg_groups_attach(cls, groups);
    amg_class_settle_progress(cls);
    *ret_class = cls;
    return HG_SUCCESS;
}

static bool context_is_untriggered(hg_context_t *context)
{
    if (!amg_context_has_due(context))
        return false;
    AMG_LOG_WARNING("ctx", "the context has callbacks queued; call "
                           "HG_Trigger() until none is left, then destroy it");
    return true;
}

/* Waits for operations in flight, then checks what the user still holds. Long
 * replies that no peer pulled are given up only after the whole time-out. */
static hg_return_t context_settle(hg_context_t *context)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(DESTROY_TIMEOUT_MS);

    amg_serve_end(context);
    amg_progress_settle(context, deadline_ns);
    if (context_is_untriggered(context))
        return HG_BUSY;
    amg_respond_abandon(context);
    amg_relay_look(context, AMG_CONTEXT_NEVER);
    amg_streams_abandon(context);
    /* Operations that were given up end at once. */
    deadline_ns = amg_clock_deadline_ns(ABANDON_TIMEOUT_MS);
    amg_progress_settle(context, deadline_ns);
    if (context_is_untriggered(context))
        return HG_BUSY;
    if (amg_tally_sum(&context->handles) > 0 ||
        amg_tally_sum(&context->in_flight) > 0) {
        AMG_LOG_WARNING("ctx",
            "the context has %d open handles and %d operations in flight; "
            "HG_Destroy() the handles, HG_Cancel() the operations",
            (int)amg_tally_sum(&context->handles),
            (int)amg_tally_sum(&context->in_flight));
        return HG_BUSY;
    }
    return HG_SUCCESS;
}

/* Checks whether other ranks may still be opening the class. The check makes
 * MPI progress, which these ranks need even if MPI reaches no peer. */
static void context_look_at_joining(hg_context_t *context, uint64_t now_ns)
{
    hg_class_t *cls = context->cls;
    uint32_t looks = cls->joined(cls->domains[cls->plan.main_route]);

    atomic_store_explicit(
        &cls->is_joining, looks == AMG_JOINED_NOT_YET, memory_order_relaxed);
    if (looks > 0)
        amg_context_look_at(context, now_ns + AMG_JOINED_LOOK_NS);
}

static void context_look(hg_context_t *context, uint64_t now_ns)
{
    if (context->cls->joined != NULL)
        context_look_at_joining(context, now_ns);
    amg_serve_look(context, now_ns);
}

static hg_return_t context_open(hg_context_t *context)
{
    hg_return_t rc = amg_transfers_open(context);

    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_rpc_context_open(context);
    if (rc != HG_SUCCESS)
        amg_transfers_close(context);
    return rc;
}

static void context_close(hg_context_t *context)
{
    amg_rpc_context_close(context);
    amg_transfers_close(context);
}

hg_context_t *HG_Context_create_id(hg_class_t *hg_class, uint8_t id)
{
    static const struct amg_context_ops ops = {
        .arrived = amg_serve_arrived,
        .look = context_look,
        .send_unsent = amg_streams_send,
        .write_state = amg_handles_write_state,
        .open = context_open,
        .close = context_close,
    };
    hg_context_t *context = NULL;

    if (!AMG_CLASS_OK(hg_class)) {
        (void)amg_refusal();
        return NULL;
    }
    if (amg_context_open(hg_class, id, &ops, &context) != HG_SUCCESS)
        return NULL;
    if (hg_class->joined != NULL)
        amg_context_look_at(context, 0);
    amg_hang_begin(context);
    amg_traced_take(context);
    amg_service_thread_start(context);
    return context;
}

hg_context_t *HG_Context_create(hg_class_t *hg_class)
{
    unsigned id = 0;
    hg_context_t *taken = NULL;

    if (!AMG_CLASS_OK(hg_class)) {
        (void)amg_refusal();
        return NULL;
    }
    /* The lowest unused context id. */
    while (id < UINT8_MAX &&
           (taken = amg_class_context(hg_class, id)) != NULL && taken->id == id)
        id++;
    return HG_Context_create_id(hg_class, (uint8_t)id);
}

hg_return_t HG_Context_unpost(hg_context_t *context)
{
    if (!AMG_CONTEXT_OK(context))
        return amg_refusal();
    atomic_fetch_or_explicit(
        &context->gates, AMG_CONTEXT_UNPOSTED, memory_order_release);
    return HG_SUCCESS;
}

/* Ends a context in which no thread of the library runs any more. */
static hg_return_t context_end(hg_context_t *context)
{
    hg_return_t rc = context_settle(context);

    if (rc != HG_SUCCESS)
        return rc;
    if (!amg_progress_own_alone(context)) {
        AMG_LOG_WARNING("ctx",
            "the context stays open: another thread is in HG_Progress()");
        return HG_BUSY;
    }
    amg_context_close(context);
    return HG_SUCCESS;
}

hg_return_t HG_Context_destroy(hg_context_t *context)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTEXT_OK(context))
        return amg_refusal_end();
    if (!amg_service_thread_stop(context)) {
        AMG_LOG_WARNING("ctx",
            "a context cannot be destroyed by a handler in its service "
            "thread; destroy it in a thread of the program");
        return HG_BUSY;
    }
    rc = HG_Context_unpost(context);
    if (rc == HG_SUCCESS)
        rc = context_end(context);
    if (rc != HG_SUCCESS)
        amg_service_thread_start(context);
    return rc;
}

/* Gives up long replies that no peer will pull any more: called when all ranks
 * have disconnected, or at the deadline. */
static void contexts_abandon(hg_class_t *cls)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        amg_respond_abandon(context);
    (void)amg_progress_serve(cls, UINT32_MAX);
}

static hg_return_t contexts_destroy(hg_class_t *cls)
{
    hg_context_t *context = NULL;

    while ((context = amg_class_context(cls, 0)) != NULL) {
        hg_return_t rc = HG_Context_destroy(context);

        if (rc != HG_SUCCESS)
            return rc;
    }
    return HG_SUCCESS;
}

static void all_threads_start(hg_class_t *cls)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        if (context->thread == NULL)
            amg_service_thread_start(context);
}

/* Stops the service threads before the check of open objects, because handlers
 * that run hold handles. Afterwards the closing thread serves peers. */
static hg_return_t all_threads_stop(hg_class_t *cls)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        if (!amg_service_thread_stop(context)) {
            AMG_LOG_WARNING("cls",
                "a class cannot be closed by a handler in its service "
                "thread; close it in a thread of the program");
            all_threads_start(cls);
            return HG_BUSY;
        }
    return HG_SUCCESS;
}

/* Index of the first kind in `kinds` of which objects exist, or KINDS. */
static unsigned class_held(const hg_class_t *cls, bool with_contexts)
{
    unsigned i = 0;

    while (i < KINDS &&
           (amg_class_counted(cls, kinds[i].what) == 0 ||
               (kinds[i].what == AMG_CLASS_CONTEXTS && !with_contexts)))
        i++;
    return i;
}

/* Logs what the program still holds and returns HG_BUSY, or HG_SUCCESS. */
static hg_return_t class_check_idle(const hg_class_t *cls, bool with_contexts)
{
    unsigned i = class_held(cls, with_contexts);

    if (i == KINDS)
        return HG_SUCCESS;
    AMG_LOG_WARNING("cls",
        "the class cannot be closed; still open: %d of kind %s; call %s and "
        "try again",
        amg_class_counted(cls, kinds[i].what), kinds[i].name, kinds[i].advice);
    return HG_BUSY;
}

/* Is progress needed before the class can end? One-way calls must leave. Calls
 * in flight must end, because their handles count as open even if the user has
 * destroyed them. */
static bool context_is_settling(hg_context_t *context)
{
    return atomic_load_explicit(&context->unsent, memory_order_relaxed) != 0 ||
           (class_held(context->cls, false) < KINDS &&
               amg_tally_sum(&context->in_flight) > 0);
}

/* Makes progress until no context needs any. At the deadline, gives up long
 * replies that were not acknowledged: the program has no object to free. */
static void contexts_settle(hg_class_t *cls, uint64_t deadline_ns)
{
    hg_context_t *context = amg_class_context(cls, 0);

    amg_traced_ask(context);
    while (context != NULL && amg_clock_ns() < deadline_ns) {
        if (context_is_settling(context))
            (void)amg_progress_serve(cls, UINT32_MAX);
        else
            context = amg_class_context(cls, context->id + 1u);
    }
    if (context != NULL)
        contexts_abandon(cls);
}

/* A step of the wait for peers; after the deadline gives up long replies. */
static hg_return_t quiesce(hg_class_t *cls, bool serve, uint64_t deadline_ns)
{
    if (serve && amg_clock_ns() >= deadline_ns)
        contexts_abandon(cls);
    else if (serve)
        (void)amg_progress_serve(cls, UINT32_MAX);
    return amg_class_quiesce(cls);
}

hg_return_t amg_init_finalize(hg_class_t *cls, bool serve)
{
    hg_class_t *owner = cls->plan.owner;
    bool is_quiet = owner != NULL && !serve;
    uint64_t deadline_ns = amg_clock_deadline_ns(
        (unsigned)amg_env_number(AMG_ENV_FINALIZE_TIMEOUT));
    hg_return_t ended = HG_SUCCESS;
    hg_return_t rc = HG_SUCCESS;
    unsigned tries = 0;

    if (serve && (rc = all_threads_stop(cls)) != HG_SUCCESS)
        return rc;
    if (serve)
        contexts_settle(cls, deadline_ns);
    rc = class_check_idle(cls, !serve);
    if (rc != HG_SUCCESS) {
        if (serve && amg_clock_ns() >= deadline_ns)
            amg_class_report(cls);
        all_threads_start(cls);
        return rc;
    }
    (void)amg_status_wait(cls->job.status, AMG_AWAIT_FINALIZE);
    while (!is_quiet && (ended = quiesce(cls, serve, deadline_ns)) == HG_AGAIN)
        if (cls->limits.must_yield)
            amg_back_off(tries++);
    if (!is_quiet && ended == HG_SUCCESS && cls->domains[AMG_ROUTE_MPI] != NULL)
        AMG_ASSERT_DEEP(amg_class_owes_nothing(cls));
    /* The class has disconnected the domains of its owner, so that peers do not
     * serve these domains any longer: the owner cannot share them any more. */
    if (!is_quiet && owner != NULL && owner->state == AMG_CLASS_OPEN)
        amg_class_set_state(owner, AMG_CLASS_DRAINING);
    if (serve) {
        (void)amg_progress_serve(cls, UINT32_MAX);
        contexts_abandon(cls);
        rc = contexts_destroy(cls);
        if (rc != HG_SUCCESS)
            return rc;
    }
    /* In Mercury, peers that do not disconnect are no error by themselves. */
    if (!serve && ended != HG_SUCCESS && !cls->has_lost)
        ended = HG_SUCCESS;
    amg_class_close(cls);
    return ended;
}

hg_return_t HG_Finalize(hg_class_t *hg_class)
{
    return AMG_CLASS_OK(hg_class) ? amg_init_finalize(hg_class, false)
                                  : amg_refusal_end();
}

void HG_Cleanup(void)
{
    /* Only shared memory leaves files when a process is killed. */
    (void)amg_shm_files_clean();
}

#define LIBRARY_VERSION HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR)

hg_return_t HG_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch)
{
    if (major != NULL)
        *major = HG_VERSION_MAJOR;
    if (minor != NULL)
        *minor = HG_VERSION_MINOR;
    if (patch != NULL)
        *patch = HG_VERSION_PATCH;
    return HG_SUCCESS;
}

/* Is `version` known? `of`: the layer of the options, "NA ", or "" for HG. */
static bool version_is_known(const char *of, unsigned version, unsigned newest)
{
    if (version != 0 && version <= newest)
        return true;
    AMG_LOG_ERROR("cls",
        "the %soptions have version %u.%u; this library knows versions up to "
        "%u.%u",
        of, HG_MAJOR(version), HG_MINOR(version), HG_MAJOR(newest),
        HG_MINOR(newest));
    return false;
}

/* Encoding of AMALGAM_NA_PROGRESS(). */
enum {
    PROGRESS_SHIFT = 2,
    PROGRESS_MASK = 0x7,
    WAIT_SHIFT = 5,
    WAIT_MASK = 0x3,
    UNKNOWN_MODE = 0x80,
};

/* The length of struct hg_init_info in a program of `version`: each version of
 * Mercury added fields at the end. */
static size_t info_len(unsigned version)
{
    if (HG_VERSION_GE(version, HG_VERSION(2, 4)))
        return sizeof(struct hg_init_info);
    if (HG_VERSION_GE(version, HG_VERSION(2, 3)))
        return offsetof(struct hg_init_info, traffic_class);
    return offsetof(struct hg_init_info, no_multi_recv);
}

/* Mercury's default of multi_recv_op_max. */
enum { MULTI_RECV_OPS = 4 };

static bool info_is_valid(const struct hg_init_info *info)
{
    unsigned ops =
        info->multi_recv_op_max == 0 ? MULTI_RECV_OPS : info->multi_recv_op_max;

    if ((unsigned)info->checksum_level > HG_CHECKSUM_RPC_PAYLOAD) {
        AMG_LOG_ERROR("cls",
            "checksum_level is %d; it must be from 0 (none) to 2",
            (int)info->checksum_level);
        return false;
    }
    if (info->multi_recv_copy_threshold <= ops)
        return true;
    AMG_LOG_ERROR("cls",
        "multi_recv_copy_threshold is %u, above multi_recv_op_max, which is %u",
        info->multi_recv_copy_threshold, ops);
    return false;
}

/* Decodes AMALGAM_NA_PROGRESS(). */
static bool progress_read(uint8_t mode, struct amg_init *init)
{
    unsigned progress = mode >> PROGRESS_SHIFT & PROGRESS_MASK;
    unsigned wait = mode >> WAIT_SHIFT & WAIT_MASK;

    if (progress > AMALGAM_PROGRESS_THREAD || wait > AMALGAM_WAIT_SLEEP ||
        (mode & UNKNOWN_MODE) != 0) {
        AMG_LOG_ERROR("cls",
            "progress_mode is 0x%x: it may combine NA_NO_BLOCK, NA_NO_RETRY "
            "and one AMALGAM_NA_PROGRESS(mode, wait); here mode is %u, and at "
            "most %d (AMALGAM_PROGRESS_THREAD); wait is %u, and at most %d "
            "(AMALGAM_WAIT_SLEEP)%s",
            mode, progress, AMALGAM_PROGRESS_THREAD, wait, AMALGAM_WAIT_SLEEP,
            (mode & UNKNOWN_MODE) != 0 ? ", and bit 7 must be 0" : "");
        return false;
    }
    init->progress = (enum amalgam_progress)progress;
    init->wait = (enum amalgam_wait)wait;
    return true;
}

/* Reads the options of NA that apply to the transports of this library.
 * HG_INVALID_ARG: an invalid option, which the log names. */
static hg_return_t read_na(
    const struct na_init_info_4_0 *na, struct amg_init *init)
{
    size_t len = na->max_unexpected_size;

    if (!progress_read(na->progress_mode, init))
        return HG_INVALID_ARG;
    if (na->max_expected_size > len)
        len = na->max_expected_size;
    init->how.message_len = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
    init->how.max_contexts = na->max_contexts;
    init->how.nic.ip_subnet = na->ip_subnet;
    init->how.nic.auth_key = na->auth_key;
    init->how.nic.addr_format = (uint8_t)na->addr_format;
    init->no_block = (na->progress_mode & NA_NO_BLOCK) != 0;
    init->how.nic.no_block = init->no_block;
    return HG_SUCCESS;
}

hg_return_t amg_init_read_info(
    const struct hg_init_info *info, struct amg_init *init)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!info_is_valid(info))
        return rc;
    rc = read_na(&info->na_init_info, init);
    if (rc != HG_SUCCESS)
        return rc;
    if (info->na_class != NULL)
        init->owner = info->na_class->cls;
    init->auto_sm = info->auto_sm != 0;
    init->sm_info = info->sm_info_string;
    init->no_bulk_eager = info->no_bulk_eager != 0;
    init->no_overflow = info->no_overflow;
    init->no_loopback = info->no_loopback != 0;
    init->wants_stats = info->stats != 0;
    init->release_input_early = info->release_input_early != 0;
    init->checksum_level = info->checksum_level;
    return HG_SUCCESS;
}

hg_class_t *HG_Init_opt2(const char *na_info_string, uint8_t na_listen,
    unsigned int version, const struct hg_init_info *hg_init_info)
{
    struct amg_init init = {
        .info = na_info_string,
        .how.is_listening = na_listen != 0,
        .is_mercury = true,
    };
    hg_class_t *cls = NULL;

    if (hg_init_info != NULL) {
        struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

        if (!version_is_known("", version, LIBRARY_VERSION))
            return NULL;
        memcpy(&info, hg_init_info, info_len(version));
        if (amg_init_read_info(&info, &init) != HG_SUCCESS)
            return NULL;
    }
    if (!AMG_CONTRACT(na_info_string != NULL || init.owner != NULL,
            "na_info_string is NULL; name a transport, as na+sm"))
        return NULL;
    return amg_init_class(&init, &cls) == HG_SUCCESS ? cls : NULL;
}

hg_class_t *HG_Init_opt(const char *na_info_string, uint8_t na_listen,
    const struct hg_init_info *hg_init_info)
{
    return HG_Init_opt2(
        na_info_string, na_listen, HG_VERSION(2, 2), hg_init_info);
}

hg_class_t *HG_Init(const char *na_info_string, uint8_t na_listen)
{
    return HG_Init_opt2(na_info_string, na_listen, 0, NULL);
}

#define NA_LIBRARY_VERSION NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR)

static na_class_t *na_class_make(const struct amg_init *init)
{
    na_class_t *na_class = amg_mem_alloc(sizeof(*na_class));

    if (na_class == NULL)
        return NULL;
    if (init_without_rpc(init, &na_class->cls) == HG_SUCCESS)
        return na_class;
    amg_mem_free(na_class);
    return NULL;
}

na_class_t *NA_Initialize_opt2(const char *info_string, bool listen,
    unsigned int version, const struct na_init_info *na_init_info)
{
    struct amg_init init = {.info = info_string, .how.is_listening = listen};
    struct na_init_info_4_0 info;

    /* Each version added fields at the end. */
    _Static_assert(sizeof(info) <= sizeof(*na_init_info) &&
                       offsetof(struct na_init_info_4_0, request_mem_device) ==
                           offsetof(struct na_init_info, request_mem_device),
        "the older options are the beginning of the newer ones");
    if (!AMG_GIVEN(info_string))
        return NULL;
    if (na_init_info == NULL)
        return na_class_make(&init);
    if (!version_is_known("NA ", version, NA_LIBRARY_VERSION))
        return NULL;
    /* No transport here supports the traffic class, which version 5.0 added. */
    memcpy(&info, na_init_info, sizeof(info));
    return read_na(&info, &init) == HG_SUCCESS ? na_class_make(&init) : NULL;
}

na_class_t *NA_Initialize_opt(const char *info_string, bool listen,
    const struct na_init_info *na_init_info)
{
    return NA_Initialize_opt2(
        info_string, listen, NA_VERSION(4, 0), na_init_info);
}

na_class_t *NA_Initialize(const char *info_string, bool listen)
{
    return NA_Initialize_opt2(info_string, listen, 0, NULL);
}
