/* SPDX-License-Identifier: BSD-3-Clause */
/* The base class of all exceptions of thallium.hpp but timeout. */
#ifndef THALLIUM_EXCEPTION_HPP
#define THALLIUM_EXCEPTION_HPP

#include <thallium/config.hpp>

#include <exception>
#include <sstream>
#include <string>

namespace thallium
{

/**
 * An error with a message. All exceptions of this library derive from it,
 * except timeout.
 */
class exception : public std::exception
{
    std::string m_message;

  public:
    /** Joins the arguments, as operator<< prints them, to the message. */
    template <typename... Parts> explicit exception(const Parts &...parts)
    {
        std::ostringstream text;
        int expand[] = {0, (text << parts, 0)...};

        (void)expand;
        m_message = text.str();
    }

    /** The message; valid while the exception exists. */
    const char *what() const noexcept override
    {
        return m_message.c_str();
    }
};

} /* namespace thallium */

#endif
