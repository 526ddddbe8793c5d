/* SPDX-License-Identifier: BSD-3-Clause */
/* NA classes: transports that a program opens before an HG class, and gives to
 * the HG class in `hg_init_info.na_class`.
 *
 * An NA class is for programs that were written for Mercury's network layer,
 * and for programs that open one HG class after another over the same
 * transports. An NA class offers addresses, but no messages, so the rest of NA
 * is not declared here. Only one HG class at a time may use an NA class. */
#ifndef NA_H
#define NA_H

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the version of the NA API that the library offers, at run time.
 *
 * @param major  [out]  may be NULL, like minor and patch
 * @param minor  [out]  second number of the version
 * @param patch  [out]  third number of the version
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC na_return_t NA_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch);

/**
 * Get the name of a return code, for instance "NA_NOENTRY".
 *
 * @param errnum  [in]  a return code
 * Owns:      the result is borrowed from the library, for ever.
 * Errors:    NULL for a number that is no return code.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC const char *NA_Error_to_string(na_return_t errnum);

/**
 * Set the log level, as HG_Set_log_level() does: there is one log.
 *
 * @param level  [in]  "none", "fatal", "error", "warning", "min_debug", "info"
 *                     or "debug"
 * Owns:      nothing changes hands.
 * Errors:    an unknown name changes nothing; the log says so.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but sets the level of HG, too.
 */
NA_PUBLIC void NA_Set_log_level(const char *level);

/**
 * List the protocols that this process can open; as HG_Get_na_protocol_info().
 *
 * @param info_string         [in]   the protocols to list, for instance "mpi",
 *                                   "mpi+p2p"; NULL: all
 * @param na_protocol_info_p  [out]  the list of protocols
 * Owns:      the caller owns the result; NA_Free_protocol_info() frees it.
 * Errors:    NA_INVALID_ARG    na_protocol_info_p is NULL, or the string is no
 *                              init string
 *            NA_PROTONOSUPPORT no transport here has that name
 *            NA_NOMEM          no memory
 * Threads:   any thread; may load a library.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but MPI and the self transport are listed too.
 */
NA_PUBLIC na_return_t NA_Get_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p);

/**
 * Free a list of protocols.
 *
 * @param na_protocol_info  [in]  may be NULL
 * Owns:      the list is consumed.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC void NA_Free_protocol_info(struct na_protocol_info *na_protocol_info);

/**
 * Open transports with default options: NA_Initialize_opt2() without options.
 *
 * @param info_string  [in]  the transport; as for HG_Init_opt2()
 * @param listen       [in]  true: HG classes over the result receive calls
 * Owns:      the caller owns the result; NA_Finalize() frees it.
 * Errors:    NULL on any failure; the log says why.
 * Threads:   any thread; collective over MPI_COMM_WORLD when over MPI.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but collective over MPI.
 */
NA_PUBLIC na_class_t *NA_Initialize(const char *info_string, bool listen);

/**
 * Open transports with options in the layout of NA 4.0.
 *
 * The traffic class of `struct na_init_info` is not read.
 *
 * @param info_string   [in]  the transport; as for HG_Init_opt2()
 * @param listen        [in]  true: HG classes over the result receive calls
 * @param na_init_info  [in]  NULL: defaults
 * Owns:      the caller owns the result; NA_Finalize() frees it. The options
 *            may be reused when the call returns.
 * Errors:    NULL on any failure; the log says why.
 * Threads:   any thread; collective over MPI_COMM_WORLD when over MPI.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but collective over MPI.
 */
NA_PUBLIC na_class_t *NA_Initialize_opt(const char *info_string, bool listen,
    const struct na_init_info *na_init_info);

/**
 * Open transports for use by HG classes.
 *
 * For transports, MPI and threads see HG_Init_opt2().
 *
 * @param info_string   [in]  the transport; as for HG_Init_opt2()
 * @param listen        [in]  true: HG classes over the result receive calls
 * @param version       [in]  NA_VERSION(major, minor) that the options were
 *                            written for; not read when they are NULL
 * @param na_init_info  [in]  NULL: defaults
 * Owns:      the caller owns the result; NA_Finalize() frees it. The options
 *            may be reused when the call returns.
 * Errors:    NULL on any failure; the log says why: as HG_Init_opt2().
 * Threads:   any thread; collective over MPI_COMM_WORLD when over MPI.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but collective over MPI.
 */
NA_PUBLIC na_class_t *NA_Initialize_opt2(const char *info_string, bool listen,
    unsigned int version, const struct na_init_info *na_init_info);

/**
 * Close the transports.
 *
 * Over MPI the call waits for the other ranks, as HG_Finalize() does for a
 * class without an NA class.
 *
 * @param na_class  [in]  invalid when NA_SUCCESS or NA_TIMEOUT is returned
 * Owns:      the class is consumed, unless NA_BUSY is returned.
 * Errors:    NA_INVALID_ARG na_class is NULL
 *            NA_BUSY        an HG class still uses the NA class, or addresses
 *                           are left; nothing was done: free them, call again
 *            NA_TIMEOUT     the call gave up the wait, as HG_Finalize() does
 * Threads:   one thread, while no other uses the class; may wait for the other
 *            ranks. Collective over MPI_COMM_WORLD when over MPI.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but may return NA_BUSY, and waits over MPI.
 */
NA_PUBLIC na_return_t NA_Finalize(na_class_t *na_class);

/**
 * Remove files that crashed processes of this user left in the system; as
 * HG_Cleanup().
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; may do file system calls.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC void NA_Cleanup(void);

/**
 * Write the counters of the open NA classes into the log, as
 * HG_Diag_dump_counters() does.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury after 2.4, but in every build, and with our counters.
 */
NA_PUBLIC void NA_Diag_dump_counters(void);

/**
 * Get the kind of transport of a class, for instance "mpi".
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * Owns:      the result is borrowed from the class.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
NA_PUBLIC const char *NA_Get_class_name(const na_class_t *na_class);

/**
 * Get the protocol of the transport of a class, for instance "p2p" of "mpi".
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * Owns:      the result is borrowed from the class.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
NA_PUBLIC const char *NA_Get_class_protocol(const na_class_t *na_class);

/**
 * Tell whether the class was opened to receive calls.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * Owns:      nothing changes hands.
 * Errors:    NULL gives false.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
NA_PUBLIC bool NA_Is_listening(const na_class_t *na_class);

/**
 * Tell whether NA messages have an optional feature: always false, because NA
 * messages are not offered.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * @param flags     [in]  NA_OPT_MULTI_RECV, NA_OPT_FIREWALL_ADDR
 * Owns:      nothing changes hands.
 * Errors:    none: false.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4 with a transport that has none of these features.
 */
NA_PUBLIC bool NA_Has_opt_feature(na_class_t *na_class, unsigned long flags);

/**
 * Find an address by its string; as HG_Addr_lookup2() for a network class.
 *
 * An address belongs to the class in which it was found: HG calls take no NA
 * address, and NA calls no HG address. The strings of HG and NA are the same.
 *
 * @param na_class  [in]   the network class, of NA_Initialize() or its forms
 * @param name      [in]   as NA_Addr_to_string() or HG_Addr_to_string() wrote
 *                         it
 * @param addr_p    [out]  the address
 * Owns:      the caller owns the result; NA_Addr_free() frees it.
 * Errors:    NA_INVALID_ARG   an argument is NULL, or the string is no address
 *            NA_PROTONOSUPPORT the string names another transport
 *            NA_ADDRNOTAVAIL  an address of another job, or of no process
 *            NA_NOMEM         no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but strings of other jobs are refused.
 */
NA_PUBLIC na_return_t NA_Addr_lookup(
    na_class_t *na_class, const char *name, na_addr_t **addr_p);

/**
 * Free an address.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * @param addr      [in]  NULL is allowed
 * Owns:      the caller's reference to the address is consumed.
 * Errors:    none; an address of another class is not freed, and is logged.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC void NA_Addr_free(na_class_t *na_class, na_addr_t *addr);

/**
 * Declare a peer dead: a hint, which this library ignores.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * @param addr      [in]  the caller still frees it
 * Owns:      nothing changes hands.
 * Errors:    NA_INVALID_ARG an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4; as HG_Addr_set_remove().
 */
NA_PUBLIC na_return_t NA_Addr_set_remove(na_class_t *na_class, na_addr_t *addr);

/**
 * Get the address of this process, even if the class does not listen.
 *
 * @param na_class  [in]   the network class, of NA_Initialize() or its forms
 * @param addr_p    [out]  the address
 * Owns:      the caller owns the result; NA_Addr_free() frees it.
 * Errors:    NA_INVALID_ARG an argument is NULL
 *            NA_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC na_return_t NA_Addr_self(na_class_t *na_class, na_addr_t **addr_p);

/**
 * Take another reference to an address.
 *
 * @param na_class    [in]   the network class, of NA_Initialize() or its forms
 * @param addr        [in]   the address to refer to
 * @param new_addr_p  [out]  the same address, with a reference of its own
 * Owns:      the caller owns the result; NA_Addr_free() frees it.
 * Errors:    NA_INVALID_ARG an argument is NULL, or the address is of another
 *                           class
 *            NA_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC na_return_t NA_Addr_dup(
    na_class_t *na_class, na_addr_t *addr, na_addr_t **new_addr_p);

/**
 * Tell whether two addresses name the same process.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * @param addr1     [in]  NULL equals only NULL
 * @param addr2     [in]  the address to compare with
 * Owns:      nothing changes hands.
 * Errors:    false: na_class is NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC bool NA_Addr_cmp(
    na_class_t *na_class, na_addr_t *addr1, na_addr_t *addr2);

/**
 * Tell whether an address names this process.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * @param addr      [in]  the address to look at
 * Owns:      nothing changes hands.
 * Errors:    false: an argument is NULL, or the address is of another class.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
NA_PUBLIC bool NA_Addr_is_self(na_class_t *na_class, na_addr_t *addr);

/**
 * Write an address as a string, which NA_Addr_lookup() and HG_Addr_lookup2()
 * read in any process that can reach the owner of the address.
 *
 * @param na_class  [in]  the network class, of NA_Initialize() or its forms
 * @param buf       [out]     NULL: only the size is wanted
 * @param buf_size  [in,out]  bytes given; becomes the bytes needed, NUL
 *                            counted, even if too few bytes were given
 * @param addr      [in]  the address to write
 * Owns:      nothing changes hands.
 * Errors:    NA_INVALID_ARG na_class, buf_size or addr is NULL, or the address
 *                           is of another class
 *            NA_OVERFLOW    too few bytes given; only the size is written
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the size is written on NA_OVERFLOW too.
 */
NA_PUBLIC na_return_t NA_Addr_to_string(
    na_class_t *na_class, char *buf, size_t *buf_size, na_addr_t *addr);

#ifdef __cplusplus
}
#endif

#endif
