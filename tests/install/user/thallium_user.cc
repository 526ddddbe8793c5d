/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for Thallium, without anything of this library. */
#include <cereal/cereal.hpp>
#include <thallium/config.hpp>
#include <thallium/margo_exception.hpp>

#include <cstdio>

namespace tl = thallium;

#if defined(TYPES_ARE_CHECKED) != defined(THALLIUM_DEBUG_RPC_TYPES)
#error "THALLIUM_DEBUG_RPC_TYPES belongs to thallium_check_types"
#endif

int main()
{
    try {
        MARGO_ASSERT(HG_BUSY, margo_forward);
    } catch (const tl::margo_exception &error) {
        std::printf("API of version %s: %s\n", THALLIUM_VERSION, error.what());
        return error.error() == HG_BUSY ? 0 : 2;
    }
    return 1;
}
