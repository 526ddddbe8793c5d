/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the program that Margo calls. Their exceptions are logged, since
 * an exception cannot pass through the C library. */
#ifndef THALLIUM_DETAIL_CALLBACK_HPP
#define THALLIUM_DETAIL_CALLBACK_HPP

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <amalgam_thallium.h>
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

/* A finalize or prefinalize callback with a reference count. Margo's list of
 * callbacks has one reference until the callback is run or removed. A thread
 * that looks up the newest callback takes another reference, because finalize()
 * in a further thread may run that callback meanwhile. */
struct end_callback {
    margo_instance_id m_mid;
    std::function<void()> m_function;
    std::atomic<unsigned> m_count{1};

    end_callback(margo_instance_id mid, std::function<void()> function)
        : m_mid(mid), m_function(std::move(function))
    {
    }

    static void run(void *arg) noexcept
    {
        auto *callback = static_cast<end_callback *>(arg);

        call_and_log(
            callback->m_mid, "a callback of finalize()", callback->m_function);
        unref(callback);
    }

    /* For amalgam_margo_callback_get(), which finds callbacks of C code, too.
     */
    static void ref(margo_finalize_callback_t callback, void *arg) noexcept
    {
        if (callback == &run)
            static_cast<end_callback *>(arg)->m_count.fetch_add(
                1, std::memory_order_relaxed);
    }

    static void unref(end_callback *callback) noexcept
    {
        if (callback->m_count.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete callback;
    }
};

/* Returns the function that was pushed last for an owner, or an empty function.
 * `is_before`: a prefinalize function. `takes`: also removes the function. */
inline std::function<void()> newest_callback(
    margo_instance_id mid, bool is_before, const void *owner, bool takes)
{
    margo_finalize_callback_t callback = nullptr;
    void *arg = nullptr;

    if (amalgam_margo_callback_get(mid, is_before, owner,
            takes ? nullptr : &end_callback::ref, &callback, &arg) == 0)
        return std::function<void()>();
    if (callback != &end_callback::run) /* pushed by C code */
        return [callback, arg]() { callback(arg); };
    std::unique_ptr<end_callback, void (*)(end_callback *)> found(
        static_cast<end_callback *>(arg), &end_callback::unref);

    return found->m_function;
}

} /* namespace detail */

} /* namespace thallium */

#endif
