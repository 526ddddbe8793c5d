/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of all RPCs of thallium.hpp, and the functions of the program
 * that the handler calls: each function is the data of its RPC.
 *
 * An exception of a function, or of the decoding of its arguments, ends the
 * request and not the process: the log names the RPC and the reason. The caller
 * gets a margo_exception with the reason. Its code is HG_CANCELED if the
 * function had begun and had not answered, else the code of the decoding. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_DETAIL_SERVE_HPP
#define THALLIUM_DETAIL_SERVE_HPP

#include <atomic>
#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <amalgam_thallium.h>
#include <margo.h>
#include <thallium/detail/callback.hpp>
#include <thallium/detail/engine_life.hpp>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/exception.hpp>
#include <thallium/proc_object.hpp>
#include <thallium/request.hpp>

namespace thallium
{

namespace detail
{

/* A function of the program, as data of its RPC. Each holder of the address has
 * a reference, taken before another thread can see the address. The RPC drops
 * its reference when it is removed or gets another function. The callback of
 * finalize() removes the function when serving has ended, before the instance
 * is freed, because captured objects may refer to the instance. Each request
 * that is being served has a reference, so the function may remove its RPC. */
class rpc_function
{
    std::atomic<unsigned> m_count{1};
    margo_instance_id m_mid = MARGO_INSTANCE_NULL;
    hg_id_t m_id = 0;

    /* The callback of finalize(), which Margo has removed from its list. */
    static void drop(void *arg) noexcept
    {
        auto *function = static_cast<rpc_function *>(arg);

        (void)margo_register_data(
            function->m_mid, function->m_id, nullptr, nullptr);
        unref(function);
    }

    /* Called when the RPC has been removed, or has another function. */
    static void removed(void *arg) noexcept
    {
        auto *function = static_cast<rpc_function *>(arg);

        if (margo_provider_pop_finalize_callback(function->m_mid, arg) != 0)
            unref(arg);
        unref(arg);
    }

  public:
    rpc_function() = default;
    rpc_function(const rpc_function &) = delete;
    rpc_function &operator=(const rpc_function &) = delete;
    virtual ~rpc_function() = default;

    /* Makes this the data of an RPC. Takes the caller's reference over. */
    hg_return_t attach(margo_instance_id mid, hg_id_t id)
    {
        hg_return_t ret = HG_SUCCESS;

        m_mid = mid;
        m_id = id;
        ref(this);
        margo_provider_push_finalize_callback(mid, this, &drop, this);
        ret = margo_register_data(mid, id, this, &removed);
        if (ret != HG_SUCCESS)
            removed(this);
        return ret;
    }

    /* Serves a request: decodes its arguments, then takes over its handle and
     * calls the function. Gives the handle back if the function throws. */
    virtual void serve(handle_ref &handle, bool &has_begun) = 0;

    static void ref(void *function) noexcept
    {
        static_cast<rpc_function *>(function)->m_count.fetch_add(
            1, std::memory_order_relaxed);
    }

    /* acq_rel: the thread that deletes sees what the other holders did. */
    static void unref(void *arg) noexcept
    {
        auto *function = static_cast<rpc_function *>(arg);

        if (function->m_count.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete function;
    }
};

/* A function F that is called with a request and arguments of types Args. */
template <typename F, typename... Args>
class rpc_function_of : public rpc_function
{
    using arguments = std::tuple<std::decay_t<Args>...>;

    F m_function;

    template <std::size_t... I>
    static void decode(
        const handle_ref &handle, arguments &args, std::index_sequence<I...>)
    {
        std::tuple<> none;
        objects_coder<std::tuple<>, std::decay_t<Args>...> coder(
            none, handle.mid(), std::get<I>(args)...);

        (void)args; /* not used if Args is empty */
        decode_arguments(handle, true, coder);
    }

    template <std::size_t... I>
    void call(const request &req, arguments &args, std::index_sequence<I...>)
    {
        (void)args;
        m_function(req, static_cast<Args &&>(std::get<I>(args))...);
    }

  public:
    explicit rpc_function_of(F function) : m_function(std::move(function))
    {
    }

    void serve(handle_ref &handle, bool &has_begun) override
    {
        arguments args;

        if (sizeof...(Args) > 0 || sends_type_names)
            decode(handle, args, std::index_sequence_for<Args...>());
        has_begun = true;
        request req(std::move(handle), std::tuple<>());

        try {
            call(req, args, std::index_sequence_for<Args...>());
        } catch (...) {
            handle = std::move(req.m_handle);
            throw;
        }
    }
};

/* `type` is the rpc_function_of for F with the given signature. */
template <typename F, typename Signature> struct rpc_function_for;
template <typename F, typename R, typename First, typename... Args>
struct rpc_function_for<F, R(First, Args...)> {
    static_assert(std::is_same<std::decay_t<First>, request>::value,
        "the first parameter of an RPC's function is a const tl::request &");
    using type = rpc_function_of<F, Args...>;
};

/* Returns the function of a handle's RPC, with a reference, or null. Retries,
 * because an RPC gets its function a moment after its registration. */
inline rpc_function *function_of_rpc(hg_handle_t handle)
{
    constexpr int tries = 1000; /* each lets other threads run */
    void *data = amalgam_margo_data_ref(handle, &rpc_function::ref);

    for (int i = 0; data == nullptr && i < tries; i++) {
        (void)ABT_thread_yield();
        data = amalgam_margo_data_ref(handle, &rpc_function::ref);
    }
    return static_cast<rpc_function *>(data);
}

inline hg_return_t code_of_current_error() noexcept
{
    try {
        throw;
    } catch (const margo_exception &error) {
        return error.error();
    } catch (...) {
        return HG_PROTOCOL_ERROR;
    }
}

inline void serve_handle(handle_ref handle) noexcept
{
    margo_instance_id mid = handle.mid();
    hg_id_t id = margo_get_info(handle.get())->id;
    rpc_function *function = function_of_rpc(handle.get());
    bool has_begun = false;

    if (function == nullptr) {
        __margo_respond_with_error(handle.get(), HG_NOENTRY);
        return;
    }
    try {
        function->serve(handle, has_begun);
    } catch (...) {
        const char *name = margo_rpc_get_name(mid, id);
        const char *text = current_error();

        margo_error(mid, "the function of RPC \"%s\" %s: %s",
            name != nullptr ? name : "?",
            has_begun ? "has thrown" : "cannot be called", text);
        amalgam_margo_answer_error(handle.get(),
            has_begun ? HG_CANCELED : code_of_current_error(), text);
    }
    rpc_function::unref(function);
}

} /* namespace detail */

/** The handler of all RPCs. */
inline void thallium_generic_rpc(hg_handle_t handle)
{
    detail::serve_handle(detail::handle_ref(handle));
}

inline DECLARE_MARGO_RPC_HANDLER(thallium_generic_rpc) inline __MARGO_INTERNAL_RPC_WRAPPER(
    thallium_generic_rpc) inline __MARGO_INTERNAL_RPC_HANDLER(thallium_generic_rpc)

} /* namespace thallium */

#endif
