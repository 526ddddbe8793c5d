/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory of Fortran programs, and transfers. */
#include "base/mem.h"
#include "fortran/fort.h"

/* Wraps a handle of this rank's memory; frees the handle on failure. */
static hg_return_t bulk_wrap(
    struct fort_class *cls, hg_bulk_t handle, struct fort_bulk **ret_bulk)
{
    struct fort_bulk *bulk = amg_mem_zalloc(sizeof(*bulk));

    if (bulk == NULL) {
        (void)HG_Bulk_free(handle);
        return HG_NOMEM;
    }
    bulk->owner = cls;
    bulk->handle = handle;
    *ret_bulk = bulk;
    return HG_SUCCESS;
}

/* 0, which HG refuses, for flags that a byte does not have. */
static hg_uint8_t flags_of(int flags)
{
    return flags < 0 || flags > UINT8_MAX ? 0 : (hg_uint8_t)flags;
}

static hg_return_t array_expose(struct fort_class *cls,
    const CFI_cdesc_t *array, int flags, hg_bulk_t *ret_handle,
    const char *func)
{
    uint32_t count = 0;
    void **ptrs = NULL;
    hg_size_t *lens = NULL;
    hg_return_t rc = amg_fort_segments(array, func, &count, &ptrs, &lens);

    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_Bulk_create(
        cls->cls, count, ptrs, lens, flags_of(flags), ret_handle);
    amg_mem_free(ptrs);
    return rc;
}

HG_PUBLIC void amalgam_f_bulk_create(struct fort_class *const *cls,
    const CFI_cdesc_t *array, int flags, struct fort_bulk **bulk, int *ierror)
{
    hg_bulk_t handle = HG_BULK_NULL;
    hg_return_t rc = HG_INVALID_ARG;

    *bulk = NULL;
    if (FORT_GIVEN(*cls, "class"))
        rc = array_expose(*cls, array, flags, &handle, __func__);
    if (rc == HG_SUCCESS)
        rc = bulk_wrap(*cls, handle, bulk);
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_bulk_create_type(struct fort_class *const *cls,
    const CFI_cdesc_t *array, int count, const MPI_Fint *type, int flags,
    struct fort_bulk **bulk, int *ierror)
{
    hg_bulk_t handle = HG_BULK_NULL;
    hg_return_t rc = HG_INVALID_ARG;

    *bulk = NULL;
    if (FORT_GIVEN(*cls, "class") && amg_fort_has_bytes(array, __func__))
        rc = amalgam_bulk_create_type((*cls)->cls, array->base_addr, count,
            MPI_Type_f2c(*type), flags_of(flags), &handle);
    if (rc == HG_SUCCESS)
        rc = bulk_wrap(*cls, handle, bulk);
    FORT_END(rc);
}

FORT_ALIAS(amalgam_f_bulk_create_type);

HG_PUBLIC void amalgam_f_bulk_free(struct fort_bulk **bulk, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!FORT_GIVEN(*bulk, "bulk"))
        goto out;
    rc = HG_Bulk_free((*bulk)->handle);
    if (rc != HG_SUCCESS)
        goto out;
    if ((*bulk)->addr != HG_ADDR_NULL)
        (void)HG_Addr_free((*bulk)->owner->cls, (*bulk)->addr);
    amg_mem_free(*bulk);
    *bulk = NULL;
out:
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_bulk_get_size(
    struct fort_bulk *const *bulk, int64_t *size, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*bulk, "bulk")) {
        *size = (int64_t)HG_Bulk_get_size((*bulk)->handle);
        rc = HG_SUCCESS;
    }
    FORT_END(rc);
}

/* Begins to move bytes between the memory of another rank and this rank's. */
static hg_return_t transfer_begin(int op, const struct fort_bulk *remote,
    int64_t remote_offset, hg_bulk_t local, int64_t local_offset, int64_t size,
    struct fort_request *request, const char *func)
{
    hg_addr_t addr = remote->addr;
    hg_return_t rc = HG_SUCCESS;

    if (remote_offset < 0 || local_offset < 0 || size < 0)
        return amg_fort_refuse(func,
            "a negative offset or size: remote_offset %lld, local_offset %lld, "
            "size %lld",
            (long long)remote_offset, (long long)local_offset, (long long)size);
    *request = (struct fort_request){.owner = remote->owner};
    if (addr == HG_ADDR_NULL)
        rc = HG_Addr_self(remote->owner->cls, &addr);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_Bulk_transfer(remote->owner->context, amg_fort_request_ended,
        request, (hg_bulk_op_t)op, addr, remote->handle,
        (hg_size_t)remote_offset, local, (hg_size_t)local_offset,
        (hg_size_t)size, HG_OP_ID_IGNORE);
    if (addr != remote->addr)
        (void)HG_Addr_free(remote->owner->cls, addr);
    return rc;
}

HG_PUBLIC void amalgam_f_bulk_itransfer(int op, struct fort_bulk *const *remote,
    int64_t remote_offset, struct fort_bulk *const *local, int64_t local_offset,
    int64_t size, struct fort_request **ret_request, int *ierror)
{
    struct fort_request *request = amg_mem_alloc(sizeof(*request));
    hg_return_t rc = request == NULL ? HG_NOMEM : HG_INVALID_ARG;

    *ret_request = NULL;
    if (request != NULL && FORT_GIVEN(*remote, "remote") &&
        FORT_GIVEN(*local, "local"))
        rc = transfer_begin(op, *remote, remote_offset, (*local)->handle,
            local_offset, size, request, __func__);
    if (rc == HG_SUCCESS)
        *ret_request = request;
    else
        amg_mem_free(request);
    FORT_END(rc);
}

/* Moves all bytes of an array of this rank from or to `offset` of the remote
 * memory, and waits. */
static hg_return_t array_move(int op, const struct fort_bulk *remote,
    const CFI_cdesc_t *array, int64_t offset, const char *func)
{
    struct fort_request request;
    hg_bulk_t local = HG_BULK_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!amg_fort_given(remote, "remote", func))
        return HG_INVALID_ARG;
    rc = array_expose(remote->owner, array,
        op == HG_BULK_PUSH ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY, &local,
        func);
    if (rc != HG_SUCCESS)
        return rc;
    rc = transfer_begin(op, remote, offset, local, 0,
        (int64_t)HG_Bulk_get_size(local), &request, func);
    if (rc == HG_SUCCESS)
        rc = amg_fort_wait(&request, NULL);
    (void)HG_Bulk_free(local);
    return rc;
}

HG_PUBLIC void amalgam_f_bulk_pull(struct fort_bulk *const *remote,
    const CFI_cdesc_t *array, const int64_t *offset, int *ierror)
{
    FORT_END(array_move(
        HG_BULK_PULL, *remote, array, offset == NULL ? 0 : *offset, __func__));
}

HG_PUBLIC void amalgam_f_bulk_push(struct fort_bulk *const *remote,
    const CFI_cdesc_t *array, const int64_t *offset, int *ierror)
{
    FORT_END(array_move(
        HG_BULK_PUSH, *remote, array, offset == NULL ? 0 : *offset, __func__));
}
