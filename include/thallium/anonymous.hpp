/* SPDX-License-Identifier: BSD-3-Clause */
/* A tag for threads and tasks without a handle. */
#ifndef THALLIUM_ANONYMOUS_HPP
#define THALLIUM_ANONYMOUS_HPP

namespace thallium
{

/**
 * Last argument of make_thread() and make_task(): the thread or task gets no
 * handle, and frees itself when it ends.
 */
struct anonymous {
};

} /* namespace thallium */

#endif
