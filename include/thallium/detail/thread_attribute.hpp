/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of threads to create; thread::attribute is the name for users. */
#ifndef THALLIUM_DETAIL_THREAD_ATTRIBUTE_HPP
#define THALLIUM_DETAIL_THREAD_ATTRIBUTE_HPP

#include <cstddef>
#include <thallium/detail/abt_check.hpp>

/** Throws thread_exception: `call` returned the error `code`. */
#define TL_THREAD_THROW(call, code) TL_ABT_THROW_(thread_exception, #call, code)
/** Throws thread_exception unless the call returns ABT_SUCCESS. */
#define TL_THREAD_ASSERT(call) TL_ABT_ASSERT_(thread_exception, call)

namespace thallium
{

/** A call of a thread failed. */
class thread_exception : public exception
{
  public:
    using exception::exception;
};

namespace detail
{

/**
 * The attributes of a new thread. Can be moved, not copied. All functions throw
 * thread_exception.
 */
class thread_attribute
    : public owned_handle<ABT_thread_attr, ABT_thread_attr_free>
{
  public:
    /** Has the default attributes. */
    thread_attribute()
    {
        TL_THREAD_ASSERT(ABT_thread_attr_create(&m_handle));
    }

    /** Takes over a result of ABT_thread_get_attr(). */
    explicit thread_attribute(ABT_thread_attr handle)
    {
        m_handle = handle;
    }

    /** Sets the stack: memory of the program, or null and a size. */
    void set_stack(void *address, std::size_t size)
    {
        TL_THREAD_ASSERT(ABT_thread_attr_set_stack(m_handle, address, size));
    }

    /** The address of the stack; null: Argobots allocates the stack. */
    void *get_stack_address() const
    {
        void *address = nullptr;
        std::size_t size = 0;

        TL_THREAD_ASSERT(ABT_thread_attr_get_stack(m_handle, &address, &size));
        return address;
    }

    /** The size of the stack in bytes. */
    std::size_t get_stack_size() const
    {
        std::size_t size = 0;

        TL_THREAD_ASSERT(ABT_thread_attr_get_stacksize(m_handle, &size));
        return size;
    }

    /** Sets whether the thread may move to another pool. */
    void set_migratable(bool is_migratable)
    {
        TL_THREAD_ASSERT(ABT_thread_attr_set_migratable(
            m_handle, is_migratable ? ABT_TRUE : ABT_FALSE));
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
