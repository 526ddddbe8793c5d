/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposure of this rank's part of a window of the program. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/log.h"
#include "core/class.h"
#include "mercury_bulk.h"
#include "mpi_backend/mpi_public.h"

/* Reads the memory of this rank in the window. HG_INVALID_ARG: it is dynamic.
 */
static hg_return_t part_read(MPI_Win win, struct amg_segment *ret_part)
{
    void *base = NULL;
    MPI_Aint *len = NULL;
    int *flavor = NULL;
    int flag = 0;

    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    if (!flag || *flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        AMG_LOG_ERROR("bulk", "a dynamic window has no memory of its own: pass "
                              "the attached memory to HG_Bulk_create()");
        return HG_INVALID_ARG;
    }
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &len, &flag);
    *ret_part = (struct amg_segment){base, (uint64_t)*len};
    return HG_SUCCESS;
}

/* HG_INVALID_ARG: the range is not inside the window. */
static hg_return_t range_check(
    const struct amg_segment *part, hg_size_t offset, hg_size_t *len)
{
    if (offset <= part->len && *len == AMALGAM_REST)
        *len = part->len - offset;
    if (offset <= part->len && *len <= part->len - offset)
        return HG_SUCCESS;
    AMG_LOG_ERROR("bulk",
        "%llu bytes at offset %llu are not inside the %llu bytes that this "
        "rank has in the window",
        (unsigned long long)*len, (unsigned long long)offset,
        (unsigned long long)part->len);
    return HG_INVALID_ARG;
}

hg_return_t amalgam_bulk_from_win(hg_class_t *hg_class, MPI_Win win,
    hg_size_t offset, hg_size_t len, hg_uint8_t flags, hg_bulk_t *handle)
{
    struct amg_domain *domain = NULL;
    struct amg_segment part = {0};
    void *ptr = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(handle))
        return amg_refusal();
    if (win == MPI_WIN_NULL) {
        AMG_LOG_ERROR("bulk", "the window is MPI_WIN_NULL");
        return HG_INVALID_ARG;
    }
    domain = hg_class->domains[AMG_ROUTE_MPI];
    if (domain == NULL) {
        AMG_LOG_ERROR(
            "bulk", "this class is not over MPI, and takes no window");
        return HG_OPNOTSUPPORTED;
    }
    rc = amg_mpi_calls_lock(domain);
    if (rc != HG_SUCCESS)
        return rc;
    rc = part_read(win, &part);
    amg_mpi_calls_unlock(domain);
    if (rc == HG_SUCCESS)
        rc = range_check(&part, offset, &len);
    if (rc != HG_SUCCESS)
        return rc;
    ptr = (char *)part.base + offset;
    return HG_Bulk_create(hg_class, 1, &ptr, &len, flags, handle);
}
