/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of a type in calls to groups: what the library needs to decode, fold
 * and encode them. */
#ifndef THALLIUM_DETAIL_REDUCTION_HPP
#define THALLIUM_DETAIL_REDUCTION_HPP

#include <cstddef>
#include <new>
#include <tuple>
#include <amalgam_thallium.h>
#include <margo.h>
#include <mercury_proc.h>
#include <thallium/proc_object.hpp>

namespace thallium
{

namespace detail
{

template <typename T> struct reduction {
    using function = void (*)(const T &from, T &inout);

    static_assert(alignof(T) <= alignof(std::max_align_t),
        "the library allocates outputs, with the alignment of malloc()");

    /* A proc that begins and ends the life of the object. */
    static hg_return_t code(hg_proc_t proc, void *data) noexcept
    {
        bool is_decode = hg_proc_get_op(proc) == HG_DECODE;
        T *object = static_cast<T *>(data);
        std::tuple<> context;
        hg_return_t ret = HG_SUCCESS;

        if (hg_proc_get_op(proc) == HG_FREE) {
            object->~T();
            return HG_SUCCESS;
        }
        try {
            if (is_decode)
                object = new (data) T{};
        } catch (...) {
            return HG_OTHER_ERROR;
        }
        objects_coder<std::tuple<>, T> coder(
            context, MARGO_INSTANCE_NULL, *object);
        ret = hg_proc_meta_serialization(
            proc, is_decode ? coder.to_decode() : coder.to_encode());
        if (ret != HG_SUCCESS && is_decode)
            object->~T();
        return ret;
    }

    static void fold(const void *from, void *inout, void *arg) noexcept
    {
        reinterpret_cast<function>(arg)(
            *static_cast<const T *>(from), *static_cast<T *>(inout));
    }

    static hg_return_t enter(
        margo_instance_id mid, hg_id_t id, function function_of_program)
    {
        return amalgam_margo_register_reduce_proc(mid, id, code, fold,
            reinterpret_cast<void *>(function_of_program), sizeof(T));
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
