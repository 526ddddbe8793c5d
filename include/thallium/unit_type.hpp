/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of work. */
#ifndef THALLIUM_UNIT_TYPE_HPP
#define THALLIUM_UNIT_TYPE_HPP

namespace thallium
{

/** A kind of work; other is a thread that Argobots did not create. */
enum class unit_type { thread, task, xstream, other };

} /* namespace thallium */

#endif
