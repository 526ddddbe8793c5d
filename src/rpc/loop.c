/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a context to itself, without a message: arguments are encoded into
 * the memory of the handle that receives them, and that handle goes straight
 * to the completion queue.
 *
 *  - Nothing is lost: the handle of the target has a pointer to the handle of
 *    the origin, which amg_loop_end() takes when the call is answered. The
 *    answer's reference (handle.c) makes sure that somebody answers: the
 *    program, or the library in its place. Meanwhile the operation of the
 *    origin holds a reference to the origin's handle.
 *  - Calls begin in order: the completion queue keeps the order, and a call
 *    takes this way only while no earlier call is a message that waits in the
 *    driver. One-way calls without a handle are messages, as are calls to
 *    another context.
 *  - Nothing waits: there are no credits, as the memory of a call is that of
 *    its two handles, one of which the program has made.
 *
 * Other calls to oneself are messages of the driver: if the class has checksums
 * or a header of the program, the context receives no more, the RPC has no
 * handler, or there is no memory for the target's handle. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/handle.h"
#include "wire/proc.h"

/* First block of arguments that are not short; malloc() keeps blocks up to this
 * length in a cache of the thread. */
enum { BLOCK_LEN = 1032 };

/* An encoding into the memory of a handle; on the stack. */
struct loop {
    struct hg_proc proc;
    void *heap;   /* NULL, or owned until a handle takes it */
    uint32_t cap; /* room for arguments in a message */
};

static bool loop_widen(struct hg_proc *proc)
{
    struct loop *loop = amg_container_of(proc, struct loop, proc);
    void *longer = amg_mem_alloc(loop->cap);

    if (longer == NULL)
        return false;
    amg_proc_move(proc, longer, loop->cap);
    amg_mem_free(loop->heap);
    loop->heap = longer;
    return true;
}

/* Extra buffers come from the heap. */
static const struct amg_proc_memory loop_memory = {.widen = loop_widen};

/* Gives the encoded bytes, which are no longer in `short_args`, to `args`. */
AMG_NOINLINE static hg_return_t loop_take(
    struct loop *loop, struct amg_args *args, bool is_reply)
{
    struct hg_proc *proc = &loop->proc;
    hg_class_t *cls = proc->hg_class;

    if (proc->extra != NULL && cls->plan.no_overflow) {
        AMG_LOG_ERROR("rpc",
            "RPC id 0x%llx: arguments of %llu bytes exceed a message's %u, and "
            "the class was opened with no_overflow",
            (unsigned long long)proc->handle->info.id,
            (unsigned long long)amg_proc_used(proc), loop->cap);
        return HG_OVERFLOW;
    }
    args->extra = proc->extra != NULL ? proc->extra : loop->heap;
    args->data = args->extra;
    if (proc->extra == NULL) {
        loop->heap = NULL;
        return HG_SUCCESS;
    }
    proc->extra_is_taken = true;
    amg_counters_add(&proc->handle->info.context->counters,
        is_reply ? AMG_COUNT_LONG_REPLIES : AMG_COUNT_LONG_REQUESTS);
    return HG_SUCCESS;
}

/* Encodes `user` of `from` into `args` of `to`. After an error `args` owns no
 * memory: HG_NOMEM, HG_OVERFLOW, or an error of the proc. */
static AMG_INLINE hg_return_t loop_encode(struct hg_handle *from, void *user,
    bool is_reply, struct hg_handle *to, struct amg_args *args)
{
    struct amg_rpc *rpc = from->rpc;
    hg_class_t *cls = from->info.hg_class;
    hg_proc_cb_t proc_cb = is_reply ? rpc->out_proc : rpc->in_proc;
    atomic_bool *was_short =
        is_reply ? &rpc->out_was_short : &rpc->in_was_short;
    struct loop loop;
    hg_return_t rc = HG_SUCCESS;

    args->data = to->looped.short_args;
    args->len = 0;
    if (proc_cb == NULL || user == NULL)
        return HG_SUCCESS;
    loop.heap = NULL;
    loop.cap = (is_reply ? cls->limits.reply_len : cls->limits.request_len) -
               AMG_HEADER_LEN;
    if (!AMG_LIKELY(atomic_load_explicit(was_short, memory_order_relaxed)) &&
        loop.cap >= BLOCK_LEN)
        loop.heap = amg_mem_alloc(BLOCK_LEN);
    amg_proc_init(&loop.proc, cls,
        loop.heap == NULL ? to->looped.short_args : loop.heap,
        loop.heap == NULL ? AMG_SHORT_LEN : BLOCK_LEN, HG_ENCODE);
    loop.proc.handle = from;
    loop.proc.memory = &loop_memory;
    loop.proc.is_short = true;
    rc = proc_cb(&loop.proc, user);
    if (AMG_LIKELY(rc == HG_SUCCESS)) {
        args->len = amg_proc_used(&loop.proc);
        amg_proc_note_short(&loop.proc, args->len <= AMG_SHORT_LEN, was_short);
        if (!AMG_LIKELY(loop.proc.extra == NULL && loop.heap == NULL))
            rc = loop_take(&loop, args, is_reply);
    } else {
        AMG_LOG_ERROR("rpc",
            "the proc of RPC id 0x%llx could not encode its arguments",
            (unsigned long long)from->info.id);
    }
    if (!AMG_LIKELY(loop.proc.extra == NULL && loop.heap == NULL)) {
        amg_proc_fini(&loop.proc);
        amg_mem_free(loop.heap);
    }
    return rc;
}

bool amg_loop_may(const struct hg_handle *handle)
{
    const hg_context_t *context = handle->info.context;
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_rpc *rpc = handle->rpc;

    return amg_rpc_is_plain(amg_rpc_class_of(context->cls)) &&
           handle->info.context_id == context->id && rpc->callback != NULL &&
           rpc->oneway == NULL &&
           amg_rpc_recent(context->cls, rpc->id) == rpc &&
           !amg_context_is_unposted(context) && ep->transport->is_clear(ep);
}

bool amg_loop_forward(
    struct hg_handle *origin, void *in_struct, hg_return_t *ret)
{
    hg_context_t *context = origin->info.context;
    struct hg_handle *target =
        amg_serve_make(context, origin->addr.peer, origin->rpc);

    if (!AMG_LIKELY(target != NULL))
        return false;
    target->is_one_way = origin->is_one_way;
    target->info.id = origin->info.id;
    *ret = loop_encode(origin, in_struct, false, target, &target->in);
    if (!AMG_LIKELY(*ret == HG_SUCCESS)) {
        amg_handle_end(target);
        return true;
    }
    origin->in.len = target->in.len;
    if (AMG_LIKELY(!target->is_one_way))
        target->looped.origin = origin;
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    amg_serve_looped(target);
    return true;
}

hg_return_t amg_loop_encode_output(struct hg_handle *target, void *out_struct)
{
    struct hg_handle *origin = target->looped.origin;
    hg_return_t rc =
        loop_encode(target, out_struct, true, origin, &origin->out);

    if (AMG_LIKELY(rc == HG_SUCCESS))
        target->out.len = origin->out.len;
    else
        amg_args_release(&origin->out);
    return rc;
}
