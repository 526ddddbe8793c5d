/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines: instances of Margo as objects.
 *
 * The headers of the objects that an engine returns need each other. Each such
 * header includes engine.hpp first, which includes all in the right order. */
#ifndef THALLIUM_ENGINE_HPP
#define THALLIUM_ENGINE_HPP

#include <thallium/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <margo.h>
#include <thallium/bulk_mode.hpp>
#include <thallium/exception.hpp>
#include <thallium/function_util.hpp>
#include <thallium/logger.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/margo_instance_ref.hpp>
#include <thallium/pool.hpp>
#include <thallium/reference_util.hpp>
#include <thallium/tuple_util.hpp>
#include <thallium/xstream.hpp>
/* In this order. */
#include <thallium/detail/callback.hpp>
#include <thallium/detail/engine_life.hpp>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/proc_object.hpp>
#include <thallium/endpoint.hpp>
#include <thallium/provider_handle.hpp>
#include <thallium/bulk.hpp>
#include <thallium/async_bulk_op.hpp>
#include <thallium/remote_bulk.hpp>
#include <thallium/timed_remote_bulk.hpp>
#include <thallium/packed_data.hpp>
#include <thallium/async_response.hpp>
#include <thallium/callable_remote_procedure.hpp>
#include <thallium/remote_procedure.hpp>
#include <thallium/request.hpp>
#include <thallium/detail/serve.hpp>
#include <thallium/timed_callback.hpp>
#include <thallium/detail/engine_lists.hpp>

/** Modes of an engine. A server accepts calls, a client only makes calls. */
#define THALLIUM_SERVER_MODE MARGO_SERVER_MODE
#define THALLIUM_CLIENT_MODE MARGO_CLIENT_MODE

/** Define as 0 in all files: destructors then end their engines at once. */
#ifndef AMALGAM_ENGINE_WAIT
#define AMALGAM_ENGINE_WAIT 1
#endif

namespace thallium
{

/**
 * An instance of Margo, or none. Copies refer to the same instance.
 *
 * The destructor of the last copy of an engine that was opened by its address
 * ends the engine, unless finalize() came before. If a server serves RPCs or
 * allows remote shutdown, the destructor first waits for finalize(), except
 * while an exception unwinds the stack, or if the macro or the environment
 * variable AMALGAM_ENGINE_WAIT is 0. Engines that only refer to an instance,
 * such as endpoint::get_engine(), do not count. A copy that a function of an
 * RPC or a callback has captured counts: then only finalize() ends the engine.
 */
class engine : public margo_instance_ref
{
    std::shared_ptr<detail::engine_life> m_life;

    void open(const std::string &addr, int mode, const margo_init_info &info)
    {
        margo_instance_id mid = margo_init_ext(addr.c_str(), mode, &info);

        if (mid == MARGO_INSTANCE_NULL)
            MARGO_THROW(margo_init_ext, HG_OTHER_ERROR,
                "cannot open an engine at \"" + addr + "\"; the log says why");
        adopt(mid, mode == THALLIUM_SERVER_MODE && AMALGAM_ENGINE_WAIT != 0);
    }

    void open(const std::string &addr, int mode, const char *config,
        const hg_init_info *hg_info)
    {
        margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

        info.json_config = config;
        info.hg_init_info = const_cast<hg_init_info *>(hg_info);
        open(addr, mode, info);
    }

    remote_procedure register_function(const std::string &name,
        std::unique_ptr<detail::rpc_function> function,
        std::uint16_t provider_id, const pool &runs_in)
    {
        hg_id_t id = margo_provider_register_name(get_margo_instance(),
            name.c_str(), hg_proc_meta_serialization,
            hg_proc_meta_serialization, _handler_for_thallium_generic_rpc,
            provider_id, runs_in.native_handle());

        if (id == 0)
            MARGO_THROW(margo_provider_register_name, HG_OTHER_ERROR,
                "cannot register RPC \"" + name + "\"; the log says why");
        MARGO_ASSERT(function.release()->attach(get_margo_instance(), id),
            margo_register_data);
        return remote_procedure(*this, id);
    }

    template <typename F>
    static std::enable_if_t<std::is_constructible<bool, const F &>::value, bool>
    is_empty_function(const F &function, int)
    {
        return !static_cast<bool>(function);
    }

    template <typename F> static bool is_empty_function(const F &, long)
    {
        return false;
    }

    template <typename F>
    detail::end_callback *make_end_callback(F &&function) const
    {
        return new detail::end_callback(
            get_margo_instance(), std::forward<F>(function));
    }

  protected:
    /* Takes over an instance that was just opened, with the reference of the
     * opening call. */
    void adopt(margo_instance_id mid, bool waits)
    {
        margo_instance_ref::operator=(margo_instance_ref(mid));
        m_life = std::make_shared<detail::engine_life>(mid,
            waits ? AMALGAM_MARGO_ENGINE_WAITS : AMALGAM_MARGO_ENGINE_ENDS);
    }

  public:
    template <typename T> using list_proxy = detail::list_proxy<T>;
    template <typename T> using named_object_proxy = detail::named_object<T>;

    /** Refers to no engine. */
    engine() noexcept = default;

    /**
     * Opens an engine at an address ("tcp", "na+sm", "ofi+tcp://host:port"),
     * as margo_init() does. Throws margo_exception.
     */
    engine(const std::string &addr, int mode, bool use_progress_thread = false,
        std::int32_t rpc_thread_count = 0,
        const hg_init_info *hg_info = nullptr)
    {
        std::string config = "{\"use_progress_thread\":";

        config += use_progress_thread ? "true" : "false";
        config +=
            ",\"rpc_thread_count\":" + std::to_string(rpc_thread_count) + "}";
        open(addr, mode, config.c_str(), hg_info);
    }

    /** Opens an engine with a JSON configuration. Throws margo_exception. */
    engine(const std::string &addr, int mode, const char *config,
        const hg_init_info *hg_info = nullptr)
    {
        open(addr, mode, config, hg_info);
    }

    /** Opens an engine with a JSON configuration. Throws margo_exception. */
    engine(const std::string &addr, int mode, const std::string &config,
        const hg_init_info *hg_info = nullptr)
    {
        open(addr, mode, config.c_str(), hg_info);
    }

    /** Opens an engine as margo_init_ext() does. Throws margo_exception. */
    engine(const std::string &addr, int mode, const margo_init_info *info)
    {
        const margo_init_info defaults = MARGO_INIT_INFO_INITIALIZER;

        open(addr, mode, info != nullptr ? *info : defaults);
    }

    /**
     * Opens an engine with pools of the program, which must live longer than
     * the engine. Throws margo_exception.
     */
    engine(const std::string &addr, int mode, const pool &progress_pool,
        const pool &handler_pool)
    {
        margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

        info.progress_pool = progress_pool.native_handle();
        info.rpc_pool = handler_pool.native_handle();
        open(addr, mode, info);
    }

    /**
     * Refers to an instance. With take_ownership, the last copy of this engine
     * releases the caller's reference, unless finalize() came before.
     */
    engine(margo_instance_id mid, bool take_ownership = false) noexcept
        : margo_instance_ref(mid)
    {
        if (take_ownership && mid != MARGO_INSTANCE_NULL)
            m_life = std::make_shared<detail::engine_life>(
                mid, AMALGAM_MARGO_ENGINE_RELEASES);
    }

    /** Refers to an instance. */
    explicit engine(const margo_instance_ref &instance)
        : margo_instance_ref(instance)
    {
    }

    /**
     * Ends the engine, from any thread. This object still refers to the
     * instance, and objects that the engine returned may be destroyed later.
     */
    void finalize() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        margo_finalize(get_margo_instance());
    }

    /** Waits until the engine has ended, by finalize() or remote shutdown. */
    void wait_for_finalize() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        margo_wait_for_finalize(get_margo_instance());
    }

    /** Ends the engine and waits until it has ended. */
    void finalize_and_wait() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        margo_finalize_and_wait(get_margo_instance());
    }

    /** The address of this process. Throws margo_exception. */
    endpoint self() const
    {
        hg_addr_t addr = HG_ADDR_NULL;

        MARGO_INSTANCE_MUST_BE_VALID;
        MARGO_ASSERT(
            margo_addr_self(get_margo_instance(), &addr), margo_addr_self);
        return endpoint(*this, addr);
    }

    /** The process at an address. Throws margo_exception. */
    endpoint lookup(const std::string &address) const
    {
        hg_addr_t addr = HG_ADDR_NULL;
        hg_return_t ret = HG_SUCCESS;

        MARGO_INSTANCE_MUST_BE_VALID;
        ret = margo_addr_lookup(get_margo_instance(), address.c_str(), &addr);
        if (ret != HG_SUCCESS)
            MARGO_THROW(margo_addr_lookup, ret,
                "cannot find the address \"" + address +
                    "\": " + translate_margo_error_code(ret));
        return endpoint(*this, addr);
    }

    /** Defines an RPC that this process only calls. Throws margo_exception. */
    remote_procedure define(const std::string &name)
    {
        hg_id_t id = 0;
        hg_bool_t is_there = HG_FALSE;

        MARGO_INSTANCE_MUST_BE_VALID;
        MARGO_ASSERT(margo_registered_name(
                         get_margo_instance(), name.c_str(), &id, &is_there),
            margo_registered_name);
        if (!is_there)
            id =
                margo_provider_register_name(get_margo_instance(), name.c_str(),
                    hg_proc_meta_serialization, hg_proc_meta_serialization,
                    nullptr, MARGO_DEFAULT_PROVIDER_ID, ABT_POOL_NULL);
        if (id == 0)
            MARGO_THROW(margo_provider_register_name, HG_OTHER_ERROR,
                "cannot register RPC \"" + name + "\"; the log says why");
        return remote_procedure(*this, id);
    }

    /**
     * Defines an RPC that this process serves by a function: any object or
     * pointer that is called as void(const request &, arguments...). The engine
     * keeps the function until the RPC is removed or the engine has ended, and
     * runs it in threads of the pool (default: that of handlers), in parallel.
     * Throws margo_exception; exception if the function is empty.
     */
    template <typename F>
    remote_procedure define(const std::string &name, F &&function,
        std::uint16_t provider_id = 0, const pool &runs_in = pool())
    {
        using kept = std::decay_t<F>;
        using serves = typename detail::rpc_function_for<kept,
            typename detail::signature_of<kept>::type>::type;

        MARGO_INSTANCE_MUST_BE_VALID;
        THALLIUM_ASSERT_CONDITION(!is_empty_function<kept>(function, 0),
            "the function of RPC \"" + name + "\" is empty");
        return register_function(name,
            std::unique_ptr<detail::rpc_function>(
                new serves(std::forward<F>(function))),
            provider_id, runs_in);
    }

    /**
     * Exposes memory to other processes. The memory stays the caller's and must
     * live as long as the bulk. Throws margo_exception.
     *
     *   std::vector<double> v(1000);
     *   tl::bulk bulk = engine.expose(
     *       {{v.data(), v.size() * sizeof(v[0])}}, tl::bulk_mode::read_only);
     */
    bulk expose(const std::vector<std::pair<void *, std::size_t>> &segments,
        bulk_mode mode) const
    {
        return expose(segments, mode, hg_bulk_attr());
    }

    /** Exposes memory that has the given attributes. */
    bulk expose(const std::vector<std::pair<void *, std::size_t>> &segments,
        bulk_mode mode, const hg_bulk_attr &attributes) const
    {
        std::vector<void *> pointers;
        std::vector<std::size_t> sizes;

        for (const auto &segment : segments) {
            pointers.push_back(segment.first);
            sizes.push_back(segment.second);
        }
        return expose(static_cast<hg_uint32_t>(segments.size()),
            pointers.data(), sizes.data(), mode, attributes);
    }

    /** Exposes memory that arrays of addresses and sizes describe. */
    bulk expose(hg_uint32_t count, void **pointers, const std::size_t *sizes,
        bulk_mode mode, const hg_bulk_attr &attributes = hg_bulk_attr()) const
    {
        std::vector<hg_size_t> lengths(sizes, sizes + count);
        hg_bulk_t handle = HG_BULK_NULL;

        MARGO_INSTANCE_MUST_BE_VALID;
        MARGO_ASSERT(margo_bulk_create_attr(get_margo_instance(), count,
                         pointers, lengths.data(),
                         static_cast<std::uint8_t>(mode), &attributes, &handle),
            margo_bulk_create_attr);
        return bulk(*this, handle, true);
    }

    /**
     * Makes a bulk of a handle of Margo. The bulk takes a reference of its own.
     * is_local: the memory belongs to this process.
     */
    bulk wrap(hg_bulk_t handle, bool is_local) const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        MARGO_ASSERT(margo_bulk_ref_incr(handle), margo_bulk_ref_incr);
        return bulk(*this, handle, is_local);
    }

    /** Adds a function to run before serving stops; the last one runs first. */
    template <typename F> void push_prefinalize_callback(F &&function) const
    {
        push_prefinalize_callback(
            static_cast<const void *>(nullptr), std::forward<F>(function));
    }

    /** Adds a function with an owner, by which top_ and pop_ find it. */
    template <typename F>
    void push_prefinalize_callback(const void *owner, F &&function) const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        margo_provider_push_prefinalize_callback(get_margo_instance(), owner,
            &detail::end_callback::run,
            make_end_callback(std::forward<F>(function)));
    }

    /**
     * Returns the prefinalize function that was pushed last for this owner
     * (nullptr: without an owner), or an empty function.
     */
    std::function<void()> top_prefinalize_callback(
        const void *owner = nullptr) const
    {
        return detail::newest_callback(
            get_margo_instance(), true, owner, false);
    }

    /** Removes and returns the function of top_prefinalize_callback(). */
    std::function<void()> pop_prefinalize_callback(
        const void *owner = nullptr) const
    {
        return detail::newest_callback(get_margo_instance(), true, owner, true);
    }

    /** Adds a function that runs when the engine has stopped serving. */
    template <typename F> void push_finalize_callback(F &&function) const
    {
        push_finalize_callback(
            static_cast<const void *>(nullptr), std::forward<F>(function));
    }

    /** Adds a function with an owner, by which top_ and pop_ find it. */
    template <typename F>
    void push_finalize_callback(const void *owner, F &&function) const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        margo_provider_push_finalize_callback(get_margo_instance(), owner,
            &detail::end_callback::run,
            make_end_callback(std::forward<F>(function)));
    }

    /**
     * Returns the finalize function that was pushed last for this owner
     * (nullptr: without an owner), or an empty function.
     */
    std::function<void()> top_finalize_callback(
        const void *owner = nullptr) const
    {
        return detail::newest_callback(
            get_margo_instance(), false, owner, false);
    }

    /** Removes and returns the function of top_finalize_callback(). */
    std::function<void()> pop_finalize_callback(
        const void *owner = nullptr) const
    {
        return detail::newest_callback(
            get_margo_instance(), false, owner, true);
    }

    /** Lets other processes end this engine. */
    void enable_remote_shutdown() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        margo_enable_remote_shutdown(get_margo_instance());
    }

    /**
     * Ends an engine of another process. Throws margo_exception if that engine
     * does not allow remote shutdown, or cannot be reached.
     */
    void shutdown_remote_engine(const endpoint &peer) const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        if (margo_shutdown_remote_instance(
                get_margo_instance(), peer.get_addr()) != 0)
            MARGO_THROW(margo_shutdown_remote_instance, HG_OTHER_ERROR,
                "the engine at \"" + static_cast<std::string>(peer) +
                    "\" cannot be ended; the log says why");
    }

    /** True if the engine was opened as a server. */
    bool is_listening() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        return margo_is_listening(get_margo_instance()) != HG_FALSE;
    }

    /** The pool in which functions of RPCs run. Throws exception. */
    pool get_handler_pool() const
    {
        ABT_pool result = ABT_POOL_NULL;

        MARGO_INSTANCE_MUST_BE_VALID;
        if (margo_get_handler_pool(get_margo_instance(), &result) != 0)
            throw exception("margo_get_handler_pool failed");
        return pool(result);
    }

    /** The pool in which the progress loop runs. Throws exception. */
    pool get_progress_pool() const
    {
        ABT_pool result = ABT_POOL_NULL;

        MARGO_INSTANCE_MUST_BE_VALID;
        if (margo_get_progress_pool(get_margo_instance(), &result) != 0)
            throw exception("margo_get_progress_pool failed");
        return pool(result);
    }

    /** The configuration as JSON text. Throws exception. */
    std::string get_config() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        std::unique_ptr<char, void (*)(void *)> text(
            margo_get_config(get_margo_instance()), &std::free);

        if (text == nullptr)
            throw exception("margo_get_config failed");
        return text.get();
    }

    /** Creates a timer for a function; start() of the result arms the timer. */
    template <typename F> timed_callback create_timed_callback(F &&function)
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        return timed_callback(*this, std::forward<F>(function));
    }

    /**
     * Sets the logger that gets the log lines of this engine. The logger stays
     * the caller's and must live as long as the engine. Throws exception.
     */
    void set_logger(logger *lines_to) const
    {
        margo_logger functions = detail::margo_logger_of(lines_to);

        MARGO_INSTANCE_MUST_BE_VALID;
        if (margo_set_logger(get_margo_instance(), &functions) != 0)
            throw exception("margo_set_logger failed");
    }

    /** Sets the lowest level that this engine logs. Throws exception. */
    void set_log_level(logger::level lowest) const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        if (margo_set_log_level(get_margo_instance(),
                static_cast<margo_log_level>(lowest)) != 0)
            throw exception("no log level ", static_cast<int>(lowest));
    }

    /** The execution streams of the engine. */
    list_proxy<xstream> xstreams() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        return list_proxy<xstream>(*this);
    }

    /** The pools of the engine. */
    list_proxy<pool> pools() const
    {
        MARGO_INSTANCE_MUST_BE_VALID;
        return list_proxy<pool>(*this);
    }
};

inline engine endpoint::get_engine() const
{
    return engine(m_instance);
}

template <typename... Ctx> engine proc_input_archive<Ctx...>::get_engine() const
{
    return engine(m_mid);
}

template <typename... Ctx>
engine proc_output_archive<Ctx...>::get_engine() const
{
    return engine(m_mid);
}

} /* namespace thallium */

#endif
