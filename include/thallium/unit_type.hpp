/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of work units. */
#ifndef THALLIUM_UNIT_TYPE_HPP
#define THALLIUM_UNIT_TYPE_HPP

namespace thallium
{

/** A kind of work unit; other: an OS thread that is no stream of Argobots. */
enum class unit_type { thread, task, xstream, other };

} /* namespace thallium */

#endif
