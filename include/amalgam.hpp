/* SPDX-License-Identifier: BSD-3-Clause */
/* Thallium between the ranks of a communicator: amalgam_margo.h in C++.
 *
 *   amalgam::engine engine(MPI_COMM_WORLD);
 *   engine.define("add", [](const tl::request &req, int x, int y) {
 *       req.respond(x + y);
 *   });
 *   int sum = engine.define("add").on(engine.endpoint(0))(2, 3); */
#ifndef AMALGAM_HPP
#define AMALGAM_HPP

/* mpi.h must not include the C++ bindings of MPI 2, which need a library. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif

#include <string>
#include <amalgam.h>
#include <amalgam_margo.h>
#include <thallium.hpp>

namespace amalgam
{

/**
 * For `info` of an engine: the rank answers calls also while it computes or
 * sits in an MPI call. Needs MPI_THREAD_MULTIPLE.
 *
 *   amalgam::engine engine(MPI_COMM_WORLD, nullptr, amalgam::always_served);
 */
static const margo_init_info *const always_served =
    &amalgam_margo_always_served;

/**
 * An engine whose peers are the ranks of a communicator. Copies refer to the
 * same engine, and so do copies as thallium::engine.
 *
 * finalize() ends the engines of all ranks together: a rank serves the others
 * until all ranks have called finalize(). The last copy's destructor calls
 * finalize() if nobody has, so destroy all copies before MPI_Finalize().
 */
class engine : public thallium::engine
{
    void open(MPI_Comm comm, const char *transport, const margo_init_info *info)
    {
        margo_instance_id mid = amalgam_margo_init(comm, transport, info);

        if (mid == MARGO_INSTANCE_NULL)
            MARGO_THROW(amalgam_margo_init, HG_OTHER_ERROR,
                "cannot open an engine over the communicator; the log says "
                "why");
        adopt(mid, false);
    }

    hg_class_t *hg_class() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        return margo_get_class(get_margo_instance());
    }

  public:
    /** Refers to no engine. */
    engine() noexcept = default;

    /**
     * Opens an engine over the ranks of a communicator: a collective call. The
     * communicator stays the caller's. For transport and info see
     * amalgam_margo_init(). Throws margo_exception.
     */
    explicit engine(MPI_Comm comm, const char *transport = nullptr,
        const margo_init_info *info = nullptr)
    {
        open(comm, transport, info);
    }

    /**
     * Opens an engine with a configuration as JSON text, such as
     * {"use_progress_thread": true, "rpc_thread_count": 2}. MARGO-CONFIG.md of
     * include/ in the sources lists all keys. Throws margo_exception.
     */
    engine(MPI_Comm comm, const char *transport, const std::string &config)
    {
        margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

        info.json_config = config.c_str();
        open(comm, transport, &info);
    }

    /** Opens an engine with pools of the program. Throws margo_exception. */
    engine(MPI_Comm comm, const char *transport,
        const thallium::pool &progress_pool, const thallium::pool &handler_pool)
    {
        margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

        info.progress_pool = progress_pool.native_handle();
        info.rpc_pool = handler_pool.native_handle();
        open(comm, transport, &info);
    }

    /**
     * The address of a rank, in constant time and without a message. Throws
     * margo_exception if there is no such rank.
     */
    thallium::endpoint endpoint(int rank) const
    {
        hg_addr_t addr = HG_ADDR_NULL;

        if (rank < 0 || rank >= size())
            MARGO_THROW(endpoint, HG_INVALID_ARG,
                "there is no rank " + std::to_string(rank) +
                    ": the engine has ranks 0 to " +
                    std::to_string(size() - 1));
        MARGO_ASSERT(
            amalgam_addr_rank(hg_class(), rank, &addr), amalgam_addr_rank);
        return thallium::endpoint(*this, addr);
    }

    /**
     * The address of a rank of another communicator of this process. Throws
     * margo_exception if the engine does not have that process.
     */
    thallium::endpoint endpoint(MPI_Comm comm, int rank) const
    {
        hg_addr_t addr = HG_ADDR_NULL;

        MARGO_ASSERT(amalgam_addr_comm_rank(hg_class(), comm, rank, &addr),
            amalgam_addr_comm_rank);
        return thallium::endpoint(*this, addr);
    }

    /**
     * The rank that an endpoint names, for instance request::get_endpoint().
     * Throws margo_exception if the endpoint names no rank of this engine.
     */
    int rank_of(const thallium::endpoint &peer) const
    {
        int rank = 0;

        MARGO_ASSERT(amalgam_addr_get_rank(hg_class(), peer.get_addr(), &rank),
            amalgam_addr_get_rank);
        return rank;
    }

    /** The rank of this process. Throws margo_exception. */
    int rank() const
    {
        int rank = 0;

        MARGO_ASSERT(amalgam_class_ranks(hg_class(), &rank, nullptr),
            amalgam_class_ranks);
        return rank;
    }

    /** The number of ranks. Throws margo_exception. */
    int size() const
    {
        int size = 0;

        MARGO_ASSERT(amalgam_class_ranks(hg_class(), nullptr, &size),
            amalgam_class_ranks);
        return size;
    }
};

} /* namespace amalgam */

#endif
