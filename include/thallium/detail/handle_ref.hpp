/* SPDX-License-Identifier: BSD-3-Clause */
/* A counted reference to the handle of a call or a request, and Margo's calls
 * with it that throw. */
#ifndef THALLIUM_DETAIL_HANDLE_REF_HPP
#define THALLIUM_DETAIL_HANDLE_REF_HPP

#include <chrono>
#include <string>
#include <utility>
#include <margo.h>
#include <thallium/margo_exception.hpp>
#include <thallium/margo_instance_ref.hpp>
#include <thallium/timeout.hpp>

namespace thallium
{

namespace detail
{

/* Holds the instance as well, so that it may outlive finalize(). */
class handle_ref
{
    margo_instance_ref m_instance;
    hg_handle_t m_handle = HG_HANDLE_NULL;

    void drop() noexcept
    {
        (void)margo_destroy(std::exchange(m_handle, HG_HANDLE_NULL));
    }

  public:
    handle_ref() noexcept = default;

    /* Takes a new reference to the handle, or the caller's. */
    handle_ref(margo_instance_ref instance, hg_handle_t handle,
        bool take_ownership) noexcept
        : m_instance(std::move(instance)), m_handle(handle)
    {
        if (m_handle != HG_HANDLE_NULL && !take_ownership)
            (void)margo_ref_incr(m_handle);
    }

    handle_ref(const handle_ref &other) noexcept
        : handle_ref(other.m_instance, other.m_handle, false)
    {
    }

    handle_ref(handle_ref &&other) noexcept
        : m_instance(std::move(other.m_instance)),
          m_handle(std::exchange(other.m_handle, HG_HANDLE_NULL))
    {
    }

    handle_ref &operator=(handle_ref other) noexcept
    {
        std::swap(m_handle, other.m_handle);
        std::swap(m_instance, other.m_instance);
        return *this;
    }

    ~handle_ref()
    {
        drop();
    }

    hg_handle_t get() const noexcept
    {
        return m_handle;
    }

    const margo_instance_ref &instance() const noexcept
    {
        return m_instance;
    }

    margo_instance_id mid() const noexcept
    {
        return m_instance.get_margo_instance();
    }

    /* Name of the RPC, for messages. */
    std::string name() const
    {
        const char *name = margo_handle_get_name(m_handle);

        return name != nullptr ? "RPC \"" + std::string(name) + "\""
                               : "an RPC that is not registered any more";
    }

    /* Throws what a call of Margo that failed stands for. */
    [[noreturn]] void fail(
        const char *function, unsigned line, hg_return_t code) const
    {
        if (code == HG_TIMEOUT)
            throw timeout();
        throw margo_exception(function, __FILE__, line, code,
            name() + ": " + function + " returned " +
                translate_margo_error_code(code));
    }

    /* The same where arguments were coded; `error` is the reason. */
    [[noreturn]] void fail(
        const char *what, unsigned line, const margo_exception &error) const
    {
        throw margo_exception(
            what, __FILE__, line, error.error(), name() + ": " + error.what());
    }
};

/* Decodes the input or the output of a handle by an objects_coder. */
template <typename Coder>
void decode_arguments(const handle_ref &handle, bool is_input, Coder &coder)
{
    void *data = coder.to_decode();
    hg_return_t ret = is_input ? margo_get_input(handle.get(), data)
                               : margo_get_output(handle.get(), data);

    if (ret == HG_SUCCESS) {
        (void)(is_input ? margo_free_input(handle.get(), data)
                        : margo_free_output(handle.get(), data));
        return;
    }
    try {
        coder.rethrow();
    } catch (const margo_exception &error) {
        handle.fail(
            is_input ? "decode input" : "decode output", __LINE__, error);
    }
    handle.fail(
        is_input ? "margo_get_input" : "margo_get_output", __LINE__, ret);
}

/* Throws after a call of Margo that was to encode arguments failed. */
template <typename Coder>
void check_encoded(const handle_ref &handle, const Coder &coder,
    const char *function, hg_return_t ret)
{
    if (ret == HG_SUCCESS)
        return;
    try {
        coder.rethrow();
    } catch (const margo_exception &error) {
        handle.fail(function, __LINE__, error);
    }
    handle.fail(function, __LINE__, ret);
}

/* Milliseconds, as Margo takes time limits. */
template <typename Rep, typename Period>
double milliseconds_of(const std::chrono::duration<Rep, Period> &duration)
{
    return std::chrono::duration<double, std::milli>(duration).count();
}

} /* namespace detail */

} /* namespace thallium */

#endif
