/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of other processes. */
#ifndef MARGO_ADDRESS_H
#define MARGO_ADDRESS_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Find an address by its string.
 *
 * @param mid   [in]   the Margo instance
 * @param name  [in]   as margo_addr_to_string() of that process wrote it
 * @param addr  [out]  the address
 * Owns:      the caller owns the result; margo_addr_free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            and those of HG_Addr_lookup2()
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_addr_lookup(
    margo_instance_id mid, const char *name, hg_addr_t *addr);

/**
 * Free an address.
 *
 * @param mid   [in]  the Margo instance
 * @param addr  [in]  HG_ADDR_NULL is allowed
 * Owns:      the caller's reference to the address is consumed.
 * Errors:    HG_INVALID_ARG mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_addr_free(margo_instance_id mid, hg_addr_t addr);

/**
 * Get the address of this process.
 *
 * @param mid   [in]   the Margo instance
 * @param addr  [out]  the address of this process
 * Owns:      the caller owns the result; margo_addr_free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            and those of HG_Addr_self()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_addr_self(margo_instance_id mid, hg_addr_t *addr);

/**
 * Take another reference to an address.
 *
 * @param mid       [in]   the Margo instance
 * @param addr      [in]   the address to refer to
 * @param new_addr  [out]  the same address, with a reference of its own
 * Owns:      the caller owns the result; margo_addr_free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            and those of HG_Addr_dup()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_addr_dup(
    margo_instance_id mid, hg_addr_t addr, hg_addr_t *new_addr);

/**
 * Tell whether two addresses name the same process.
 *
 * @param mid    [in]  the Margo instance
 * @param addr1  [in]  an address, HG_ADDR_NULL included
 * @param addr2  [in]  the address to compare with
 * Owns:      nothing changes hands.
 * Errors:    HG_FALSE also when mid is NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_bool_t margo_addr_cmp(
    margo_instance_id mid, hg_addr_t addr1, hg_addr_t addr2);

/**
 * Declare a peer dead, as HG_Addr_set_remove() does: a hint without effect.
 *
 * @param mid   [in]  the Margo instance
 * @param addr  [in]  the address of the dead peer
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            and those of HG_Addr_set_remove()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_addr_set_remove(
    margo_instance_id mid, hg_addr_t addr);

/**
 * Write an address as a string.
 *
 * @param mid       [in]  the Margo instance
 * @param buf       [out]  NULL: only the size is wanted
 * @param buf_size  [in,out]  size of the buffer; becomes the bytes needed, with
 *                            NUL
 * @param addr      [in]  the address to write
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG mid, buf_size or addr is NULL
 *            HG_OVERFLOW    the buffer is too small; only buf_size is written
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_addr_to_string(
    margo_instance_id mid, char *buf, hg_size_t *buf_size, hg_addr_t addr);

#ifdef __cplusplus
}
#endif

#endif
