/* SPDX-License-Identifier: BSD-3-Clause */
/* The exception for a call of Margo that failed, and the macros that throw it.
 * The macros have no prefix because programs use them by these names. */
#ifndef THALLIUM_MARGO_EXCEPTION_HPP
#define THALLIUM_MARGO_EXCEPTION_HPP

#include <exception>
#include <iostream>
#include <string>
#include <margo.h>
#include <thallium/exception.hpp>

namespace thallium
{

/** The name of a return code, as HG_Error_to_string() gives it. */
inline std::string translate_margo_error_code(hg_return_t code)
{
    const char *name = HG_Error_to_string(code);

    return name != nullptr ? name : "unknown return code";
}

/** A call of Margo failed. */
class margo_exception : public exception
{
    hg_return_t m_code;

  public:
    /**
     * The message becomes "[file:line][function] message".
     *
     * function, file and line name the place that failed; code is the return
     * code of Margo.
     */
    margo_exception(const std::string &function, const std::string &file,
        unsigned line, hg_return_t code, const std::string &message)
        : exception('[', file, ':', line, "][", function, "] ", message),
          m_code(code)
    {
    }

    /** The return code of Margo. */
    hg_return_t error() const
    {
        return m_code;
    }
};

namespace detail
{

[[noreturn]] inline void throw_margo(
    const char *function, const char *file, unsigned line, hg_return_t code)
{
    throw margo_exception(function, file, line, code,
        std::string(function) + " returned " +
            translate_margo_error_code(code));
}

/* For destructors, which must not throw. */
[[noreturn]] inline void terminate_margo(const char *function, const char *file,
    unsigned line, hg_return_t code) noexcept
{
    std::cerr << '[' << file << ':' << line << "][" << function << "] returned "
              << translate_margo_error_code(code) << " in a destructor"
              << std::endl;
    std::terminate();
}

} /* namespace detail */

} /* namespace thallium */

/** Throws margo_exception with the given message. */
#define MARGO_THROW(function, code, message)                                   \
    throw ::thallium::margo_exception(                                         \
        #function, __FILE__, __LINE__, (code), (message))

/** Throws margo_exception unless code is HG_SUCCESS. */
#define MARGO_ASSERT(code, function)                                           \
    do {                                                                       \
        hg_return_t tl_code_ = (code);                                         \
        if (tl_code_ != HG_SUCCESS)                                            \
            ::thallium::detail::throw_margo(                                   \
                #function, __FILE__, __LINE__, tl_code_);                      \
    } while (0)

/** Prints the error and terminates unless code is HG_SUCCESS. */
#define MARGO_ASSERT_TERMINATE(code, ...)                                      \
    do {                                                                       \
        hg_return_t tl_code_ = (code);                                         \
        if (tl_code_ != HG_SUCCESS)                                            \
            ::thallium::detail::terminate_margo(                               \
                #__VA_ARGS__, __FILE__, __LINE__, tl_code_);                   \
    } while (0)

/** In a member function: throws exception if the object has no instance. */
#define MARGO_INSTANCE_MUST_BE_VALID                                           \
    do {                                                                       \
        if (get_margo_instance() == MARGO_INSTANCE_NULL)                       \
            throw ::thallium::exception(                                       \
                "[", __FILE__, ":", __LINE__, "] no Margo instance");          \
    } while (0)

/** Throws exception with the message unless the condition holds. */
#define THALLIUM_ASSERT_CONDITION(condition, message)                          \
    do {                                                                       \
        if (!(condition))                                                      \
            throw ::thallium::exception(                                       \
                "[", __FILE__, ":", __LINE__, "] ", message);                  \
    } while (0)

#endif
