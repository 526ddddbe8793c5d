/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of a communicator: opening, ranks, addresses and library memory. */
#include <stddef.h>
#include <string.h>

#include "amalgam.h"
#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "core/addr.h"
#include "core/class.h"
#include "init/init.h"
#include "mpi_backend/mpi_public.h"

const char AMALGAM_MPI_FAMILY = 0;

void *amalgam_alloc(hg_class_t *hg_class, size_t len)
{
    void *ptr = NULL;

    if (!AMG_CLASS_OK(hg_class)) {
        (void)amg_refusal();
        return NULL;
    }
    ptr = amg_class_pool_alloc(hg_class->pool, len, AMG_CLASS_POOL_ANY);
    if (ptr != NULL)
        amg_class_count(hg_class, AMG_CLASS_ALLOCS, 1);
    return ptr;
}

hg_return_t amalgam_free(hg_class_t *hg_class, void *ptr)
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal_end();
    if (ptr == NULL)
        return HG_SUCCESS;
    amg_class_pool_free(hg_class->pool, ptr);
    amg_class_count(hg_class, AMG_CLASS_ALLOCS, -1);
    return HG_SUCCESS;
}

na_return_t NA_MPI_Set_init_intra_comm(MPI_Comm intra_comm)
{
    return amg_mpi_world_set(intra_comm) == HG_SUCCESS ? NA_SUCCESS
                                                       : NA_INVALID_ARG;
}

/* The class's MPI domain, or NULL with a line in the log. */
static struct amg_domain *class_domain(const hg_class_t *cls)
{
    struct amg_domain *domain = cls->domains[AMG_ROUTE_MPI];

    if (domain == NULL)
        AMG_LOG_ERROR("addr", "this class is not over MPI: it has no ranks");
    return domain;
}

hg_return_t amalgam_addr_rank(hg_class_t *hg_class, int rank, hg_addr_t *addr)
{
    struct amg_domain *domain = NULL;
    struct amg_peer *peer = NULL;
    struct hg_addr value;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(addr))
        return amg_refusal();
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_peer_of_rank(domain, rank, &peer);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_addr_init(hg_class, AMG_ROUTE_MPI, peer, &value);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_addr_create(&value, addr);
    amg_addr_fini(&value);
    return rc;
}

hg_return_t amalgam_addr_get_rank(
    hg_class_t *hg_class, hg_addr_t addr, int *rank)
{
    int found = 0;

    if (!AMG_CLASS_OK(hg_class) || !AMG_ADDR_OK(addr) || !AMG_GIVEN(rank) ||
        !AMG_CONTRACT(addr->cls == hg_class, "the address is of another class"))
        return amg_refusal();
    if (class_domain(hg_class) == NULL)
        return HG_OPNOTSUPPORTED;
    found = amg_addr_rank(addr);
    if (found < 0) {
        AMG_LOG_ERROR("addr", "this address is not of a rank of the class");
        return HG_ADDRNOTAVAIL;
    }
    *rank = found;
    return HG_SUCCESS;
}

/* Translates `rank` of `comm` to a rank of the class, or MPI_UNDEFINED. */
static hg_return_t rank_translate(
    struct amg_domain *domain, MPI_Comm comm, int rank, int *ret_rank)
{
    MPI_Group theirs = MPI_GROUP_NULL;
    MPI_Group ours = MPI_GROUP_NULL;
    hg_return_t rc = HG_NA_ERROR;
    int is_inter = 0;
    int size = 0;
    int err = MPI_Comm_test_inter(comm, &is_inter);

    if (err == MPI_SUCCESS)
        err = is_inter ? MPI_Comm_remote_group(comm, &theirs)
                       : MPI_Comm_group(comm, &theirs);
    if (err != MPI_SUCCESS)
        goto out;
    err = MPI_Comm_group(amg_mpi_comm(domain), &ours);
    if (err != MPI_SUCCESS)
        goto free_theirs;
    MPI_Group_size(theirs, &size);
    rc = HG_INVALID_ARG;
    if (rank < 0 || rank >= size) {
        AMG_LOG_ERROR("addr", "no rank %d in a communicator of %d", rank, size);
        goto free_ours;
    }
    err = MPI_Group_translate_ranks(theirs, 1, &rank, ours, ret_rank);
    rc = err == MPI_SUCCESS ? HG_SUCCESS : HG_NA_ERROR;

free_ours:
    MPI_Group_free(&ours);
free_theirs:
    MPI_Group_free(&theirs);
out:
    if (err != MPI_SUCCESS)
        AMG_LOG_ERROR("addr",
            "MPI cannot translate the rank between the groups: error %d", err);
    return rc;
}

hg_return_t amalgam_addr_comm_rank(
    hg_class_t *hg_class, MPI_Comm comm, int rank, hg_addr_t *addr)
{
    struct amg_domain *domain = NULL;
    int ours = MPI_UNDEFINED;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) ||
        !AMG_CONTRACT(comm != MPI_COMM_NULL, "comm is MPI_COMM_NULL") ||
        !AMG_GIVEN(addr))
        return amg_refusal();
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    rc = amg_mpi_calls_lock(domain);
    if (rc != HG_SUCCESS)
        return rc;
    rc = rank_translate(domain, comm, rank, &ours);
    amg_mpi_calls_unlock(domain);
    if (rc != HG_SUCCESS)
        return rc;
    if (ours == MPI_UNDEFINED) {
        AMG_LOG_ERROR("addr",
            "rank %d of the given communicator is not among the %d ranks of "
            "this class",
            rank, amg_mpi_size(domain));
        return HG_ADDRNOTAVAIL;
    }
    return amalgam_addr_rank(hg_class, ours, addr);
}

hg_return_t amalgam_class_ranks(hg_class_t *hg_class, int *rank, int *size)
{
    struct amg_domain *domain = NULL;

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    domain = class_domain(hg_class);
    if (domain == NULL)
        return HG_OPNOTSUPPORTED;
    if (rank != NULL)
        *rank =
            amg_mpi_rank_of_peer(domain, domain->transport->addr.self(domain));
    if (size != NULL)
        *size = amg_mpi_size(domain);
    return HG_SUCCESS;
}

enum { CONTEXTS_MAX = 256 };

/* Reads the options that the program's version of the struct has. False: no
 * initializer has set the size, or the size is that of a later version. */
static bool options_read(
    const struct amalgam_options *options, struct amalgam_options *ret_options)
{
    const struct amalgam_options defaults = AMALGAM_OPTIONS_INITIALIZER;

    *ret_options = defaults;
    if (options == NULL)
        return true;
    if (options->size < offsetof(struct amalgam_options, credits) ||
        options->size > sizeof(*options)) {
        AMG_LOG_ERROR("cls",
            "the options have %zu bytes: start from "
            "AMALGAM_OPTIONS_INITIALIZER, and run with the library version "
            "that the program was compiled against",
            options->size);
        return false;
    }
    memcpy(ret_options, options, options->size);
    return true;
}

static bool option_is_valid(
    const char *name, unsigned value, uint64_t min, uint64_t max)
{
    if (value == 0 || (value >= min && value <= max))
        return true;
    AMG_LOG_ERROR("cls", "option %s is %u; it must be from %llu to %llu", name,
        value, (unsigned long long)min, (unsigned long long)max);
    return false;
}

static bool options_are_valid(const struct amalgam_options *options)
{
    const struct amg_env_var *credits = amg_env_var(AMG_ENV_CREDITS);
    const struct amg_env_var *message = amg_env_var(AMG_ENV_MESSAGE_BYTES);

    return option_is_valid(
               "credits", options->credits, credits->min, credits->max) &&
           option_is_valid("message_bytes", options->message_bytes,
               message->min, message->max) &&
           option_is_valid("contexts", options->contexts, 1, CONTEXTS_MAX);
}

hg_class_t *amalgam_init(
    MPI_Comm comm, const char *transport, const struct amalgam_options *options)
{
    struct amalgam_options wanted;
    struct amg_init init = {.info = transport};
    hg_class_t *cls = NULL;

    if (!amg_mpi_comm_is_usable(comm) || !options_read(options, &wanted) ||
        !options_are_valid(&wanted))
        return NULL;
    init.how.job.comm = &comm;
    init.how.is_listening = !wanted.client_only;
    init.how.credits = wanted.credits;
    init.how.message_len = wanted.message_bytes;
    init.how.max_contexts = wanted.contexts;
    init.no_overflow = wanted.no_overflow != 0;
    init.no_bulk_eager = wanted.no_bulk_eager != 0;
    init.progress_options = wanted.progress;
    if (amg_init_class(&init, &cls) != HG_SUCCESS)
        return NULL;
    AMG_ASSERT(cls->domains[AMG_ROUTE_MPI] != NULL);
    return cls;
}

hg_return_t amalgam_finalize(hg_class_t *hg_class)
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal_end();
    return amg_init_finalize(hg_class, true);
}
