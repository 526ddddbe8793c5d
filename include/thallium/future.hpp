/* SPDX-License-Identifier: BSD-3-Clause */
/* Several values that threads wait for together. */
#ifndef THALLIUM_FUTURE_HPP
#define THALLIUM_FUTURE_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <thallium/detail/abt_check.hpp>

/** Throws future_exception: `call` returned the error `code`. */
#define TL_FUTURE_THROW(call, code) TL_ABT_THROW_(future_exception, #call, code)
/** Throws future_exception unless the call returns ABT_SUCCESS. */
#define TL_FUTURE_ASSERT(call) TL_ABT_ASSERT_(future_exception, call)

namespace thallium
{

/** A call of Argobots for a future failed. */
class future_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * A number of pointers that are set one by one; threads wait until all pointers
 * are set. The targets stay the program's. A future may be moved while no
 * thread uses it. All functions throw future_exception.
 */
template <typename T>
class future : public detail::owned_handle<ABT_future, ABT_future_free>
{
    /*
     * Argobots passes only the pointers to its callback. Hence the constructor
     * sets a pointer to this struct, before any other pointer.
     */
    struct callback_state {
        std::size_t count;
        std::function<void(const std::vector<T *> &)> function;
    };
    std::unique_ptr<callback_state> m_callback;

    static void run_callback(void **values) noexcept
    {
        const callback_state *state = static_cast<callback_state *>(values[0]);
        std::vector<T *> all(state->count);

        for (std::size_t i = 0; i < state->count; i++)
            all[i] = static_cast<T *>(values[i + 1]);
        state->function(all);
    }

  public:
    /** Creates a future of `count` pointers. */
    explicit future(uint32_t count)
    {
        TL_FUTURE_ASSERT(ABT_future_create(count, nullptr, &m_handle));
    }

    /**
     * Creates a future with a function that gets a const std::vector<T *> & of
     * all pointers, in the order in which they were set. The function runs in
     * the last call of set(), before waits end, and must not throw.
     */
    template <typename Function>
    future(uint32_t count, Function &&callback)
        : m_callback(new callback_state{
              count, std::function<void(const std::vector<T *> &)>(
                         std::forward<Function>(callback))})
    {
        TL_FUTURE_ASSERT(
            ABT_future_create(count + 1, &run_callback, &m_handle));
        TL_FUTURE_ASSERT(ABT_future_set(m_handle, m_callback.get()));
    }

    /** Sets the next pointer. */
    void set(T *value)
    {
        /* Argobots takes void *, and does not write to the target. */
        TL_FUTURE_ASSERT(ABT_future_set(
            m_handle, const_cast<void *>(static_cast<const void *>(value))));
    }

    /** Waits until all pointers are set. */
    void wait()
    {
        TL_FUTURE_ASSERT(ABT_future_wait(m_handle));
    }

    /** Are all pointers set? */
    bool test() const
    {
        ABT_bool is_ready = ABT_FALSE;

        TL_FUTURE_ASSERT(ABT_future_test(m_handle, &is_ready));
        return is_ready == ABT_TRUE;
    }

    /** Are all pointers set? */
    explicit operator bool() const
    {
        return test();
    }
};

} /* namespace thallium */

#endif
