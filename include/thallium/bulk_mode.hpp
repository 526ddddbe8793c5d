/* SPDX-License-Identifier: BSD-3-Clause */
/* Permissions on exposed memory. */
#ifndef THALLIUM_BULK_MODE_HPP
#define THALLIUM_BULK_MODE_HPP

#include <margo.h>

namespace thallium
{

/** The access that other processes have to exposed memory. */
enum class bulk_mode : hg_uint32_t {
    read_write = HG_BULK_READWRITE,
    read_only = HG_BULK_READ_ONLY,
    write_only = HG_BULK_WRITE_ONLY
};

} /* namespace thallium */

#endif
