/* SPDX-License-Identifier: BSD-3-Clause */
/* The exception for a call or transfer that took longer than allowed. */
#ifndef THALLIUM_TIMEOUT_HPP
#define THALLIUM_TIMEOUT_HPP

#include <exception>

namespace thallium
{

/**
 * A call or a transfer did not end within its time limit. This class does not
 * derive from thallium::exception.
 */
class timeout : public std::exception
{
  public:
    /** Returns a fixed text. */
    const char *what() const noexcept override
    {
        return "Request timed out";
    }
};

} /* namespace thallium */

#endif
