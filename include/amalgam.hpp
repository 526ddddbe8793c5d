/* SPDX-License-Identifier: BSD-3-Clause */
/* Thallium between the ranks of a communicator: amalgam_margo.h in C++.
 *
 *   amalgam::engine engine(MPI_COMM_WORLD);
 *   engine.define("add", [](const tl::request &req, int x, int y) {
 *       req.respond(x + y);
 *   });
 *   int sum = engine.define("add").on(engine.endpoint(0))(2, 3);
 *
 * A call to all ranks, or to some, with the answers folded on their way:
 *
 *   auto vote = engine.define("vote", handler);
 *   vote.reduce<int>([](const int &from, int &inout) { inout += from; });
 *   int votes = vote.on(amalgam::group::all())(argument); */
#ifndef AMALGAM_HPP
#define AMALGAM_HPP

/* mpi.h must not include the C++ bindings of MPI 2, which need a library. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <amalgam.h>
#include <amalgam_group_margo.h>
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
    friend class group;

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

    /**
     * Returns when in the whole engine no call is unanswered and no handler
     * runs, with all that calls and handlers have caused: a collective call,
     * not for handlers. Other threads of this process run meanwhile. See
     * margo_quiesce() of amalgam_group_margo.h. Throws margo_exception.
     */
    void quiesce() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        MARGO_ASSERT(margo_quiesce(get_margo_instance(), 0), margo_quiesce);
    }

    /**
     * Waits for a limited time, or without limit if `limit` is 0. False: the
     * time is over; the next call goes on with the wait.
     */
    template <typename Rep, typename Period>
    bool quiesce(const std::chrono::duration<Rep, Period> &limit) const
    {
        double timeout_ms = thallium::detail::milliseconds_of(limit);
        hg_return_t ret = HG_SUCCESS;

        MARGO_INSTANCE_MUST_BE_VALID;
        ret = margo_quiesce(get_margo_instance(), timeout_ms);
        if (ret != HG_TIMEOUT)
            MARGO_ASSERT(ret, margo_quiesce);
        return ret == HG_SUCCESS;
    }
};

/** A call to a group has failed: on some ranks, which the exception names. */
class group_exception : public thallium::margo_exception
{
    std::vector<int> m_ranks;
    std::vector<hg_return_t> m_codes;

  public:
    /** `code` is that of the call; a rank and its code have the same place. */
    group_exception(hg_return_t code, const std::string &message,
        std::vector<int> ranks, std::vector<hg_return_t> codes)
        : margo_exception(
              "margo_forward_group", __FILE__, __LINE__, code, message),
          m_ranks(std::move(ranks)), m_codes(std::move(codes))
    {
    }

    /** The ranks that failed, in ascending order; none without memory. */
    const std::vector<int> &ranks() const noexcept
    {
        return m_ranks;
    }

    /** Why each of these ranks failed, such as HG_TIMEOUT. */
    const std::vector<hg_return_t> &codes() const noexcept
    {
        return m_codes;
    }
};

/**
 * An RPC that is bound to a group, by remote_procedure::on(). The object owns
 * one handle, so only one call may be under way at a time.
 *
 * operator() and timed() throw group_exception if ranks have failed,
 * margo_exception if nothing was sent, and what the arguments' serialization
 * throws.
 */
class group_callable
{
    thallium::detail::handle_ref m_handle;
    std::shared_ptr<struct amalgam_group> m_group;

    [[noreturn]] void fail(hg_return_t code) const
    {
        const int *ranks = nullptr;
        const hg_return_t *codes = nullptr;
        std::size_t count = 0;
        std::string message = m_handle.name() + " on a group: ";

        if (amalgam_group_failed(m_handle.get(), &count, &ranks, &codes) !=
            HG_SUCCESS)
            count = 0;
        message += count > 0
                       ? std::to_string(count) + " ranks failed, rank " +
                             std::to_string(ranks[0]) + " with " +
                             thallium::translate_margo_error_code(codes[0])
                       : thallium::translate_margo_error_code(code);
        throw group_exception(code, message,
            std::vector<int>(ranks, ranks + count),
            std::vector<hg_return_t>(codes, codes + count));
    }

    template <typename... T>
    thallium::packed_data<> call(double timeout_ms, const T &...args) const
    {
        std::tuple<> context;
        thallium::detail::objects_coder<std::tuple<>, const T...> coder(
            context, m_handle.mid(), args...);
        margo_request request = MARGO_REQUEST_NULL;
        hg_return_t ret = margo_iforward_group_timed(m_group.get(),
            m_handle.get(), coder.to_encode(), timeout_ms, &request);

        thallium::detail::check_encoded(
            m_handle, true, coder, "margo_iforward_group_timed", ret);
        ret = margo_wait(request);
        if (ret != HG_SUCCESS)
            fail(ret);
        return thallium::packed_data<>(m_handle, false, std::tuple<>());
    }

  public:
    /** Binds a handle that was created for the RPC. */
    group_callable(thallium::detail::handle_ref handle,
        std::shared_ptr<struct amalgam_group> group)
        : m_handle(std::move(handle)), m_group(std::move(group))
    {
    }

    /**
     * Calls all ranks with the arguments, waits, and returns the folded answer,
     * or no data if remote_procedure::reduce() was not called.
     */
    template <typename... T>
    thallium::packed_data<> operator()(const T &...args) const
    {
        return call(0, args...);
    }

    /** Calls for a limited time: late ranks fail with HG_TIMEOUT. */
    template <typename Rep, typename Period, typename... T>
    thallium::packed_data<> timed(
        const std::chrono::duration<Rep, Period> &limit, const T &...args) const
    {
        return call(thallium::detail::milliseconds_of(limit), args...);
    }
};

/** Ranks of an engine. Copies refer to the same group. */
class group
{
    std::shared_ptr<struct amalgam_group> m_group;

    explicit group(std::shared_ptr<struct amalgam_group> group)
        : m_group(std::move(group))
    {
    }

    void own(amalgam_group_t made)
    {
        m_group.reset(
            made, [](amalgam_group_t old) { (void)amalgam_group_free(old); });
    }

  public:
    /** The processes of an MPI group. Throws margo_exception. */
    group(const engine &of, MPI_Group ranks)
    {
        amalgam_group_t made = nullptr;

        MARGO_ASSERT(amalgam_group_create(of.hg_class(), ranks, &made),
            amalgam_group_create);
        own(made);
    }

    /** Some ranks, each once, in any order. Throws margo_exception. */
    group(const engine &of, const std::vector<int> &ranks)
    {
        amalgam_group_t made = nullptr;

        MARGO_ASSERT(amalgam_group_create_ranks(
                         of.hg_class(), ranks.data(), ranks.size(), &made),
            amalgam_group_create_ranks);
        own(made);
    }

    group(const engine &of, std::initializer_list<int> ranks)
        : group(of, std::vector<int>(ranks))
    {
    }

    /** All ranks of the engine whose RPC is called. */
    static group all()
    {
        return group(std::shared_ptr<struct amalgam_group>(
            AMALGAM_GROUP_ALL, [](amalgam_group_t) {}));
    }

    /** The group, borrowed. */
    amalgam_group_t native_handle() const noexcept
    {
        return m_group.get();
    }

    /** For remote_procedure::on(). Throws margo_exception. */
    group_callable bind(
        const thallium::margo_instance_ref &instance, hg_id_t id) const
    {
        margo_instance_id mid = instance.get_margo_instance();
        hg_handle_t handle = HG_HANDLE_NULL;
        hg_addr_t self = HG_ADDR_NULL;
        hg_return_t ret = HG_SUCCESS;

        MARGO_ASSERT(margo_addr_self(mid, &self), margo_addr_self);
        ret = margo_create(mid, self, id, &handle);
        (void)margo_addr_free(mid, self);
        MARGO_ASSERT(ret, margo_create);
        return group_callable(
            thallium::detail::handle_ref(mid, handle), m_group);
    }
};

} /* namespace amalgam */

#endif
