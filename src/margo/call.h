/* SPDX-License-Identifier: BSD-3-Clause */
/* The one operation that a handle may have in flight: a call, or an answer. */
#ifndef AMG_MARGO_CALL_H
#define AMG_MARGO_CALL_H

#include <stdbool.h>

#include "margo.h"
#include "margo/handle.h"
#include "margo/proc.h"
#include "margo/request.h"

/* HG_Forward() or HG_Respond(). */
typedef hg_return_t (*amg_margo_post_fn)(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *args);

/* Posts it in any form. Returns its result, or for a form that does not block
 * the result of the post. HG_BUSY: another one is in flight. */
hg_return_t amg_margo_call(struct amg_margo_handle *data,
    const struct amg_margo_form *form, margo_request_type type,
    amg_margo_post_fn post, struct amg_margo_args *args);

/* Cancels all calls of the instance that are in flight, where that is possible;
 * they still end by themselves. */
void amg_margo_calls_cancel(margo_instance_id mid);

#endif
