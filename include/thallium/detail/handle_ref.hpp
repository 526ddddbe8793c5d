/* SPDX-License-Identifier: BSD-3-Clause */
/* A counted reference to the handle of a call or a request, and calls of Margo
 * with this handle that throw. */
#ifndef THALLIUM_DETAIL_HANDLE_REF_HPP
#define THALLIUM_DETAIL_HANDLE_REF_HPP

#include <chrono>
#include <string>
#include <utility>
#include <amalgam_thallium.h>
#include <margo.h>
#include <thallium/margo_exception.hpp>
#include <thallium/timeout.hpp>

namespace thallium
{

namespace detail
{

/* Holds a reference to the instance, too, so that the object may outlive
 * finalize(). Only the handle_ref of a running handler has no such reference,
 * because the instance waits for that handler; copies of it have one. */
class handle_ref
{
    margo_instance_id m_mid = MARGO_INSTANCE_NULL;
    hg_handle_t m_handle = HG_HANDLE_NULL;
    bool m_holds_instance = false;

  public:
    handle_ref() noexcept = default;

    /* Takes over the handle of a call. */
    handle_ref(margo_instance_id mid, hg_handle_t handle) noexcept
        : m_mid(mid), m_handle(handle), m_holds_instance(true)
    {
        (void)margo_instance_ref_incr(m_mid);
    }

    /* Takes over the handle that the calling thread serves. */
    explicit handle_ref(hg_handle_t served) noexcept
        : m_mid(margo_hg_handle_get_instance(served)), m_handle(served)
    {
    }

    handle_ref(const handle_ref &other) noexcept
        : m_mid(other.m_mid), m_handle(other.m_handle),
          m_holds_instance(m_handle != HG_HANDLE_NULL)
    {
        if (m_handle == HG_HANDLE_NULL)
            return;
        (void)margo_instance_ref_incr(m_mid);
        (void)margo_ref_incr(m_handle);
    }

    handle_ref(handle_ref &&other) noexcept
        : m_mid(other.m_mid),
          m_handle(std::exchange(other.m_handle, HG_HANDLE_NULL)),
          m_holds_instance(std::exchange(other.m_holds_instance, false))
    {
    }

    handle_ref &operator=(handle_ref other) noexcept
    {
        std::swap(m_handle, other.m_handle);
        std::swap(m_mid, other.m_mid);
        std::swap(m_holds_instance, other.m_holds_instance);
        return *this;
    }

    ~handle_ref()
    {
        if (m_handle != HG_HANDLE_NULL)
            (void)margo_destroy(m_handle);
        if (m_holds_instance)
            (void)margo_instance_release(m_mid);
    }

    hg_handle_t get() const noexcept
    {
        return m_handle;
    }

    margo_instance_id mid() const noexcept
    {
        return m_mid;
    }

    /* Name of the RPC, for messages. */
    std::string name() const
    {
        const char *name = margo_handle_get_name(m_handle);

        return name != nullptr ? "RPC \"" + std::string(name) + "\""
                               : "an RPC that is not registered any more";
    }

    /* Throws the exception for a call of Margo that failed with `code`. */
    [[noreturn]] void fail(const char *function, unsigned line,
        hg_return_t code, const std::string &more = std::string()) const
    {
        if (code == HG_TIMEOUT)
            throw timeout();
        char text[AMALGAM_MARGO_TEXT_MAX + 1];
        bool has_text = amalgam_margo_error_text(m_handle, text) != 0;

        throw margo_exception(function, __FILE__, line, code,
            name() + ": " + function + " returned " +
                translate_margo_error_code(code) +
                (has_text ? ": " + std::string(text) : more));
    }

    /* Throws after arguments could not be coded; `error` is the reason. */
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

/* Throws if a call of Margo that encodes input or output has failed. */
template <typename Coder>
void check_encoded(const handle_ref &handle, bool is_input, const Coder &coder,
    const char *function, hg_return_t ret)
{
    if (ret == HG_SUCCESS)
        return;
    try {
        coder.rethrow();
    } catch (const margo_exception &error) {
        handle.fail(function, __LINE__, error);
    }
    std::string more = coder.types();
    if (is_input)
        more += ", " + std::to_string(HG_Get_input_payload_size(handle.get())) +
                " bytes of input with their header";
    handle.fail(function, __LINE__, ret, more);
}

/* Converts to milliseconds, the unit of Margo's time limits. */
template <typename Rep, typename Period>
double milliseconds_of(const std::chrono::duration<Rep, Period> &duration)
{
    return std::chrono::duration<double, std::milli>(duration).count();
}

} /* namespace detail */

} /* namespace thallium */

#endif
