/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of processes.
 *
 * An address is reference-counted: handles that use it keep it alive. */
#ifndef MERCURY_ADDRESS_H
#define MERCURY_ADDRESS_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Older name of HG_Addr_lookup1(). */
#define HG_Addr_lookup HG_Addr_lookup1

/**
 * Find an address by its string, and pass it to a callback.
 *
 * The address is found at once; the callback runs in a later HG_Trigger().
 *
 * @param context   [in]   of HG_Context_create() or HG_Context_create_id()
 * @param callback  [in]   gets the address in `info.lookup.addr`
 * @param arg       [in]   passed to the callback
 * @param name      [in]   as HG_Addr_to_string() wrote it
 * @param op_id     [out]  set to HG_OP_ID_NULL; may be HG_OP_ID_IGNORE
 * Owns:      `arg` must live until the callback ran. The callback owns the
 *            address; HG_Addr_free() frees it.
 * Errors:    HG_INVALID_ARG   context, callback or name is NULL, or the string
 *                             is no address
 *            HG_PROTONOSUPPORT the string names another transport
 *            HG_ADDRNOTAVAIL  an address of another job, or of no process
 *            HG_NOMEM         no memory
 *            No callback follows an error.
 * Threads:   any thread; never blocks.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4, but as HG_Addr_lookup2() says.
 */
HG_PUBLIC hg_return_t HG_Addr_lookup1(hg_context_t *context, hg_cb_t callback,
    void *arg, const char *name, hg_op_id_t *op_id);

/**
 * Find an address by its string.
 *
 * Sends nothing. Over shared memory, checks that the named process exists.
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param name      [in]   as HG_Addr_to_string() wrote it
 * @param addr      [out]  the address
 * Owns:      the caller owns the result; HG_Addr_free() frees it.
 * Errors:    HG_INVALID_ARG   an argument is NULL, or the string is no address
 *            HG_PROTONOSUPPORT the string names another transport
 *            HG_ADDRNOTAVAIL  an address of another job, or of no process
 *            HG_NOMEM         no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but strings of other jobs are refused, and over
 *            shared memory strings of processes that do not exist.
 */
HG_PUBLIC hg_return_t HG_Addr_lookup2(
    hg_class_t *hg_class, const char *name, hg_addr_t *addr);

/**
 * Free an address.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param addr      [in]  HG_ADDR_NULL is allowed
 * Owns:      the caller's reference to the address is consumed.
 * Errors:    HG_INVALID_ARG hg_class is NULL, or the address is of another
 *                           class, or borrowed from a handle
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr);

/**
 * Declare a peer dead, so that its cached state may be freed: a hint, which all
 * transports of this library ignore.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param addr      [in]  the caller still frees it
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Addr_set_remove(hg_class_t *hg_class, hg_addr_t addr);

/**
 * Get the address of this process, even if the class does not listen.
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param addr      [out]  the address of this process
 * Owns:      the caller owns the result; HG_Addr_free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr);

/**
 * Take another reference to an address, for instance to a borrowed address.
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param addr      [in]   the address to refer to
 * @param new_addr  [out]  the same address, with a reference of its own
 * Owns:      the caller owns the result; HG_Addr_free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL, or the address is of another
 *                           class
 *            HG_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Addr_dup(
    hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr);

/**
 * Tell whether two addresses name the same process.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param addr1     [in]  HG_ADDR_NULL equals only HG_ADDR_NULL
 * @param addr2     [in]  the address to compare with
 * Owns:      nothing changes hands.
 * Errors:    HG_FALSE: hg_class is NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC uint8_t HG_Addr_cmp(
    hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2);

/**
 * Write an address as a string, which HG_Addr_lookup2() reads in any process
 * that can reach the owner of the address.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param buf       [out]     NULL: only the size is wanted
 * @param buf_size  [in,out]  bytes given; becomes the bytes needed, NUL
 *                            counted, even if too few bytes were given
 * @param addr      [in]  the address to write
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class, buf_size or addr is NULL, or the
 *                           address is of another class
 *            HG_OVERFLOW    too few bytes given; only the size is written, and
 *                           the log names the address
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the size is written on HG_OVERFLOW too.
 */
HG_PUBLIC hg_return_t HG_Addr_to_string(
    hg_class_t *hg_class, char *buf, hg_size_t *buf_size, hg_addr_t addr);

#ifdef __cplusplus
}
#endif

#endif
