/* SPDX-License-Identifier: BSD-3-Clause */
/* A call: its states, its one transition function, and its references. */
#include "rpc/handle.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "transport/state.h"

/* At the origin the user owns the handle in IDLE and DONE, the driver and the
 * progress owner in between. Each owner writes the state with release, and the
 * next owner reads that state with acquire, so the fields need no lock.
 * Destroying a handle in flight drops a reference and changes no state. */

void amg_handle_free_kept(void *object)
{
    struct hg_handle *handle = object;

    amg_mem_free(handle->raw);
    handle->raw = NULL;
    if (handle->keeps_data && handle->data_free != NULL)
        handle->data_free(handle->data);
    handle->keeps_data = false;
}

hg_return_t amg_handle_run_create_cb(struct hg_handle *handle)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);
    hg_return_t rc = HG_SUCCESS;

    if (amg_handle_is_created(handle))
        return HG_SUCCESS;
    rc = rpcs->on_create(handle, rpcs->on_create_arg);
    if (rc == HG_SUCCESS)
        handle->keeps_data = handle->is_incoming;
    else
        AMG_LOG_ERROR("rpc",
            "no handle: the program's callback for new handles returned %s",
            HG_Error_to_string(rc));
    return rc;
}

void amg_handle_clear_raw(struct hg_handle *handle)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);
    uint16_t len =
        rpcs->in_offset > rpcs->out_offset ? rpcs->in_offset : rpcs->out_offset;

    memset(handle->raw, 0, len);
}

/* Counts the handle as held by the user. */
static void handle_count(struct hg_handle *handle)
{
    handle->is_counted = true;
    amg_class_count(handle->info.hg_class, AMG_CLASS_HANDLES, 1);
}

void amg_args_release_extra(struct amg_args *args)
{
    if (args->extra_bulk != NULL)
        amg_bulk_leave(args->extra_bulk); /* the bulk handle owns `extra` */
    else
        amg_mem_free(args->extra);
    args->extra_bulk = NULL;
    args->extra = NULL;
}

static AMG_INLINE void handle_destroy(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);

    /* The handle was dropped before the answer left: may be on `unanswered`. */
    if (!AMG_LIKELY(handle->dropped.give_up_ns == 0)) {
        (void)amg_unanswered_claim(handle);
        handle->dropped.give_up_ns = 0;
    }
    if (handle->arrival != NULL)
        amg_handle_release_arrival(handle);
    amg_handle_release_args(handle);
    if (handle->data_free != NULL && !handle->keeps_data)
        handle->data_free(handle->data);
    amg_addr_fini(&handle->addr);
    if (handle->is_counted) {
        handle->is_counted = false;
        amg_class_count(handle->info.hg_class, AMG_CLASS_HANDLES, -1);
    }
    amg_pool_put(
        handle->is_incoming ? &rpcs->incoming : &rpcs->handles, handle);
    amg_tally_add(&context->handles, -1);
}

void amg_handle_end(struct hg_handle *handle)
{
    if (amg_handle_state(handle) == AMG_HANDLE_RUNNING)
        handle->on_unanswered_end(handle);
    else
        handle_destroy(handle);
}

void amg_handle_unref(struct hg_handle *handle)
{
    amg_handle_drop_some(handle, 1);
}

/* Defined below, and calls amg_handle_drop() itself. */
static bool unanswered_drop(struct hg_handle *handle, int share);

bool amg_handle_drop(struct hg_handle *handle, int share)
{
    if (amg_unanswered_is_open(handle) && !handle->is_one_way)
        return unanswered_drop(handle, share);
    amg_handle_drop_some(handle, share);
    return true;
}

hg_return_t HG_Create(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_handle_t *handle)
{
    struct hg_handle *made = NULL;
    struct amg_rpc *rpc = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTEXT_OK(context) || !AMG_GIVEN(handle))
        return amg_refusal();
    if (addr != HG_ADDR_NULL &&
        (!AMG_ADDR_OK(addr) ||
            !AMG_CONTRACT(addr->cls == context->cls,
                "the address is of another class than the context")))
        return amg_refusal();
    if (id != 0) {
        rpc = amg_rpc_find(context->cls, id);
        if (rpc == NULL) {
            AMG_LOG_ERROR("rpc",
                "RPC id 0x%llx is not registered; call HG_Register_name() "
                "here, too, with a NULL callback if this process only calls it",
                (unsigned long long)id);
            return HG_NOENTRY;
        }
    }
    made = amg_handle_create(context, false);
    if (made == NULL)
        return HG_NOMEM;
    made->rpc = rpc;
    made->info.addr = HG_ADDR_NULL;
    made->info.id = id;
    made->info.context_id = 0;
    if (addr != HG_ADDR_NULL) {
        amg_addr_init_copy(addr, &made->addr);
        made->info.addr = &made->addr;
    }
    rc = amg_handle_run_create_cb(made);
    if (rc != HG_SUCCESS) {
        amg_handle_unref(made);
        return rc;
    }
    handle_count(made);
    *handle = made;
    return HG_SUCCESS;
}

hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id)
{
    enum amg_handle_state state;
    struct amg_rpc *rpc = NULL;

    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(!handle->is_incoming,
                                      "handle %p is of an incoming call; only "
                                      "those of HG_Create() can be changed",
                                      (void *)handle))
        return amg_refusal();
    if (!AMG_CONTRACT(
            addr == HG_ADDR_NULL || addr->cls == handle->info.hg_class,
            "the address is of another class than the handle"))
        return HG_INVALID_ARG;
    state = amg_handle_state(handle);
    if (state != AMG_HANDLE_IDLE && state != AMG_HANDLE_DONE) {
        AMG_LOG_ERROR("rpc",
            "handle %p is still in flight; reset it after its callback ran",
            (void *)handle);
        return HG_BUSY;
    }
    rpc = handle->rpc;
    if (id != 0 && id != handle->info.id)
        rpc = amg_rpc_find(handle->info.hg_class, id);
    if (id != 0 && rpc == NULL) {
        AMG_LOG_ERROR(
            "rpc", "RPC id 0x%llx is not registered", (unsigned long long)id);
        return HG_NOENTRY;
    }
    amg_handle_release_args(handle);
    if (addr != HG_ADDR_NULL && addr != &handle->addr) {
        amg_addr_fini(&handle->addr);
        amg_addr_init_copy(addr, &handle->addr);
        handle->info.addr = &handle->addr;
    }
    if (id != 0) {
        handle->rpc = rpc;
        handle->info.id = id;
    }
    handle->info.context_id = 0;
    if (state == AMG_HANDLE_DONE)
        amg_handle_set_state(handle, AMG_HANDLE_IDLE);
    return HG_SUCCESS;
}

hg_return_t HG_Destroy(hg_handle_t handle)
{
    int refs = 0;

    if (handle == HG_HANDLE_NULL)
        return HG_SUCCESS;
    if (!AMG_HANDLE_OK(handle))
        return amg_refusal_end();
    refs = amg_refs_get(&handle->refs); /* before the spare: refcount.h */
    if (!AMG_LIKELY(!amg_unanswered_is_open(handle) &&
                    refs == 1 + amg_refs_spare(&handle->spare)))
        return amg_handle_drop(handle, 1) ? HG_SUCCESS : HG_INVALID_ARG;
    amg_refs_set(&handle->refs, 0);
    amg_handle_end(handle);
    return HG_SUCCESS;
}

hg_return_t HG_Ref_incr(hg_handle_t handle)
{
    if (!AMG_HANDLE_OK(handle))
        return amg_refusal();
    amg_handle_ref(handle);
    return HG_SUCCESS;
}

int32_t HG_Ref_get(hg_handle_t handle)
{
    int refs = 0;

    if (!AMG_HANDLE_EXISTS(handle))
        return 0;
    refs = amg_refs_get(&handle->refs) & (AMG_HANDLE_GOT - 2);
    /* In RUNNING the spare reference of the answer counts as used. */
    return amg_handle_state(handle) == AMG_HANDLE_RUNNING
               ? refs
               : refs - amg_refs_spare(&handle->spare);
}

const struct hg_info *HG_Get_info(hg_handle_t handle)
{
    return AMG_HANDLE_EXISTS(handle) ? &handle->info : NULL;
}

hg_return_t HG_Class_set_handle_create_callback(hg_class_t *hg_class,
    hg_return_t (*callback)(hg_handle_t handle, void *arg), void *arg)
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    amg_rpc_class_of(hg_class)->on_create = callback;
    amg_rpc_class_of(hg_class)->on_create_arg = arg;
    return HG_SUCCESS;
}

hg_return_t HG_Set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *))
{
    if (!AMG_HANDLE_OK(handle))
        return amg_refusal();
    handle->data = data;
    handle->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Get_data(hg_handle_t handle)
{
    return AMG_HANDLE_EXISTS(handle) ? handle->data : NULL;
}

hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(!handle->is_incoming,
                                      "handle %p is of an incoming call; only "
                                      "those of HG_Create() can be changed",
                                      (void *)handle))
        return amg_refusal();
    handle->info.context_id = id;
    return HG_SUCCESS;
}

/* The answer has a reference of its own, so that the program may destroy a
 * handle first and answer after that. If the program never answers, the origin
 * gets HG_CANCELED as soon as no answer can be expected:
 *
 *  - the program destroys the handle once more: at once;
 *  - a callback destroyed the handle, and had started nothing that may lead to
 *    the answer: when that callback has returned, by the next call of its
 *    thread that makes progress;
 *  - in any other case: after SOON_MS or LATE_MS, because another thread or
 *    another callback may be about to answer;
 *  - the context ends.
 *
 * A handle destroyed unanswered is on a list of its context, with one reference
 * left, the answer's. The thread that answers the call, gives the call up, or
 * destroys the handle again takes the handle off the list, under `rpc->lock`.
 *
 * HG_Respond() of a short answer without a callback leaves the answer's
 * reference in the count, as a spare one (base/refcount.h), without a check
 * whether the program has destroyed the handle: a check would take a locked
 * instruction, behind a store that waits for another core's cache line. So a
 * handle destroyed during the send is listed until a later check. */

enum {
    SOON_MS = 1000,  /* handle dropped by other code than that of LATE_MS */
    LATE_MS = 10000, /* handle dropped by a callback that posted operations */
};

bool amg_unanswered_claim(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool was_listed = false;

    amg_lock_lock(&context->rpc->lock);
    was_listed = amg_link_is_listed(&handle->link);
    if (was_listed) {
        amg_list_remove(&handle->link);
        amg_refs_set(&handle->spare, 0); /* now the caller's reference */
    }
    amg_lock_unlock(&context->rpc->lock);
    return was_listed;
}

static void unanswered_add_locked(struct hg_handle *handle)
{
    unsigned ms =
        amg_role.is_running && amg_role.has_posted ? LATE_MS : SOON_MS;

    AMG_ASSERT_HELD(&handle->info.context->rpc->lock);
    handle->dropped.by =
        amg_role.is_running && !amg_role.has_posted ? &amg_role : NULL;
    handle->dropped.give_up_ns = amg_clock_deadline_ns(ms);
    if (!amg_link_is_listed(&handle->link))
        amg_list_push(&handle->info.context->rpc->unanswered, &handle->link);
}

/* Drops all of `refs` references but the answer's. False: the count or the
 * state has changed meanwhile. */
static bool drop_to_answer(struct hg_handle *handle, int refs)
{
    hg_context_t *context = handle->info.context;
    uint64_t look_ns = 0;

    amg_lock_lock(&context->rpc->lock);
    if (!amg_unanswered_is_open(handle) ||
        amg_refs_get(&handle->refs) != refs) {
        amg_lock_unlock(&context->rpc->lock);
        return false;
    }
    /* Listed before the drop: the thread that ends the handle unlists it. */
    unanswered_add_locked(handle);
    if (!atomic_compare_exchange_strong_explicit(&handle->refs, &refs, 1,
            memory_order_acq_rel, memory_order_relaxed)) {
        amg_lock_unlock(&context->rpc->lock);
        return false;
    }
    look_ns = handle->dropped.by != NULL ? 0 : handle->dropped.give_up_ns;
    amg_lock_unlock(&context->rpc->lock);
    amg_context_look_at(context, look_ns);
    return true;
}

/* Drops `share` references of the program to a call that is not answered.
 * False: the program has no reference, or the call is being given up. */
static bool unanswered_drop(struct hg_handle *handle, int share)
{
    while (amg_unanswered_is_open(handle)) {
        int refs = 0;

        AMG_TEST_POINT("handle.unanswered");
        refs = amg_refs_get(&handle->refs);
        if (refs <= share) { /* only the answer's reference is left */
            if (!amg_unanswered_is_open(handle))
                break;
            if (share != 1 || amg_handle_state(handle) != AMG_HANDLE_RUNNING ||
                !amg_unanswered_claim(handle))
                return false;
            amg_handle_unref(handle);
            return true;
        }
        if (refs - share == 1 && drop_to_answer(handle, refs))
            return true;
        if (refs - share > 1 &&
            atomic_compare_exchange_weak_explicit(&handle->refs, &refs,
                refs - share, memory_order_acq_rel, memory_order_relaxed))
            return true;
    }
    return amg_handle_drop(handle, share);
}

void amg_unanswered_again(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool is_last = false;

    amg_lock_lock(&context->rpc->lock);
    is_last = amg_refs_get(&handle->refs) == 1;
    amg_refs_set(&handle->spare, 1);
    amg_handle_set_state(handle, AMG_HANDLE_RUNNING);
    if (is_last)
        unanswered_add_locked(handle);
    amg_lock_unlock(&context->rpc->lock);
    if (is_last)
        amg_context_look_at(context, 0);
}

/* Must the call be given up now, or ended because it was answered? */
static bool is_due(const struct hg_handle *handle, uint64_t now_ns)
{
    switch (amg_handle_state(handle)) {
    case AMG_HANDLE_RUNNING:
        return handle->dropped.give_up_ns <= now_ns ||
               (handle->dropped.by == &amg_role && !amg_role.is_running);
    case AMG_HANDLE_REPLYING:
        return false;
    default:
        return true;
    }
}

/* Will the call end without this check, because the program has a reference
 * again, or an operation has the answer's reference? */
static bool is_held(const struct hg_handle *handle)
{
    return amg_refs_get(&handle->refs) != 1 ||
           amg_refs_spare(&handle->spare) == 0;
}

/* Takes the first due call off `unanswered`, for the caller to end. NULL: none
 * is due before `*ret_next_ns`. */
static struct hg_handle *due_take(
    hg_context_t *context, uint64_t now_ns, uint64_t *ret_next_ns)
{
    struct amg_link *link = NULL;
    struct hg_handle *due = NULL;
    uint64_t next_ns = AMG_CONTEXT_NEVER;

    amg_lock_lock(&context->rpc->lock);
    link = amg_list_first(&context->rpc->unanswered);
    while (link != NULL && due == NULL) {
        struct hg_handle *handle =
            amg_container_of(link, struct hg_handle, link);
        uint64_t at_ns =
            handle->dropped.by != NULL ? 0 : handle->dropped.give_up_ns;

        /* Before is_held(): an operation may take the answer's reference. */
        bool is_over = is_due(handle, now_ns);

        link = amg_list_next(&context->rpc->unanswered, link);
        if (is_held(handle)) {
            /* A held handle stays listed, unless the context ends: the thread
             * that ends the handle takes it off the list. */
            if (now_ns == AMG_CONTEXT_NEVER)
                amg_list_remove(&handle->link);
        } else if (is_over) {
            amg_list_remove(&handle->link);
            amg_refs_set(&handle->spare, 0);
            due = handle;
        } else if (at_ns < next_ns) {
            next_ns = at_ns;
        }
    }
    amg_lock_unlock(&context->rpc->lock);
    *ret_next_ns = next_ns;
    return due;
}

void amg_unanswered_look(hg_context_t *context, uint64_t now_ns)
{
    struct hg_handle *handle = NULL;
    uint64_t next_ns = 0;

    while ((handle = due_take(context, now_ns, &next_ns)) != NULL)
        amg_handle_unref(handle);
    amg_context_look_at(context, next_ns);
}

void amg_handles_write_state(hg_context_t *context, struct amg_state *state)
{
    struct amg_rpc_context *rpc = context->rpc;

    amg_lock_lock(&rpc->lock);
    amg_state_add_list(
        state, "requests waiting for their RPC to be registered", &rpc->early);
    amg_state_add_list(state,
        "calls waiting for room for long arguments (AMALGAM_MAX_PENDING_BYTES)",
        &rpc->pulls.waiting);
    amg_state_add_list(
        state, "long answers not known to be pulled", &rpc->ack_waits);
    amg_state_add_list(
        state, "calls whose handles were dropped unanswered", &rpc->unanswered);
    amg_lock_unlock(&rpc->lock);
}

hg_return_t amg_rpc_context_open(hg_context_t *context)
{
    struct amg_rpc_context *rpc = amg_mem_zalloc(sizeof(*rpc));

    if (rpc == NULL)
        return HG_NOMEM;
    amg_lock_init(&rpc->lock);
    amg_list_init(&rpc->ack_waits);
    amg_list_init(&rpc->early);
    amg_list_init(&rpc->unanswered);
    amg_list_init(&rpc->pulls.waiting);
    rpc->pulls.cap = amg_env_number(AMG_ENV_MAX_PENDING_BYTES);
    amg_lock_init(&rpc->relay_lock);
    amg_list_init(&rpc->relayed[0]);
    amg_list_init(&rpc->relayed[1]);
    rpc->direct_end = amg_relay_direct_end(context->cls);
    if (amg_streams_open(rpc) != HG_SUCCESS) {
        amg_mem_free(rpc);
        return HG_NOMEM;
    }
    context->rpc = rpc;
    atomic_init(&rpc->run,
        context->cls->ranks == NULL ? amg_serve_run : amg_serve_run_counted);
    return HG_SUCCESS;
}

void amg_rpc_context_close(hg_context_t *context)
{
    AMG_ASSERT(amg_list_is_empty(&context->rpc->ack_waits));
    AMG_ASSERT(amg_list_is_empty(&context->rpc->unanswered));
    AMG_ASSERT(!amg_order_has_lines(context));
    amg_map_fini(&context->rpc->lines, NULL);
    amg_map_fini(&context->rpc->acks, NULL);
    amg_streams_close(context->rpc);
    amg_mem_free(context->rpc);
    context->rpc = NULL;
}
