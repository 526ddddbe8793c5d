/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros that write types and procs from a list of fields, and register RPCs
 * with them.
 *
 * A field is written `((type)(name))`; any number of fields follow each other,
 * with or without white space. The proc of type T is hg_proc_T(), so the type
 * must be one word: a typedef of this library or of the program.
 *
 *   MERCURY_GEN_PROC(sum_in_t, ((int32_t)(x))((hg_string_t)(name)))
 *
 * expands to
 *
 *   typedef struct { int32_t x; hg_string_t name; } sum_in_t;
 *
 *   static inline hg_return_t hg_proc_sum_in_t(hg_proc_t proc, void *data)
 *   {
 *       sum_in_t *fields_ = (sum_in_t *)data;
 *       const hg_proc_op_t op_ = hg_proc_peek_op(proc);
 *       hg_return_t ret_ = HG_SUCCESS;
 *       size_t done_ = 0;
 *
 *       if (ret_ == HG_SUCCESS) {
 *           ret_ = hg_proc_int32_t(proc, &fields_->x);
 *           done_ += ret_ == HG_SUCCESS;
 *       }
 *       if (ret_ == HG_SUCCESS) {
 *           ret_ = hg_proc_hg_string_t(proc, &fields_->name);
 *           done_ += ret_ == HG_SUCCESS;
 *       }
 *       if (ret_ == HG_SUCCESS || op_ != HG_DECODE)
 *           return ret_;
 *       (void)hg_proc_reset(proc, NULL, 0, HG_FREE);
 *       if (done_ > 0) {
 *           done_--;
 *           (void)hg_proc_int32_t(proc, &fields_->x);
 *       }
 *       if (done_ > 0) {
 *           done_--;
 *           (void)hg_proc_hg_string_t(proc, &fields_->name);
 *       }
 *       return ret_;
 *   }
 *
 * If a field cannot be decoded, the second half frees the fields before it, so
 * that a message with a wrong length leaves nothing behind.
 *
 *   MERCURY_REGISTER(hg_class, "sum", sum_in_t, sum_out_t, sum_cb)
 *
 * expands to
 *
 *   HG_Register_name(
 *       hg_class, "sum", hg_proc_sum_in_t, hg_proc_sum_out_t, sum_cb)
 *
 * and returns the id; for an RPC without input or output the type is `void`. */
#ifndef MERCURY_MACROS_H
#define MERCURY_MACROS_H

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"

/* Mercury's header includes Boost's BOOST_PP_CAT() etc., which programs use. */
#ifdef __has_include
#if __has_include(<boost/preprocessor.hpp>)
#include <boost/preprocessor.hpp>
#endif
#endif

/* clang-format off: each line is a step of one expansion. */

/* The proc of `void`: there is nothing to code. */
#define hg_proc_void NULL

#define HG_GEN_CAT(a, b)  HG_GEN_CAT_(a, b)
#define HG_GEN_CAT_(a, b) a##b

/* HG_GEN_x_A((t)(f))((t)(f))... expands the first element, and puts HG_GEN_x_B
 * before the second, which puts HG_GEN_x_A before the third, and so on. Behind
 * the last element, the name of the macro gets the suffix _END, and expands to
 * nothing. An element `(t)(f)` is the arguments of two macros in turn. */

#define HG_GEN_FIELDS(seq)   HG_GEN_CAT(HG_GEN_FIELD_A seq, _END)
#define HG_GEN_FIELD_A(elem) HG_GEN_FIELD_TYPE elem HG_GEN_FIELD_B
#define HG_GEN_FIELD_B(elem) HG_GEN_FIELD_TYPE elem HG_GEN_FIELD_A
#define HG_GEN_FIELD_A_END
#define HG_GEN_FIELD_B_END
#define HG_GEN_FIELD_TYPE(type) type HG_GEN_FIELD_NAME
#define HG_GEN_FIELD_NAME(name) name;

#define HG_GEN_CODES(seq)   HG_GEN_CAT(HG_GEN_CODE_A seq, _END)
#define HG_GEN_CODE_A(elem) HG_GEN_CODE_TYPE elem HG_GEN_CODE_B
#define HG_GEN_CODE_B(elem) HG_GEN_CODE_TYPE elem HG_GEN_CODE_A
#define HG_GEN_CODE_A_END
#define HG_GEN_CODE_B_END
#define HG_GEN_CODE_TYPE(type)                                                 \
    if (ret_ == HG_SUCCESS) {                                                  \
    ret_ = HG_GEN_CAT(hg_proc_, type) HG_GEN_CODE_NAME
#define HG_GEN_CODE_NAME(name)                                                 \
    (proc, &fields_->name);                                                    \
    done_ += ret_ == HG_SUCCESS;                                               \
    }

#define HG_GEN_UNDOS(seq)   HG_GEN_CAT(HG_GEN_UNDO_A seq, _END)
#define HG_GEN_UNDO_A(elem) HG_GEN_UNDO_TYPE elem HG_GEN_UNDO_B
#define HG_GEN_UNDO_B(elem) HG_GEN_UNDO_TYPE elem HG_GEN_UNDO_A
#define HG_GEN_UNDO_A_END
#define HG_GEN_UNDO_B_END
#define HG_GEN_UNDO_TYPE(type)                                                 \
    if (done_ > 0) {                                                           \
        done_--;                                                               \
    (void)HG_GEN_CAT(hg_proc_, type) HG_GEN_UNDO_NAME
#define HG_GEN_UNDO_NAME(name)                                                 \
    (proc, &fields_->name);                                                    \
    }

/* A struct with the fields `seq`, and its typedef. */
#define MERCURY_GEN_STRUCT(struct_type_name, seq)                              \
    typedef struct {                                                           \
        HG_GEN_FIELDS(seq)                                                     \
    } struct_type_name;

/* The proc of a struct that the program has defined. */
#define MERCURY_GEN_STRUCT_PROC(struct_type_name, seq)                         \
    static HG_INLINE HG_UNUSED hg_return_t HG_GEN_CAT(                         \
        hg_proc_, struct_type_name)(hg_proc_t proc, void *data)                \
    {                                                                          \
        struct_type_name *fields_ = (struct_type_name *)data;                  \
        const hg_proc_op_t op_ = hg_proc_peek_op(proc);                        \
        hg_return_t ret_ = HG_SUCCESS;                                         \
        size_t done_ = 0;                                                      \
                                                                               \
        HG_GEN_CODES(seq)                                                      \
        if (ret_ == HG_SUCCESS || op_ != HG_DECODE)                            \
            return ret_;                                                       \
        (void)hg_proc_reset(proc, NULL, 0, HG_FREE);                           \
        HG_GEN_UNDOS(seq)                                                      \
        return ret_;                                                           \
    }

/* The struct and its proc. */
#define MERCURY_GEN_PROC(struct_type_name, seq)                                \
    MERCURY_GEN_STRUCT(struct_type_name, seq)                                  \
    MERCURY_GEN_STRUCT_PROC(struct_type_name, seq)

/* Registers an RPC by name, with the procs of its two types. */
#define MERCURY_REGISTER(                                                      \
    hg_class, func_name, in_struct_type_name, out_struct_type_name, rpc_cb)    \
    HG_Register_name(hg_class, func_name,                                      \
        HG_GEN_CAT(hg_proc_, in_struct_type_name),                             \
        HG_GEN_CAT(hg_proc_, out_struct_type_name), rpc_cb)

/* clang-format on */

#endif
