/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects behind the types of the Fortran module, and what its files share.
 *
 * Each derived type of the module (amalgam.F90) is one pointer to a struct of
 * this header, or to a handle of HG. The procedures of the module are C
 * functions with Fortran interfaces (bind(c)): an array comes as a descriptor
 * of ISO_Fortran_binding.h, an absent optional argument as NULL.
 *
 * An error goes to the last argument, ierror. If the program did not pass
 * ierror, an error ends the job, as MPI_ERRORS_ARE_FATAL does. */
#ifndef AMG_FORTRAN_FORT_H
#define AMG_FORTRAN_FORT_H

#include <ISO_Fortran_binding.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "amalgam.h"
#include "mercury_proc.h"

/* Class with its only context. Owned by the program, from amalgam_init() to
 * amalgam_finalize(). */
struct fort_class {
    hg_class_t *cls;
    hg_context_t *context;
};

/* RPC. Lives as long as the process. */
struct fort_rpc {
    struct fort_class *owner; /* NULL: the class is closed */
    struct fort_rpc *next;
    hg_id_t id;
    void (*handler)(void); /* of the program; NULL: this rank only calls */
    bool is_oneway;
    bool has_bulk;
};

/* Group, as it lies in the Fortran variable. */
struct fort_group {
    amalgam_group_t group; /* NULL: was not made, or `is_all` */
    int is_all;            /* all ranks of the class */
};

/* Exposed memory: the program's own, or that of the rank `addr`. Owned by the
 * program until amalgam_bulk_free(). */
struct fort_bulk {
    struct fort_class *owner;
    hg_bulk_t handle;
    hg_addr_t addr; /* HG_ADDR_NULL: memory of this rank */
};

/* States of a request: its callback and its waiter exchange the word, and the
 * second of them frees the request. */
enum fort_state {
    FORT_RUNNING,
    FORT_ENDED,    /* the callback has run; the waiter has the struct */
    FORT_ABANDONED /* the waiter is gone; the callback frees the struct */
};

/* Call or transfer under way. */
struct fort_request {
    struct fort_class *owner;
    hg_handle_t handle; /* of a call; NULL: a transfer */
    hg_return_t ret;    /* of the callback */
    bool is_group;
    /* enum fort_state. Publishes `ret`: the callback exchanges (acq_rel), the
     * waiter loads (acquire) or exchanges. */
    atomic_int state;
};

/* Input or output of a call: the bytes of one Fortran variable, as they lie in
 * memory, and before them an optional bulk handle. A struct of a C program with
 * the same fields and no padding has the same encoding. */
struct fort_message {
    hg_bulk_t bulk;    /* decoded, or to be encoded */
    const void *from;  /* bytes to encode; after decoding, `room` */
    void *room;        /* where to decode; NULL: in memory of the proc */
    size_t cap;        /* bytes at `room` */
    size_t len;        /* bytes encoded or decoded */
    bool is_size_only; /* decoding only finds `len` */
    bool is_allocated; /* `room` is memory of the proc */
};

/* Ends a procedure of the module: tells the program `rc` by `ierror`; without
 * ierror, an error ends the job. `func` is __func__, "amalgam_f_..." */
void amg_fort_end(int *ierror, hg_return_t rc, const char *func);
#define FORT_END(rc) amg_fort_end(ierror, (rc), __func__)

/* Logs an error of the program; returns HG_INVALID_ARG. */
__attribute__((format(printf, 2, 3))) hg_return_t amg_fort_refuse(
    const char *func, const char *format, ...);

/* A second name, NAME_int, of a function, for its Fortran interface with
 * integers for the types of mpi_f08: a name has one interface. */
#define FORT_ALIAS(name)                                                       \
    HG_PUBLIC extern __typeof__(name) name##_int __attribute__((alias(#name)))

/* False, logged: the object behind the argument `what` was not made. */
bool amg_fort_given(const void *object, const char *what, const char *func);
#define FORT_GIVEN(object, what) amg_fort_given((object), (what), __func__)

/* Runs callbacks of the context; if there were none, waits up to `timeout_ms`
 * for events, and runs callbacks. HG_TIMEOUT: none ran. */
hg_return_t amg_fort_serve(struct fort_class *cls, unsigned timeout_ms);

/* Callback of calls and transfers; the argument is their struct fort_request.
 */
hg_return_t amg_fort_request_ended(const struct hg_cb_info *info);

static inline bool fort_has_ended(const struct fort_request *request)
{
    return atomic_load_explicit(&request->state, memory_order_acquire) ==
           FORT_ENDED;
}

/* Serves until the request is done. HG_TIMEOUT: not done in time. Otherwise the
 * code of the callback. `timeout_ms` is NULL for no limit. */
hg_return_t amg_fort_wait(struct fort_request *request, const int *timeout_ms);

/* A time limit of the program in milliseconds; a negative one is 0. */
static inline unsigned fort_limit_ms(const int *timeout_ms)
{
    return *timeout_ms < 0 ? 0 : (unsigned)*timeout_ms;
}

/* The class of these RPCs is closed. */
void amg_fort_rpcs_close(const struct fort_class *cls);

/* The string that a Fortran argument has, without blanks at its end. NULL: no
 * memory. The caller frees the string. */
char *amg_fort_string(const CFI_cdesc_t *text);

/* False, logged: the variable has no bytes, or its type is not known. */
bool amg_fort_has_bytes(const CFI_cdesc_t *array, const char *func);

/* Bytes of all elements. False, logged: the number is not known. */
bool amg_fort_len(const CFI_cdesc_t *array, const char *func, size_t *ret_len);

bool amg_fort_is_contiguous(const CFI_cdesc_t *array);

/* Copies all elements, at least one, in array element order. */
void amg_fort_pack(const CFI_cdesc_t *array, void *bytes);
/* Copies `len` bytes into the elements, in array element order. */
void amg_fort_unpack(const CFI_cdesc_t *array, const void *bytes, size_t len);

/* Finds the runs of adjacent bytes, in array element order: `*ret_count` pieces
 * of memory of `*ret_lens` bytes at `*ret_ptrs`. The caller frees both arrays,
 * which are one piece of memory at `*ret_ptrs`. */
hg_return_t amg_fort_segments(const CFI_cdesc_t *array, const char *func,
    uint32_t *ret_count, void ***ret_ptrs, hg_size_t **ret_lens);

/* Procs of struct fort_message, without and with a bulk handle. */
hg_return_t amg_fort_message_proc(hg_proc_t proc, void *message);
hg_return_t amg_fort_bulk_message_proc(hg_proc_t proc, void *message);

/* Prepares the bytes of `array` (NULL: none) for encoding. `*ret_packed` is
 * memory that the caller frees when the message is encoded. */
hg_return_t amg_fort_message_begin(const CFI_cdesc_t *array, const char *func,
    struct fort_message *message, void **ret_packed);

typedef hg_return_t (*fort_get_fn)(hg_handle_t handle, void *message);

/* Decodes by `get` into `array` (NULL: drops the bytes), and frees by
 * `get_free`. `count` (NULL: the lengths must be equal, but for text) gets the
 * number of elements that came. */
hg_return_t amg_fort_message_get(hg_handle_t handle, fort_get_fn get,
    fort_get_fn get_free, const CFI_cdesc_t *array, int *count,
    const char *func);

#endif
