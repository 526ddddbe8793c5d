/* SPDX-License-Identifier: BSD-3-Clause */
/* A tag for threads and tasks that nobody holds. */
#ifndef THALLIUM_ANONYMOUS_HPP
#define THALLIUM_ANONYMOUS_HPP

namespace thallium
{

/**
 * As last argument of make_thread() and make_task(): the thread or task frees
 * itself at its end, and there is no handle of it.
 */
struct anonymous {
};

} /* namespace thallium */

#endif
