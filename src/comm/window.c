/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposes this rank's part of a window of the program. */
#include "amalgam.h"
#include "base/assert.h"
#include "base/log.h"
#include "core/class.h"
#include "mercury_bulk.h"
#include "mpi_backend/mpi_public.h"

/* HG_INVALID_ARG: that is not inside of it. */
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

    if (!AMG_CONTRACT(hg_class != NULL && handle != NULL))
        return HG_INVALID_ARG;
    if (win == MPI_WIN_NULL) {
        AMG_LOG_ERROR("bulk", "the window is MPI_WIN_NULL");
        return HG_INVALID_ARG;
    }
    domain = hg_class->domains[AMG_ROUTE_MPI];
    if (domain == NULL) {
        AMG_LOG_ERROR("bulk", "this class is not over MPI: its peers have no "
                              "part in a window");
        return HG_OPNOTSUPPORTED;
    }
    rc = amg_mpi_window_learn(domain, win, &part);
    if (rc == HG_SUCCESS)
        rc = range_check(&part, offset, &len);
    if (rc != HG_SUCCESS)
        return rc;
    ptr = (char *)part.base + offset;
    return HG_Bulk_create(hg_class, 1, &ptr, &len, flags, handle);
}
