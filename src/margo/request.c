/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: operations that a thread waits for, and how they are posted,
 * awaited and ended.
 *
 * The word `state` of a request is PENDING, OVER, or the address of a waiter or
 * of a parked thread. A waiting thread stores its waiter; margo_wait_any()
 * stores one waiter in several requests. The thread that ends the request
 * replaces the word, and does not touch the request afterwards. A waiter lies
 * on the stack of its thread, so the thread returns only when each waker has
 * counted itself in the waiter, by its last access. But a preempted waker would
 * delay the thread. So a thread that waits for one request does not wait for
 * the count, if the runtime lets a woken thread free the eventual at once.
 *
 * While one OS thread alone posts, awaits and ends requests, it owns the
 * instance's biased lock, and changes the word under the lock by plain stores.
 * (A locked instruction drains the store buffer, which holds the message just
 * posted; the drain would take longer than all other steps of a wait.) A thread
 * that waits for one request parks under the lock, its ABT_thread in the word.
 * When another OS thread takes the lock, the lock is shared for good and only
 * locked instructions change the word. Each parked thread has left its stack by
 * then, because the runtime releases the lock only when the thread has left. */
#include "margo/request.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "margo/instance.h"
#include "margo/runtime.h"

/* Values of `state` that are no address. */
enum { PENDING = 0, OVER = 1 };

/* A bit that marks the address of a parked thread; 0 in waiters' addresses. */
enum { PARKED = 2 };
_Static_assert(_Alignof(struct amg_margo_waiter) > (OVER | PARKED),
    "the words of `state` can be told apart");

/* Retry interval of a time limit that passes before the post. */
enum { LATE_AGAIN_NS = 50000 };

/* If the loop may stall, a waiting thread ends its wait itself this long after
 * the time limit: by then, a loop that runs would have ended the wait. */
enum { TAKEOVER_NS = 20000000 };

void amg_margo_requests_open(margo_instance_id mid)
{
    static struct amg_attic attic;
    static const ABT_eventual_memory fresh = ABT_EVENTUAL_INITIALIZER;

    mid->quiet.over = fresh;
    amg_pool_init_kept(&mid->requests, sizeof(struct margo_request_struct),
        _Alignof(struct margo_request_struct), &attic);
}

void amg_margo_requests_close(margo_instance_id mid)
{
    if (mid->requests.live == 0)
        amg_pool_fini(&mid->requests);
}

void amg_margo_waiter_init(struct amg_margo_waiter *waiter)
{
    static const ABT_eventual_memory fresh = ABT_EVENTUAL_INITIALIZER;

    waiter->eventual = fresh;
    waiter->is_of_one = true;
    atomic_init(&waiter->woken, 0u);
    atomic_init(&waiter->wakes, 0u);
}

void amg_margo_waiter_wait(struct amg_margo_waiter *waiter, unsigned count)
{
    ABT_eventual eventual = ABT_EVENTUAL_MEMORY_GET_HANDLE(&waiter->eventual);
    unsigned tries = 0;
    int rc = ABT_SUCCESS;

    if (count == 0)
        return;
    rc = ABT_eventual_wait(eventual, NULL);
    AMG_ASSERT(rc == ABT_SUCCESS); /* the caller is no tasklet */
    if (waiter->is_of_one && amg_margo_runtime_frees_eventuals())
        return;
    while (atomic_load_explicit(&waiter->wakes, memory_order_acquire) < count)
        amg_back_off(tries++);
}

bool amg_margo_waiter_wait_until(
    struct amg_margo_waiter *waiter, uint64_t deadline_ns)
{
    return amg_margo_runtime_eventual_wait(
        ABT_EVENTUAL_MEMORY_GET_HANDLE(&waiter->eventual), deadline_ns);
}

void amg_margo_waiter_wake(struct amg_margo_waiter *waiter)
{
    bool is_of_one = waiter->is_of_one;

    if (is_of_one || atomic_fetch_add_explicit(
                         &waiter->woken, 1u, memory_order_relaxed) == 0)
        (void)ABT_eventual_set(
            ABT_EVENTUAL_MEMORY_GET_HANDLE(&waiter->eventual), NULL, 0);
    if (!is_of_one)
        atomic_fetch_add_explicit(&waiter->wakes, 1u, memory_order_release);
    else if (!amg_margo_runtime_frees_eventuals())
        atomic_store_explicit(&waiter->wakes, 1u, memory_order_release);
}

static bool request_is_over(const struct margo_request_struct *req)
{
    return atomic_load_explicit(&req->state, memory_order_acquire) == OVER;
}

/* Changes the word `state`. False: the word is not `from`, and stays. */
static bool state_change(
    struct margo_request_struct *req, uintptr_t from, uintptr_t to)
{
    bool is_from = false;

    if (!amg_bias_lock_owned(&req->mid->biased_lock))
        return atomic_compare_exchange_strong_explicit(
            &req->state, &from, to, memory_order_acq_rel, memory_order_acquire);
    is_from = atomic_load_explicit(&req->state, memory_order_relaxed) == from;
    if (is_from)
        atomic_store_explicit(&req->state, to, memory_order_release);
    amg_bias_unlock(&req->mid->biased_lock);
    return is_from;
}

/* If another thread than the caller stands in for the loop, wakes that thread,
 * which may wait for the request that the caller has ended. */
static void stand_in_wake(margo_instance_id mid)
{
    ABT_thread thread =
        atomic_load_explicit(&mid->stands_in, memory_order_seq_cst);

    if (thread != ABT_THREAD_NULL && thread != amg_margo_self())
        amg_margo_wake(mid);
}

/* Marks the request as over, and counts the end of its operation; other threads
 * may then free the request and end the instance. Returns the former word. */
static uintptr_t state_end(struct margo_request_struct *req)
{
    margo_instance_id mid = req->mid;
    uintptr_t before = PENDING;

    if (!amg_bias_lock_owned(&mid->biased_lock)) {
        before =
            atomic_exchange_explicit(&req->state, OVER, memory_order_seq_cst);
        stand_in_wake(mid);
        amg_margo_operation_end(mid);
        return before;
    }
    before = atomic_load_explicit(&req->state, memory_order_relaxed);
    atomic_store_explicit(&req->state, OVER, memory_order_release);
    amg_margo_count_owned(&mid->operations, -1u);
    amg_bias_unlock(&mid->biased_lock);
    return before;
}

/* Sets the waiter. False: the request is over, or has another waiter. */
static bool request_attach(
    struct margo_request_struct *req, struct amg_margo_waiter *waiter)
{
    return state_change(req, PENDING, (uintptr_t)waiter);
}

/* Parks the calling thread until the request is over. False: the lock is
 * shared, the caller cannot park, or another thread waits for the request. */
static bool request_park(struct margo_request_struct *req)
{
    struct amg_bias *biased_lock = &req->mid->biased_lock;
    void *self = NULL;
    uintptr_t now = PENDING;

    if (amg_bias_is_shared(biased_lock))
        return false;
    self = amg_margo_runtime_self();
    if (self == NULL || !amg_bias_lock_owned(biased_lock))
        return false;
    now = atomic_load_explicit(&req->state, memory_order_relaxed);
    if (now != PENDING) {
        amg_bias_unlock(biased_lock);
        return now == OVER;
    }
    AMG_ASSERT(((uintptr_t)self & (OVER | PARKED)) == 0);
    atomic_store_explicit(
        &req->state, (uintptr_t)self + PARKED, memory_order_release);
    amg_margo_runtime_park(self, biased_lock);
    return true;
}

/* Refuses, with a log line, a caller that cannot wait: a tasklet, or a callback
 * of the progress loop, which would wait for itself. */
static AMG_NOINLINE hg_return_t wait_check_slowly(
    margo_instance_id mid, const char *what)
{
    if (amg_margo_is_tasklet()) {
        margo_error(mid,
            "%s in a tasklet, which cannot wait: use the `c` or the `i` form "
            "there, or a user-level thread (ABT_thread_create())",
            what);
        return HG_OPNOTSUPPORTED;
    }
    if (!amg_margo_is_loop(mid))
        return HG_SUCCESS;
    margo_error(mid,
        "%s in a callback of the progress loop would wait for itself; use the "
        "`c` or the `i` form there, and margo_test()",
        what);
    return HG_OTHER_ERROR;
}

static hg_return_t wait_check(margo_instance_id mid, const char *what)
{
    ABT_thread self = amg_margo_runtime_self();

    return AMG_LIKELY(
               self != ABT_THREAD_NULL && !amg_margo_thread_is_loop(mid, self))
               ? HG_SUCCESS
               : wait_check_slowly(mid, what);
}

static hg_return_t end_check(margo_instance_id mid, const char *what)
{
    return amg_margo_is_inherited(mid) ? amg_margo_refusal("margo_wait", mid)
                                       : wait_check(mid, what);
}

hg_return_t amg_margo_request_check(
    const struct amg_margo_form *form, margo_instance_id mid)
{
    if (!(form->timeout_ms >= 0)) {
        margo_error(mid,
            "a time limit of %g ms: must be positive, or 0 for no limit",
            form->timeout_ms);
        return HG_INVALID_ARG;
    }
    if (amg_margo_state_of(mid) >= AMG_MARGO_STOPPED) {
        if (amg_margo_is_inherited(mid))
            return amg_margo_refusal("a call of Margo", mid);
        margo_error(mid, "a call after the instance was finalized: no thread "
                         "makes progress any more");
        return HG_OTHER_ERROR;
    }
    return form->blocks ? wait_check(mid, "a call that blocks") : HG_SUCCESS;
}

hg_return_t amg_margo_request_create(const struct amg_margo_form *form,
    struct margo_request_struct *place, margo_instance_id mid,
    margo_request_type type, struct margo_request_struct **ret_req)
{
    struct margo_request_struct *req = place;
    hg_return_t rc = amg_margo_request_check(form, mid);

    if (rc != HG_SUCCESS)
        return rc;
    if (!form->blocks) {
        req = amg_pool_get(&mid->requests);
        if (req == NULL)
            return HG_NOMEM;
    }
    req->type = type;
    req->mid = mid;
    req->handle = HG_HANDLE_NULL;
    req->op_id = HG_OP_ID_NULL;
    req->ret = HG_SUCCESS;
    atomic_init(&req->state, PENDING);
    req->callback = form->callback;
    req->arg = form->arg;
    req->form = form;
    atomic_init(&req->refs, form->callback != NULL ? 2u : 1u);
    req->is_kept = !form->blocks;
    req->is_timed = form->timeout_ms > 0 && form->group == NULL;
    atomic_init(&req->is_late, false);
    atomic_init(&req->is_posted, false);
    req->monitor_data.p = NULL;
    *ret_req = req;
    return HG_SUCCESS;
}

static void request_free(struct margo_request_struct *req)
{
    AMG_ASSERT(req->is_kept);
    req->is_kept = false;
    amg_pool_put(&req->mid->requests, req);
}

static void request_unref(struct margo_request_struct *req)
{
    if (req->is_kept &&
        atomic_fetch_sub_explicit(&req->refs, 1u, memory_order_acq_rel) == 1u)
        request_free(req);
}

/* Is the request in use? False, logged: an earlier wait has freed it. */
static bool request_is_there(margo_request req, const char *caller)
{
    return AMG_LIKELY(req->is_kept) ||
           amg_contract_gone(caller, "request", req);
}

static void request_late(struct amg_margo_timer *timer, bool is_due)
{
    struct margo_request_struct *req =
        amg_container_of(timer, struct margo_request_struct, timer);

    (void)is_due; /* cancels also when the instance ends */
    atomic_store(&req->is_late, true);
    /* The operation cannot end meanwhile: its end waits for this function.
     * Before the post there is nothing to cancel: arms the timer again. */
    if (atomic_load(&req->is_posted))
        req->cancel(req);
    else
        (void)amg_margo_timer_arm(
            req->mid, timer, amg_clock_ns() + LATE_AGAIN_NS);
}

hg_return_t amg_margo_request_arm(
    const struct amg_margo_form *form, struct margo_request_struct *req)
{
    if (!req->is_timed)
        return HG_SUCCESS;
    req->timer.fire = request_late;
    req->due_ns = amg_margo_timer_due_ns(form->timeout_ms);
    return amg_margo_timer_arm(req->mid, &req->timer, req->due_ns)
               ? HG_SUCCESS
               : HG_OTHER_ERROR;
}

/* Cancels, in place of the loop, a request whose time limit has passed. */
static void request_expire(struct margo_request_struct *req)
{
    if (!amg_margo_timer_disarm(req->mid, &req->timer))
        return;
    atomic_store(&req->is_late, true);
    req->cancel(req);
}

static uint64_t takeover_ns(uint64_t due_ns)
{
    return due_ns < AMG_NO_DEADLINE - TAKEOVER_NS ? due_ns + TAKEOVER_NS
                                                  : AMG_NO_DEADLINE - 1;
}

/* Sets a watch over the loop. Waits only for a request with a time limit; after
 * the limit, cancels the request and makes progress until it is over. */
static void wait_beside_loop(
    struct margo_request_struct *req, struct amg_margo_waiter *waiter)
{
    amg_margo_watch_set(req->mid);
    if (!req->is_timed ||
        amg_margo_waiter_wait_until(waiter, takeover_ns(req->due_ns)))
        return;
    request_expire(req);
    amg_margo_loop_drive(
        req->mid, ABT_EVENTUAL_MEMORY_GET_HANDLE(&waiter->eventual));
}

/* Logs that another thread waits for the request; returns false. */
static bool other_waits(const char *caller, const void *req)
{
    return AMG_CONTRACT_OF(caller, false,
        "another thread waits for request %p, and will end it", req);
}

/* Waits until the request is over. False, logged: another thread waits. */
static bool request_wait(struct margo_request_struct *req)
{
    struct amg_margo_waiter waiter;
    bool may_stall = false;

    if (request_is_over(req) ||
        amg_margo_loop_stand_in(req->mid, &req->state, OVER))
        return true;
    may_stall = amg_margo_loop_may_stall(req->mid);
    if (!may_stall && request_park(req))
        return true;
    amg_margo_waiter_init(&waiter);
    AMG_TEST_POINT("request.not_over");
    if (!request_attach(req, &waiter))
        return request_is_over(req) || other_waits("margo_wait", req);
    if (may_stall)
        wait_beside_loop(req, &waiter);
    amg_margo_waiter_wait(&waiter, 1);
    return true;
}

/* A result: another thread waits for the request. */
enum { OTHERS_WAIT = HG_RETURN_MAX };

/* request_wait() with events for the monitor. May return OTHERS_WAIT. */
static hg_return_t request_wait_monitored(struct margo_request_struct *req)
{
    struct margo_monitor_wait_args args = {.request = req};

    AMG_MARGO_NOTIFY(req->mid, wait, MARGO_MONITOR_FN_START, &args);
    if (!AMG_LIKELY(request_wait(req)))
        return (hg_return_t)OTHERS_WAIT;
    args.ret = req->ret;
    AMG_MARGO_NOTIFY(req->mid, wait, MARGO_MONITOR_FN_END, &args);
    return args.ret;
}

hg_return_t amg_margo_request_posted(const struct amg_margo_form *form,
    struct margo_request_struct *req, hg_return_t rc)
{
    margo_instance_id mid = req->mid;

    if (rc != HG_SUCCESS) {
        if (req->is_kept)
            request_free(req);
        amg_margo_operation_end(mid); /* the instance may end now */
        return rc;
    }
    if (req->is_timed)
        atomic_store(&req->is_posted, true);
    if (form->blocks)
        return request_wait_monitored(req);
    if (form->callback != NULL)
        request_unref(req);
    else
        *form->ret_req = req;
    return HG_SUCCESS;
}

void amg_margo_request_end(struct margo_request_struct *req, hg_return_t ret)
{
    margo_instance_id mid = req->mid;
    uintptr_t before = PENDING;

    req->ret = ret;
    if (req->callback != NULL) {
        req->callback(req->arg, ret);
        request_unref(req);
        amg_margo_operation_end(mid);
        return;
    }
    before = state_end(req);
    AMG_TEST_POINT("request.ended");
    AMG_ASSERT(before != OVER);
    if ((before & PARKED) != 0)
        amg_margo_runtime_unpark((void *)(before - PARKED));
    else if (before != PENDING)
        amg_margo_waiter_wake((struct amg_margo_waiter *)before);
}

hg_return_t margo_wait(margo_request req)
{
    hg_return_t ret = HG_SUCCESS;

    if (!AMG_GIVEN(req) || !request_is_there(req, __func__))
        return HG_INVALID_ARG;
    if (!request_is_over(req))
        ret = end_check(req->mid, "margo_wait()");
    if (ret != HG_SUCCESS)
        return ret;
    ret = request_wait_monitored(req);
    if (ret == (hg_return_t)OTHERS_WAIT)
        return HG_INVALID_ARG;
    request_unref(req);
    return ret;
}

/* Is each request null, or in use? False, logged: a request was freed. */
static bool any_are_there(
    size_t count, const margo_request *reqs, const char *caller)
{
    for (size_t i = 0; i < count; i++)
        if (reqs[i] != MARGO_REQUEST_NULL && !request_is_there(reqs[i], caller))
            return false;
    return true;
}

/* The index of a request that is over, or `count`; `ret_some` is a request that
 * is not null, if any. */
static size_t any_find(
    size_t count, const margo_request *reqs, margo_request *ret_some)
{
    size_t i = 0;

    *ret_some = MARGO_REQUEST_NULL;
    for (i = 0; i < count; i++) {
        if (reqs[i] == MARGO_REQUEST_NULL)
            continue;
        *ret_some = reqs[i];
        if (request_is_over(reqs[i]))
            break;
    }
    return i;
}

/* Sets all elements that are `req` to null. */
static void any_forget(size_t count, margo_request *reqs, margo_request req)
{
    for (size_t i = 0; i < count; i++)
        if (reqs[i] == req)
            reqs[i] = MARGO_REQUEST_NULL;
}

/* The request whose limit passes first; NULL: none has a limit. */
static struct margo_request_struct *any_first_due(
    size_t count, const margo_request *reqs)
{
    struct margo_request_struct *first = NULL;

    for (size_t i = 0; i < count; i++) {
        struct margo_request_struct *req = reqs[i];

        if (req != NULL && req->is_timed &&
            (first == NULL || req->due_ns < first->due_ns))
            first = req;
    }
    return first;
}

/* Waits until a request wakes `waiter`, the waiter of all requests. */
static void any_wait_woken(
    size_t count, const margo_request *reqs, struct amg_margo_waiter *waiter)
{
    struct margo_request_struct *first = any_first_due(count, reqs);
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    for (size_t i = 0; i < count && mid == MARGO_INSTANCE_NULL; i++)
        if (reqs[i] != MARGO_REQUEST_NULL)
            mid = reqs[i]->mid;
    if (amg_margo_loop_may_stall(mid)) {
        amg_margo_watch_set(mid);
        if (first != NULL &&
            !amg_margo_waiter_wait_until(waiter, takeover_ns(first->due_ns))) {
            request_expire(first);
            amg_margo_loop_drive(
                mid, ABT_EVENTUAL_MEMORY_GET_HANDLE(&waiter->eventual));
        }
    }
    (void)ABT_eventual_wait(
        ABT_EVENTUAL_MEMORY_GET_HANDLE(&waiter->eventual), NULL);
}

/* Waits until a request is over, with one waiter for all requests. A request
 * that occurs twice becomes null in later elements, since a request wakes the
 * waiter only once. False, logged: another thread waits for a request. */
static bool any_wait(size_t count, margo_request *reqs)
{
    struct amg_margo_waiter waiter;
    bool is_over = false;
    unsigned wakes = 0;
    size_t attached = 0;

    amg_margo_waiter_init(&waiter);
    waiter.is_of_one = false;
    for (; attached < count && !is_over; attached++) {
        struct margo_request_struct *req = reqs[attached];

        if (req == NULL)
            continue;
        if (atomic_load_explicit(&req->state, memory_order_relaxed) ==
            (uintptr_t)&waiter)
            reqs[attached] = MARGO_REQUEST_NULL;
        else
            is_over = !request_attach(req, &waiter);
        AMG_TEST_POINT("request.attached_one");
    }
    /* The last request, over or with another waiter, was not attached. */
    if (is_over)
        attached--;
    else
        any_wait_woken(count, reqs, &waiter);
    for (size_t i = 0; i < attached; i++)
        if (reqs[i] != MARGO_REQUEST_NULL &&
            !state_change(reqs[i], (uintptr_t)&waiter, PENDING))
            wakes++;
    amg_margo_waiter_wait(&waiter, wakes);
    return !is_over || request_is_over(reqs[attached]) ||
           other_waits("margo_wait_any", reqs[attached]);
}

hg_return_t margo_wait_any(size_t count, margo_request *reqs, size_t *index)
{
    margo_request some = MARGO_REQUEST_NULL;
    size_t found = 0;
    hg_return_t ret = HG_SUCCESS;

    if (!AMG_GIVEN(index) ||
        !AMG_CONTRACT(reqs != NULL || count == 0,
            "reqs is NULL, but count is %zu", count) ||
        !any_are_there(count, reqs, __func__))
        return HG_INVALID_ARG;
    while ((found = any_find(count, reqs, &some)) == count &&
           some != MARGO_REQUEST_NULL) {
        ret = end_check(some->mid, "margo_wait_any()");
        if (ret == HG_SUCCESS && !any_wait(count, reqs))
            ret = HG_INVALID_ARG;
        if (ret != HG_SUCCESS)
            return ret;
    }
    *index = found;
    if (found == count)
        return HG_SUCCESS;
    some = reqs[found];
    ret = margo_wait(some);
    any_forget(count, reqs, some);
    return ret;
}

int margo_test(margo_request req, int *flag)
{
    if (!AMG_GIVEN(req) || !AMG_GIVEN(flag) || !request_is_there(req, __func__))
        return -1;
    /* Yields: a caller that tests repeatedly must let the progress loop run. */
    if (!request_is_over(req))
        (void)ABT_self_yield();
    *flag = request_is_over(req);
    return 0;
}

/* The sleep of a thread, on its stack. */
struct sleeper {
    struct amg_margo_timer timer;
    struct amg_margo_waiter waiter;
};

static void sleep_expire(struct amg_margo_timer *timer, bool is_due)
{
    (void)is_due; /* the end of the instance wakes the sleeper, too */
    amg_margo_waiter_wake(
        &amg_container_of(timer, struct sleeper, timer)->waiter);
}

static void sleep_for(margo_instance_id mid, double timeout_ms)
{
    struct sleeper sleeper = {.timer = {.fire = sleep_expire}};
    uint64_t now_ns = 0;
    uint64_t due_ns = amg_margo_timer_due_ns(timeout_ms);

    amg_margo_waiter_init(&sleeper.waiter);
    /* A callback of the loop cannot wait for a timer, which the loop fires; a
     * tasklet cannot wait at all; in a child of fork() there is no loop. */
    if (!amg_margo_is_loop(mid) && !amg_margo_is_tasklet() &&
        amg_margo_timer_arm(mid, &sleeper.timer, due_ns)) {
        /* A loop that stalls fires no timer: the thread ends its own sleep. */
        if (amg_margo_loop_may_stall(mid) &&
            !amg_margo_waiter_wait_until(&sleeper.waiter, due_ns) &&
            amg_margo_timer_disarm(mid, &sleeper.timer))
            return;
        amg_margo_waiter_wait(&sleeper.waiter, 1);
        return;
    }
    now_ns = amg_clock_ns();
    if (due_ns > now_ns)
        amg_clock_sleep_ns(due_ns - now_ns);
}

void margo_thread_sleep(margo_instance_id mid, double timeout_ms)
{
    struct margo_monitor_sleep_args args = {.timeout_ms = timeout_ms};

    if (!AMG_GIVEN(mid))
        return;
    AMG_MARGO_NOTIFY(mid, sleep, MARGO_MONITOR_FN_START, &args);
    if (timeout_ms > 0)
        sleep_for(mid, timeout_ms);
    else
        (void)ABT_self_yield();
    AMG_MARGO_NOTIFY(mid, sleep, MARGO_MONITOR_FN_END, &args);
}
