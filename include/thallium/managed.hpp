/* SPDX-License-Identifier: BSD-3-Clause */
/* Ownership of a pool, execution stream, scheduler, thread or task. */
#ifndef THALLIUM_MANAGED_HPP
#define THALLIUM_MANAGED_HPP

#include <utility>

namespace thallium
{

/**
 * Owns a T: a pool, xstream, scheduler, thread or task. The destructor destroys
 * the T, and joins a stream, thread or task before. Can be moved, not copied.
 * If a stream still uses the pool or scheduler, the class abt frees the pool or
 * scheduler later, when abt::finalize() or the destructor of an abt runs.
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

    /** Takes the object of `other`, which owns nothing afterwards. */
    managed(managed &&other) noexcept : m_object(other.release())
    {
    }

    /** Destroys the own object, and takes that of `other`. */
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

/** Returns an owned T, made of the arguments, as make_managed<pool>(handle).
 */
template <typename T, typename... Args> managed<T> make_managed(Args &&...args)
{
    return managed<T>(T(std::forward<Args>(args)...));
}

} /* namespace thallium */

#endif
