/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers that threads share: C11's atomics (std::atomic in C++) under
 * Mercury's names.
 *
 * A get loads with acquire order, a set stores with release order; operations
 * that load and store have both. An init is not atomic: no other thread may use
 * the variable yet. */
#ifndef MERCURY_ATOMIC_H
#define MERCURY_ATOMIC_H

#include "mercury_util_config.h"

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<int32_t> hg_atomic_int32_t;
typedef std::atomic<int64_t> hg_atomic_int64_t;
#define HG_ATOMIC_STD(name) std::name
#define HG_ATOMIC_VAR_INIT(x)                                                  \
    {                                                                          \
        (x)                                                                    \
    }
#else
#include <stdatomic.h>
typedef _Atomic int32_t hg_atomic_int32_t;
typedef _Atomic int64_t hg_atomic_int64_t;
#define HG_ATOMIC_STD(name)   name
#define HG_ATOMIC_VAR_INIT(x) (x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Execute a full fence: all accesses before it precede all accesses after it.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void hg_atomic_fence(void)
{
    HG_ATOMIC_STD(atomic_thread_fence)(HG_ATOMIC_STD(memory_order_seq_cst));
}

/**
 * Give an atomic variable its first value; not atomic.
 *
 * @param ptr    [out]  the variable to initialise
 * @param value  [in]   the new value
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   one thread, before others use the variable.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void hg_atomic_init32(
    hg_atomic_int32_t *ptr, int32_t value)
{
    HG_ATOMIC_STD(atomic_init)(ptr, value);
}

/**
 * Write an atomic variable; a thread that reads it sees all earlier writes of
 * the caller.
 *
 * @param ptr    [out]  the atomic variable
 * @param value  [in]   the new value
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void hg_atomic_set32(
    hg_atomic_int32_t *ptr, int32_t value)
{
    HG_ATOMIC_STD(atomic_store_explicit)
    (ptr, value, HG_ATOMIC_STD(memory_order_release));
}

/**
 * Read an atomic variable.
 *
 * @param ptr  [in]  the atomic variable
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int32_t hg_atomic_get32(hg_atomic_int32_t *ptr)
{
    return HG_ATOMIC_STD(atomic_load_explicit)(
        ptr, HG_ATOMIC_STD(memory_order_acquire));
}

/**
 * Add one to an atomic variable; returns the new value.
 *
 * @param ptr  [in,out]  the atomic variable
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int32_t hg_atomic_incr32(hg_atomic_int32_t *ptr)
{
    return HG_ATOMIC_STD(atomic_fetch_add_explicit)(
               ptr, 1, HG_ATOMIC_STD(memory_order_acq_rel)) +
           1;
}

/**
 * Subtract one from an atomic variable; returns the new value.
 *
 * @param ptr  [in,out]  the atomic variable
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int32_t hg_atomic_decr32(hg_atomic_int32_t *ptr)
{
    return HG_ATOMIC_STD(atomic_fetch_sub_explicit)(
               ptr, 1, HG_ATOMIC_STD(memory_order_acq_rel)) -
           1;
}

/**
 * Set the bits of `value` in an atomic variable; returns the value from before.
 *
 * @param ptr    [in,out]  the atomic variable
 * @param value  [in]  the bits to combine by OR
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int32_t hg_atomic_or32(
    hg_atomic_int32_t *ptr, int32_t value)
{
    return HG_ATOMIC_STD(atomic_fetch_or_explicit)(
        ptr, value, HG_ATOMIC_STD(memory_order_acq_rel));
}

/**
 * Invert the bits of `value` in an atomic variable; returns the value from
 * before.
 *
 * @param ptr    [in,out]  the atomic variable
 * @param value  [in]  the bits to combine by XOR
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int32_t hg_atomic_xor32(
    hg_atomic_int32_t *ptr, int32_t value)
{
    return HG_ATOMIC_STD(atomic_fetch_xor_explicit)(
        ptr, value, HG_ATOMIC_STD(memory_order_acq_rel));
}

/**
 * Keep the bits of `value` in an atomic variable, and clear all others; returns
 * the value from before.
 *
 * @param ptr    [in,out]  the atomic variable
 * @param value  [in]  the bits to combine by AND
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int32_t hg_atomic_and32(
    hg_atomic_int32_t *ptr, int32_t value)
{
    return HG_ATOMIC_STD(atomic_fetch_and_explicit)(
        ptr, value, HG_ATOMIC_STD(memory_order_acq_rel));
}

/**
 * Write `swap_value` to an atomic variable if it holds `compare_value`; returns
 * true if it was written.
 *
 * @param ptr            [in,out]  the atomic variable
 * @param compare_value  [in]  the value that the variable must hold
 * @param swap_value     [in]  the value to write
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE bool hg_atomic_cas32(
    hg_atomic_int32_t *ptr, int32_t compare_value, int32_t swap_value)
{
    return HG_ATOMIC_STD(atomic_compare_exchange_strong_explicit)(ptr,
        &compare_value, swap_value, HG_ATOMIC_STD(memory_order_acq_rel),
        HG_ATOMIC_STD(memory_order_acquire));
}

/**
 * Give an atomic variable its first value; not atomic.
 *
 * @param ptr    [out]  the variable to initialise
 * @param value  [in]   the new value
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   one thread, before others use the variable.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void hg_atomic_init64(
    hg_atomic_int64_t *ptr, int64_t value)
{
    HG_ATOMIC_STD(atomic_init)(ptr, value);
}

/**
 * Write an atomic variable; a thread that reads it sees all earlier writes of
 * the caller.
 *
 * @param ptr    [out]  the atomic variable
 * @param value  [in]   the new value
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void hg_atomic_set64(
    hg_atomic_int64_t *ptr, int64_t value)
{
    HG_ATOMIC_STD(atomic_store_explicit)
    (ptr, value, HG_ATOMIC_STD(memory_order_release));
}

/**
 * Read an atomic variable.
 *
 * @param ptr  [in]  the atomic variable
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int64_t hg_atomic_get64(hg_atomic_int64_t *ptr)
{
    return HG_ATOMIC_STD(atomic_load_explicit)(
        ptr, HG_ATOMIC_STD(memory_order_acquire));
}

/**
 * Add one to an atomic variable; returns the new value.
 *
 * @param ptr  [in,out]  the atomic variable
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int64_t hg_atomic_incr64(hg_atomic_int64_t *ptr)
{
    return HG_ATOMIC_STD(atomic_fetch_add_explicit)(
               ptr, 1, HG_ATOMIC_STD(memory_order_acq_rel)) +
           1;
}

/**
 * Subtract one from an atomic variable; returns the new value.
 *
 * @param ptr  [in,out]  the atomic variable
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int64_t hg_atomic_decr64(hg_atomic_int64_t *ptr)
{
    return HG_ATOMIC_STD(atomic_fetch_sub_explicit)(
               ptr, 1, HG_ATOMIC_STD(memory_order_acq_rel)) -
           1;
}

/**
 * Set the bits of `value` in an atomic variable; returns the value from before.
 *
 * @param ptr    [in,out]  the atomic variable
 * @param value  [in]  the bits to combine by OR
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int64_t hg_atomic_or64(
    hg_atomic_int64_t *ptr, int64_t value)
{
    return HG_ATOMIC_STD(atomic_fetch_or_explicit)(
        ptr, value, HG_ATOMIC_STD(memory_order_acq_rel));
}

/**
 * Invert the bits of `value` in an atomic variable; returns the value from
 * before.
 *
 * @param ptr    [in,out]  the atomic variable
 * @param value  [in]  the bits to combine by XOR
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int64_t hg_atomic_xor64(
    hg_atomic_int64_t *ptr, int64_t value)
{
    return HG_ATOMIC_STD(atomic_fetch_xor_explicit)(
        ptr, value, HG_ATOMIC_STD(memory_order_acq_rel));
}

/**
 * Keep the bits of `value` in an atomic variable, and clear all others; returns
 * the value from before.
 *
 * @param ptr    [in,out]  the atomic variable
 * @param value  [in]  the bits to combine by AND
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int64_t hg_atomic_and64(
    hg_atomic_int64_t *ptr, int64_t value)
{
    return HG_ATOMIC_STD(atomic_fetch_and_explicit)(
        ptr, value, HG_ATOMIC_STD(memory_order_acq_rel));
}

/**
 * Write `swap_value` to an atomic variable if it holds `compare_value`; returns
 * true if it was written.
 *
 * @param ptr            [in,out]  the atomic variable
 * @param compare_value  [in]  the value that the variable must hold
 * @param swap_value     [in]  the value to write
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: ptr is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE bool hg_atomic_cas64(
    hg_atomic_int64_t *ptr, int64_t compare_value, int64_t swap_value)
{
    return HG_ATOMIC_STD(atomic_compare_exchange_strong_explicit)(ptr,
        &compare_value, swap_value, HG_ATOMIC_STD(memory_order_acq_rel),
        HG_ATOMIC_STD(memory_order_acquire));
}

#undef HG_ATOMIC_STD

#ifdef __cplusplus
}
#endif

#endif
