/* SPDX-License-Identifier: BSD-3-Clause */
/* A value that one thread sets and other threads wait for. */
#ifndef THALLIUM_EVENTUAL_HPP
#define THALLIUM_EVENTUAL_HPP

#include <atomic>
#include <memory>
#include <utility>
#include <thallium/detail/abt_check.hpp>

/** Throws eventual_exception: `call` returned the error `code`. */
#define TL_EVENTUAL_THROW(call, code)                                          \
    TL_ABT_THROW_(eventual_exception, #call, code)
/** Throws eventual_exception unless the call returns ABT_SUCCESS. */
#define TL_EVENTUAL_ASSERT(call) TL_ABT_ASSERT_(eventual_exception, call)

namespace thallium
{

/** A call of Argobots for an eventual failed. */
class eventual_exception : public exception
{
  public:
    using exception::exception;
};

namespace detail
{

/* The part of an eventual that does not depend on the type of the value. */
class eventual_base : public owned_handle<ABT_eventual, ABT_eventual_free>
{
  public:
    /** Is the value set? */
    bool test() const
    {
        ABT_bool is_ready = ABT_FALSE;

        TL_EVENTUAL_ASSERT(ABT_eventual_test(m_handle, nullptr, &is_ready));
        return is_ready == ABT_TRUE;
    }

  protected:
    eventual_base()
    {
        TL_EVENTUAL_ASSERT(ABT_eventual_create(0, &m_handle));
    }

    void wait_ready() const
    {
        TL_EVENTUAL_ASSERT(ABT_eventual_wait(m_handle, nullptr));
    }

    void set_ready()
    {
        TL_EVENTUAL_ASSERT(ABT_eventual_set(m_handle, nullptr, 0));
    }

    void set_not_ready()
    {
        TL_EVENTUAL_ASSERT(ABT_eventual_reset(m_handle));
    }
};

} /* namespace detail */

/**
 * A value that is set once and that any number of threads wait for. May be
 * moved while no thread uses it. All functions throw eventual_exception.
 */
template <typename T> class eventual : public detail::eventual_base
{
    std::unique_ptr<T> m_value;
    /* Only the first thread that sets a value may write m_value. */
    std::atomic<bool> m_is_taken{false};

    template <typename V> void set(V &&value)
    {
        if (m_is_taken.exchange(true))
            TL_EVENTUAL_THROW(eventual::set_value, ABT_ERR_EVENTUAL);
        m_value.reset(new T(std::forward<V>(value)));
        set_ready();
    }

  public:
    /** Creates an eventual without a value. */
    eventual() = default;

    eventual(eventual &&other) noexcept
        : eventual_base(std::move(other)), m_value(std::move(other.m_value)),
          m_is_taken(other.m_is_taken.load())
    {
    }

    eventual &operator=(eventual &&other) noexcept
    {
        eventual_base::operator=(std::move(other));
        m_value = std::move(other.m_value);
        m_is_taken = other.m_is_taken.load();
        return *this;
    }

    /** Sets the value and ends all waits; throws if there was a value. */
    void set_value(const T &value)
    {
        set(value);
    }

    /** Sets the value by a move, and ends all waits. */
    void set_value(T &&value)
    {
        set(std::move(value));
    }

    /** Waits for the value; returns a copy. */
    T wait() const &
    {
        wait_ready();
        return *m_value;
    }

    /** Waits for the value, which the caller may move out. */
    T &&wait() &&
    {
        wait_ready();
        return std::move(*m_value);
    }

    /** Removes the value, while no thread waits. */
    void reset()
    {
        set_not_ready();
        m_value.reset();
        m_is_taken = false;
    }
};

/** An event that happens once. */
template <> class eventual<void> : public detail::eventual_base
{
  public:
    /** Creates an event that has not happened. */
    eventual() = default;

    /** Lets the event happen and ends all waits; throws the second time. */
    void set_value()
    {
        set_ready();
    }

    /** Waits for the event. */
    void wait() const
    {
        wait_ready();
    }

    /** Sets the event back to "not happened", while no thread waits. */
    void reset()
    {
        set_not_ready();
    }
};

} /* namespace thallium */

#endif
