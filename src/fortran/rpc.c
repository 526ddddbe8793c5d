/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs of Fortran programs at their target: registration, handlers, answers.
 *
 * A handler gets a handle, which is that of HG. amalgam_respond() answers and
 * destroys the handle, in the handler or later. The handle of a one-way call is
 * destroyed when the handler returns. */
#include "base/mem.h"
#include "fortran/fort.h"

/* In amalgam.F90: calls a Fortran procedure. */
void amalgam_f_run_handler(void (*handler)(void), hg_handle_t *handle);

/* All RPCs of the process: a list that only grows, at its head. They are not
 * freed, because a program may still use a variable when the class is closed.
 */
static _Atomic(struct fort_rpc *) rpcs;

static hg_return_t serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct fort_rpc *rpc = HG_Registered_data(info->hg_class, info->id);
    bool is_oneway = rpc->is_oneway;
    hg_handle_t given = handle;

    amalgam_f_run_handler(rpc->handler, &given);
    if (is_oneway)
        (void)HG_Destroy(handle);
    return HG_SUCCESS;
}

/* Registers with HG what `rpc` says. */
static hg_return_t rpc_register(struct fort_rpc *rpc, const char *name)
{
    hg_class_t *cls = rpc->owner->cls;
    hg_return_t rc = HG_SUCCESS;

    rpc->id = HG_Register_name(cls, name,
        rpc->has_bulk ? amg_fort_bulk_message_proc : amg_fort_message_proc,
        rpc->is_oneway ? NULL : amg_fort_message_proc,
        rpc->handler == NULL ? NULL : serve);
    if (rpc->id == 0)
        return HG_OTHER_ERROR; /* the log has the reason */
    rc = HG_Register_data(cls, rpc->id, rpc, NULL);
    if (rc == HG_SUCCESS && rpc->is_oneway)
        rc = HG_Registered_disable_response(cls, rpc->id, HG_TRUE);
    if (rc != HG_SUCCESS)
        (void)HG_Deregister(cls, rpc->id);
    return rc;
}

/* `is_oneway` and `has_bulk` are 0 or 1. */
HG_PUBLIC void amalgam_f_register(struct fort_class *const *cls,
    const CFI_cdesc_t *name, struct fort_rpc **ret_rpc, void (*handler)(void),
    int is_oneway, int has_bulk, int *ierror)
{
    struct fort_rpc *rpc = amg_mem_zalloc(sizeof(*rpc));
    char *string = amg_fort_string(name);
    hg_return_t rc = HG_NOMEM;

    *ret_rpc = NULL;
    if (!FORT_GIVEN(*cls, "class")) {
        rc = HG_INVALID_ARG;
    } else if (is_oneway && has_bulk) {
        rc = amg_fort_refuse(__func__, "a one-way call carries no bulk handle");
    } else if (rpc != NULL && string != NULL) {
        rpc->owner = *cls;
        rpc->handler = handler;
        rpc->is_oneway = is_oneway != 0;
        rpc->has_bulk = has_bulk != 0;
        rc = rpc_register(rpc, string);
    }
    amg_mem_free(string);
    if (rc == HG_SUCCESS) {
        rpc->next = atomic_load(&rpcs);
        while (!atomic_compare_exchange_weak(&rpcs, &rpc->next, rpc))
            continue;
        *ret_rpc = rpc;
    } else {
        amg_mem_free(rpc);
    }
    FORT_END(rc);
}

void amg_fort_rpcs_close(const struct fort_class *cls)
{
    for (struct fort_rpc *rpc = atomic_load(&rpcs); rpc != NULL;
         rpc = rpc->next)
        if (rpc->owner == cls)
            rpc->owner = NULL;
}

HG_PUBLIC void amalgam_f_get_input(
    const hg_handle_t *handle, const CFI_cdesc_t *in, int *count, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*handle, "handle"))
        rc = amg_fort_message_get(
            *handle, HG_Get_input, HG_Free_input, in, count, __func__);
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_get_source(
    const hg_handle_t *handle, int *rank, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*handle, "handle")) {
        const struct hg_info *info = HG_Get_info(*handle);

        rc = amalgam_addr_get_rank(info->hg_class, info->addr, rank);
    }
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_get_bulk(
    const hg_handle_t *handle, struct fort_bulk **ret_bulk, int *ierror)
{
    struct fort_message message = {.is_size_only = true};
    struct fort_bulk *bulk = amg_mem_zalloc(sizeof(*bulk));
    const struct hg_info *info = NULL;
    hg_return_t rc = bulk == NULL ? HG_NOMEM : HG_INVALID_ARG;

    *ret_bulk = NULL;
    if (bulk == NULL || !FORT_GIVEN(*handle, "handle"))
        goto out;
    rc = HG_Get_input(*handle, &message);
    if (rc != HG_SUCCESS)
        goto out;
    info = HG_Get_info(*handle);
    if (message.bulk == HG_BULK_NULL) {
        amg_fort_refuse(__func__,
            "the call carries no bulk handle; register the RPC with "
            "bulk=.true. at both sides, and pass bulk= to the call");
        rc = HG_NOENTRY;
    } else {
        rc = HG_Addr_dup(info->hg_class, info->addr, &bulk->addr);
    }
    if (rc == HG_SUCCESS) {
        struct fort_rpc *rpc = HG_Registered_data(info->hg_class, info->id);

        bulk->owner = rpc->owner;
        bulk->handle = message.bulk;
        (void)HG_Bulk_ref_incr(bulk->handle);
        *ret_bulk = bulk;
        bulk = NULL;
    }
    (void)HG_Free_input(*handle, &message);
out:
    amg_mem_free(bulk);
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_respond(
    hg_handle_t *handle, const CFI_cdesc_t *out, int *ierror)
{
    struct fort_message message = {.len = 0};
    void *packed = NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*handle, "handle"))
        rc = amg_fort_message_begin(out, __func__, &message, &packed);
    if (rc == HG_SUCCESS)
        rc = HG_Respond(*handle, NULL, NULL, &message);
    if (rc == HG_SUCCESS) {
        (void)HG_Destroy(*handle);
        *handle = HG_HANDLE_NULL;
    }
    amg_mem_free(packed);
    FORT_END(rc);
}
