/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of an engine that call a function. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_TIMED_CALLBACK_HPP
#define THALLIUM_TIMED_CALLBACK_HPP

#include <functional>
#include <memory>
#include <utility>
#include <margo-timer.h>
#include <thallium/detail/callback.hpp>
#include <thallium/exception.hpp>
#include <thallium/margo_instance_ref.hpp>

namespace thallium
{

/**
 * A timer that calls a function once after each start(), in the handler pool
 * of an engine. engine::create_timed_callback() creates a timer. Move only.
 */
class timed_callback
{
    /* On the heap, because Margo keeps the address. */
    struct state {
        margo_instance_ref m_instance;
        std::function<void()> m_function;
    };

    std::unique_ptr<state> m_state;
    margo_timer_t m_timer = MARGO_TIMER_NULL;

    static void run(void *arg) noexcept
    {
        auto *timer = static_cast<state *>(arg);

        detail::call_and_log(timer->m_instance.get_margo_instance(),
            "a timed callback", timer->m_function);
    }

    void drop() noexcept
    {
        if (m_timer != MARGO_TIMER_NULL) {
            (void)margo_timer_cancel(m_timer);
            (void)margo_timer_destroy(m_timer);
        }
        m_timer = MARGO_TIMER_NULL;
        m_state.reset();
    }

  public:
    /** Creates a timer of an instance. Throws exception if Margo has none. */
    timed_callback(margo_instance_ref instance, std::function<void()> function)
        : m_state(new state{std::move(instance), std::move(function)})
    {
        if (margo_timer_create(m_state->m_instance.get_margo_instance(), &run,
                m_state.get(), &m_timer) != 0)
            throw exception("margo_timer_create failed");
    }

    timed_callback(timed_callback &&other) noexcept
        : m_state(std::move(other.m_state)),
          m_timer(std::exchange(other.m_timer, MARGO_TIMER_NULL))
    {
    }

    timed_callback &operator=(timed_callback &&other) noexcept
    {
        if (this != &other) {
            drop();
            m_state = std::move(other.m_state);
            m_timer = std::exchange(other.m_timer, MARGO_TIMER_NULL);
        }
        return *this;
    }

    timed_callback(const timed_callback &) = delete;
    timed_callback &operator=(const timed_callback &) = delete;

    /**
     * Cancels the timer and waits until the function does not run any more.
     * Never throws. The function itself must not destroy the object.
     */
    ~timed_callback()
    {
        drop();
    }

    /**
     * Starts the timer. Throws exception if the timer runs already, or the
     * engine was finalized.
     */
    void start(double milliseconds)
    {
        if (margo_timer_start(m_timer, milliseconds) != 0)
            throw exception("the timer cannot be started: it runs, its engine "
                            "was finalized, or the time is no number of "
                            "milliseconds");
    }

    /**
     * Cancels the timer if it is started, and waits until the function does not
     * run any more. Throws exception if the object was moved from.
     */
    void cancel()
    {
        if (margo_timer_cancel(m_timer) != 0)
            throw exception("there is no timer to cancel");
    }
};

} /* namespace thallium */

#endif
