/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposure of memory that an MPI datatype describes. */
#include <string.h>

#include "amalgam.h"
#include "base/assert.h"
#include "mpi_api/layout.h"
#include "base/log.h"
#include "bulk/bulk.h"
#include "mpi_backend/mpi_public.h"

/* Linux maps no memory below this address by default (vm.mmap_min_addr). */
#define ADDRESS_MIN 4096u

/* Argument of segments_fill(). */
struct filling {
    const struct amg_mpi_api_layout *layout;
    void *buf;
};

/* Packs 0 elements of the type: MPI_Pack() fails if the type is not committed,
 * or invalid. MPI_Pack_size() would not do, as Open MPI does not check the type
 * there. MPI does not abort, since the communicator returns errors. */
static bool type_is_usable(hg_class_t *cls, MPI_Datatype type)
{
    MPI_Comm comm = amg_mpi_comm(cls->domains[AMG_ROUTE_MPI]);
    char text[MPI_MAX_ERROR_STRING] = "";
    char none = 0;
    int len = 0;
    int err = MPI_SUCCESS;

    if (type == MPI_DATATYPE_NULL) {
        AMG_LOG_ERROR("bulk", "the datatype is MPI_DATATYPE_NULL");
        return false;
    }
    err = MPI_Pack(&none, 0, type, text, 0, &len, comm);
    if (err == MPI_SUCCESS)
        return true;
    MPI_Error_string(err, text, &len);
    AMG_LOG_ERROR("bulk",
        "the datatype cannot be used: call MPI_Type_commit() first, and "
        "MPI_Type_free() only afterwards; MPI: %s",
        text);
    return false;
}

/* Are the addresses of bytes `low` to `high` of the buffer valid? */
static bool places_are_valid(const void *buf, int64_t low, int64_t high)
{
    uint64_t base = (uint64_t)(uintptr_t)buf;

    if ((low < 0 && base < 0 - (uint64_t)low) ||
        (high > 0 && base > UINT64_MAX - (uint64_t)high)) {
        AMG_LOG_ERROR("bulk",
            "buffer 0x%llx with a datatype that reaches from %lld to %lld "
            "bytes: the addresses overflow",
            (unsigned long long)base, (long long)low, (long long)high);
        return false;
    }
    if (base + (uint64_t)low < ADDRESS_MIN) {
        AMG_LOG_ERROR("bulk",
            "buffer 0x%llx with a datatype that begins at byte %lld: no memory "
            "is there; a buffer of NULL is MPI_BOTTOM, and is for types made "
            "of absolute addresses (MPI_Get_address)",
            (unsigned long long)base, (long long)low);
        return false;
    }
    return true;
}

static void segments_fill(void *arg, struct amg_segment *ret_segments)
{
    const struct filling *filling = arg;

    if (filling->layout->count == 0)
        ret_segments[0] = (struct amg_segment){.base = filling->buf};
    else
        amg_mpi_api_layout_fill(
            filling->layout, (uint64_t)(uintptr_t)filling->buf, ret_segments);
}

static hg_return_t layout_expose(hg_class_t *cls, void *buf,
    const struct amg_mpi_api_layout *layout, uint8_t flags, hg_bulk_t *ret_bulk)
{
    struct filling filling = {.layout = layout, .buf = buf};
    uint64_t count = amg_mpi_api_layout_count(layout);

    if (count > UINT32_MAX) {
        AMG_LOG_ERROR("bulk", "2^32 segments or more do not fit into a "
                              "descriptor; expose the memory in parts");
        return HG_OVERFLOW;
    }
    if (count > 0 && !places_are_valid(buf, layout->low, layout->high))
        return HG_INVALID_ARG;
    return amg_bulk_make_exposed(cls, count == 0 ? 1 : (uint32_t)count, flags,
        segments_fill, &filling, ret_bulk);
}

/* Has MPI check the type, then computes the layout of `count` elements. */
static hg_return_t type_lay_out(hg_class_t *cls, MPI_Datatype type,
    MPI_Count count, struct amg_mpi_api_layout *layout)
{
    const struct amg_domain *domain = cls->domains[AMG_ROUTE_MPI];
    hg_return_t rc = amg_mpi_calls_lock(domain);

    if (rc != HG_SUCCESS)
        return rc;
    if (!type_is_usable(cls, type))
        rc = HG_INVALID_ARG;
    if (rc == HG_SUCCESS)
        rc = amg_mpi_api_type_flatten(type, layout);
    if (rc == HG_SUCCESS)
        rc = amg_mpi_api_layout_repeat(
            layout, count, amg_mpi_api_type_extent(type));
    amg_mpi_calls_unlock(domain);
    return rc;
}

hg_return_t amalgam_bulk_create_type(hg_class_t *hg_class, void *buf,
    MPI_Count count, MPI_Datatype type, hg_uint8_t flags, hg_bulk_t *handle)
{
    struct amg_mpi_api_layout layout;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(handle))
        return amg_refusal();
    if (!AMG_CONTRACT(flags != 0 && (flags & ~HG_BULK_READWRITE) == 0,
            "flags is 0x%x; it must be HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY "
            "or HG_BULK_READWRITE",
            flags))
        return HG_INVALID_ARG;
    if (hg_class->domains[AMG_ROUTE_MPI] == NULL) {
        AMG_LOG_ERROR("bulk", "this class is not over MPI, and takes no "
                              "datatypes; use HG_Bulk_create() with segments");
        return HG_OPNOTSUPPORTED;
    }
    if (count < 0) {
        AMG_LOG_ERROR("bulk",
            "%lld elements of a datatype: the count is negative",
            (long long)count);
        return HG_INVALID_ARG;
    }
    amg_mpi_api_layout_init(&layout);
    rc = type_lay_out(hg_class, type, count, &layout);
    if (rc == HG_SUCCESS)
        rc = layout_expose(hg_class, buf, &layout, flags, handle);
    amg_mpi_api_layout_fini(&layout);
    return rc;
}
