/* SPDX-License-Identifier: BSD-3-Clause */
/* Ownership of a pool, execution stream, scheduler, thread or task. */
#ifndef THALLIUM_MANAGED_HPP
#define THALLIUM_MANAGED_HPP

#include <utility>

namespace thallium
{

/**
 * Owns a T, one of pool, xstream, scheduler, thread and task, and destroys it
 * at its end: an execution stream, a thread and a task are joined before. Can
 * be moved, not copied. A pool or scheduler that is still used then is freed
 * when Argobots is finalized.
 */
template <typename T> class managed
{
    T m_object;

    void destroy() noexcept
    {
        if (m_object.native_handle() != typename T::native_handle_type())
            T::destroy(m_object);
        m_object = T();
    }

    explicit managed(T &&object) : m_object(std::move(object))
    {
    }

    template <typename U, typename... Args>
    friend managed<U> make_managed(Args &&...args);

  public:
    /** Owns nothing. */
    managed() = default;

    managed(const managed &) = delete;
    managed &operator=(const managed &) = delete;

    /** Takes the object; the other one owns nothing afterwards. */
    managed(managed &&other) noexcept : m_object(other.release())
    {
    }

    /** Destroys its object, and takes that of the other one. */
    managed &operator=(managed &&other) noexcept
    {
        if (this != &other) {
            destroy();
            m_object = other.release();
        }
        return *this;
    }

    /** Destroys the object. */
    ~managed()
    {
        destroy();
    }

    /** Gives up the object, which the caller has to free. */
    T release() noexcept
    {
        T object = m_object;

        m_object = T();
        return object;
    }

    /** The object. */
    T &operator*() noexcept
    {
        return m_object;
    }

    /** The object. */
    const T &operator*() const noexcept
    {
        return m_object;
    }

    /** The object. */
    T *operator->() noexcept
    {
        return &m_object;
    }

    /** The object. */
    const T *operator->() const noexcept
    {
        return &m_object;
    }
};

/** A T made of the arguments, owned: make_managed<pool>(handle) for instance.
 */
template <typename T, typename... Args> managed<T> make_managed(Args &&...args)
{
    return managed<T>(T(std::forward<Args>(args)...));
}

} /* namespace thallium */

#endif
