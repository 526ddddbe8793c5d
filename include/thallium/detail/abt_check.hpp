/* SPDX-License-Identifier: BSD-3-Clause */
/* Return codes of Argobots as exceptions, and handles that free themselves. */
#ifndef THALLIUM_DETAIL_ABT_CHECK_HPP
#define THALLIUM_DETAIL_ABT_CHECK_HPP

#include <exception>
#include <iostream>
#include <abt.h>
#include <thallium/abt_errors.hpp>
#include <thallium/exception.hpp>

namespace thallium
{

namespace detail
{

template <typename Exception>
[[noreturn]] inline void throw_abt(
    const char *call, int code, const char *file, unsigned line)
{
    throw Exception(call, " returned ", abt_error_get_name(code), " (",
        abt_error_get_description(code), ") in ", file, ':', line);
}

/* For destructors and callbacks of Argobots, which must not throw. */
inline void must_succeed(int code, const char *object) noexcept
{
    if (code == ABT_SUCCESS)
        return;
    std::cerr << "a call of Argobots for " << object
              << " failed: " << abt_error_get_name(code) << " ("
              << abt_error_get_description(code) << ')' << std::endl;
    std::terminate();
}

/*
 * The only owner of an object of Argobots: the destructor frees the object; a
 * handle that was moved from is null. Base of the synchronisation classes.
 */
template <typename Handle, int (*Free)(Handle *)> class owned_handle
{
  public:
    /** The type of the object in abt.h. */
    using native_handle_type = Handle;

    owned_handle(const owned_handle &) = delete;
    owned_handle &operator=(const owned_handle &) = delete;

    owned_handle(owned_handle &&other) noexcept : m_handle(other.m_handle)
    {
        other.m_handle = Handle();
    }

    owned_handle &operator=(owned_handle &&other) noexcept
    {
        if (this != &other) {
            free_handle();
            m_handle = other.m_handle;
            other.m_handle = Handle();
        }
        return *this;
    }

    /** The object's handle for calls of abt.h; this object stays the owner. */
    native_handle_type native_handle() const noexcept
    {
        return m_handle;
    }

  protected:
    Handle m_handle = Handle();

    owned_handle() = default;

    ~owned_handle()
    {
        free_handle();
    }

  private:
    void free_handle() noexcept
    {
        if (m_handle != Handle())
            must_succeed(Free(&m_handle), "an Argobots object");
        m_handle = Handle();
    }
};

} /* namespace detail */

} /* namespace thallium */

/* Throws `type`; `call` is a text that names the call that failed. */
#define TL_ABT_THROW_(type, call, code)                                        \
    ::thallium::detail::throw_abt<::thallium::type>(                           \
        call, (code), __FILE__, __LINE__)

/* Throws `type` unless the call returns ABT_SUCCESS. */
#define TL_ABT_ASSERT_(type, call)                                             \
    do {                                                                       \
        int tl_code_ = (call);                                                 \
        if (tl_code_ != ABT_SUCCESS)                                           \
            TL_ABT_THROW_(type, #call, tl_code_);                              \
    } while (0)

#endif
