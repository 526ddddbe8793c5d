/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the program that Margo calls: what they throw is logged, since
 * it cannot pass through the C library. */
#ifndef THALLIUM_DETAIL_CALLBACK_HPP
#define THALLIUM_DETAIL_CALLBACK_HPP

#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <margo.h>

namespace thallium
{

namespace detail
{

/* Text of the exception that is being handled. */
inline const char *current_error() noexcept
{
    try {
        throw;
    } catch (const std::exception &error) {
        return error.what();
    } catch (...) {
        return "an object that is no std::exception";
    }
}

inline void call_and_log(margo_instance_id mid, const char *what,
    const std::function<void()> &function) noexcept
{
    try {
        function();
    } catch (...) {
        margo_error(mid, "%s has thrown: %s", what, current_error());
    }
}

/* A callback of the end of an instance; Margo has its address. */
struct end_callback {
    margo_instance_id m_mid;
    std::function<void()> m_function;

    static void run(void *arg) noexcept
    {
        std::unique_ptr<end_callback> callback(
            static_cast<end_callback *>(arg));

        call_and_log(
            callback->m_mid, "a callback of finalize()", callback->m_function);
    }
};

/* The function behind what Margo returned as its newest callback; empty if it
 * has none. `is_taken`: Margo has it no more. */
inline std::function<void()> function_of(
    bool is_there, margo_finalize_callback_t callback, void *arg, bool is_taken)
{
    if (!is_there)
        return std::function<void()>();
    if (callback != &end_callback::run) /* of a C program */
        return [callback, arg]() { callback(arg); };
    auto *ours = static_cast<end_callback *>(arg);
    std::function<void()> function = ours->m_function;

    if (is_taken)
        delete ours;
    return function;
}

} /* namespace detail */

} /* namespace thallium */

#endif
