/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: operations that a thread waits for, behind margo_request. */
#ifndef AMG_MARGO_REQUEST_H
#define AMG_MARGO_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "amalgam_group.h"
#include "base/list.h"
#include "margo.h"
#include "margo/loop.h"

/* A wait for one or several requests, on the stack of the waiting thread. */
struct amg_margo_waiter {
    ABT_eventual_memory eventual;
    bool is_of_one;    /* a single request wakes the thread, once */
    atomic_uint woken; /* wakers so far; the first sets `eventual` */
    /* Number of wakers that do not access this waiter again. The release writes
     * of wakers pair with the acquire load of the waiting thread. */
    atomic_uint wakes;
};

struct amg_margo_form;

/* Owned by the call that blocks, on its stack; by the program, from an `i` form
 * (margo_iforward()) to margo_wait(); or by the operation, in a `c` form (which
 * has a callback). Requests of both forms lie in the instance's pool, whose
 * memory holds nothing but requests. So margo_wait() recognises a request that
 * was waited for before, until a new request uses that request's memory. */
struct margo_request_struct {
    /* The pool uses these two words of a free request, but not is_kept. */
    margo_request_type type;
    margo_instance_id mid;
    hg_handle_t handle; /* NULL: a bulk transfer */
    hg_op_id_t op_id;   /* of a bulk transfer */
    hg_return_t ret;    /* valid when the request is over */
    /* 0: pending; 1: over; else the address of the waiter, or the address of
     * the parked thread plus 2. The change to 1 publishes `ret` to the acquire
     * loads of the waiting thread, and is the last access to the request by the
     * thread that ends the request. */
    atomic_uintptr_t state;
    /* Of the `c` forms. */
    void (*callback)(void *arg, hg_return_t ret);
    void *arg;
    /* Valid during the post; of a form that blocks, until its end. */
    const struct amg_margo_form *form;
    atomic_uint refs; /* of the poster, and of the operation */
    bool is_kept;     /* from the instance's pool, and not freed */
    /* A time limit: fire() of `timer` cancels the operation, whose end disarms
     * the timer, and so waits for fire(). Before the post there is nothing to
     * cancel: fire() arms the timer again. */
    bool is_timed;
    uint64_t due_ns;     /* when the limit passes, by amg_clock_ns() */
    atomic_bool is_late; /* the limit has passed */
    atomic_bool is_posted;
    struct amg_margo_timer timer;
    void (*cancel)(struct margo_request_struct *req);
    struct amg_link link; /* of bulk transfers in flight; see bulk.c */
    margo_monitor_data_t monitor_data;
};

/* Form of an operation; the public forms of a call differ in nothing else. */
struct amg_margo_form {
    double timeout_ms; /* 0: no limit */
    void (*callback)(void *arg, hg_return_t ret);
    void *arg; /* also of `each` */
    margo_request *ret_req;
    bool blocks;              /* no callback, no ret_req */
    amalgam_group_t group;    /* HG ends the call in time; NULL: no group */
    amalgam_gather_cb_t each; /* NULL: does not gather */
};

/* Fails, logged, if the time limit is invalid, the instance has ended, or the
 * form blocks, and the caller cannot wait. */
hg_return_t amg_margo_request_check(
    const struct amg_margo_form *form, margo_instance_id mid);

/* Creates a request for a form: in `place`, on the caller's stack, if the form
 * blocks, else in the instance's pool. Fails also without memory. */
hg_return_t amg_margo_request_create(const struct amg_margo_form *form,
    struct margo_request_struct *place, margo_instance_id mid,
    margo_request_type type, struct margo_request_struct **ret_req);

/* Starts the time limit; called before the post. HG_OTHER_ERROR: the instance
 * has ended. */
hg_return_t amg_margo_request_arm(
    const struct amg_margo_form *form, struct margo_request_struct *req);

/* Called after the post. After a failure: frees the request, and counts the end
 * of its operation. After a success: waits for the operation of a form that
 * blocks, and gives the program the request of an `i` form. Returns the result
 * of a form that blocks, else `rc` of the post. */
hg_return_t amg_margo_request_posted(const struct amg_margo_form *form,
    struct margo_request_struct *req, hg_return_t rc);

/* Ends the operation, once: runs the callback, or wakes the waiting thread. */
void amg_margo_request_end(struct margo_request_struct *req, hg_return_t ret);

/* Stops the request's timer; not called by fire() of that timer. */
static inline void amg_margo_request_disarm(struct margo_request_struct *req)
{
    if (req->is_timed)
        amg_margo_timer_disarm(req->mid, &req->timer);
}

/* Cancels the calls of the instance that are in flight, where possible
 * (call.c), and its transfers that have a time limit (bulk.c). A cancelled
 * call or transfer still ends by its own callback. */
void amg_margo_calls_cancel(margo_instance_id mid);
void amg_margo_bulk_cancel(margo_instance_id mid);

/* Open and close the instance's pool of requests; close keeps the memory of the
 * pool for requests of later instances, unless a request is in use. */
void amg_margo_requests_open(margo_instance_id mid);
void amg_margo_requests_close(margo_instance_id mid);

/* Waiters also serve waits for other events than requests. wait() returns after
 * `count` wake-ups. For a count above 1 the caller has cleared `is_of_one`. */
void amg_margo_waiter_init(struct amg_margo_waiter *waiter);
void amg_margo_waiter_wait(struct amg_margo_waiter *waiter, unsigned count);
void amg_margo_waiter_wake(struct amg_margo_waiter *waiter);
/* Waits for the first wake-up, or until the deadline. False: the deadline has
 * passed. After true, amg_margo_waiter_wait() waits until the waker is done. */
bool amg_margo_waiter_wait_until(
    struct amg_margo_waiter *waiter, uint64_t deadline_ns);

#endif
