/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo's header in front of the arguments of a call.
 *
 *   input                            output
 *   off len                          off len
 *     0   4 1: a parent follows        0   4 hg_return_t of Margo
 *     4   8 id of the RPC in which     4   n the program's output, when that is
 *           the call was made, only          HG_SUCCESS
 *           where the origin's monitor
 *           asks for it
 * 4, 12   n the program's input
 *
 * Where there is neither a parent nor an input there are no bytes at all, and
 * the same holds for HG_SUCCESS without an output: so that a call without
 * arguments is as short as HG's own (wire/header.h). */
#ifndef AMG_MARGO_PROC_H
#define AMG_MARGO_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_proc.h"
#include "mercury_types.h"

struct margo_request_struct;

enum {
    AMG_MARGO_CODE_LEN = 4,    /* bytes in front of an output */
    AMG_MARGO_PARENT_LEN = 12, /* bytes in front of an input with a parent */
};

/* Argument of the functions below: the struct that HG encodes, decodes or
 * frees. */
struct amg_margo_args {
    hg_proc_cb_t proc; /* the program's; NULL: no struct */
    void *user;        /* the program's struct; NULL: only what is in front */
    hg_id_t parent_id; /* input; 0: none */
    hg_return_t code;  /* output */
    /* Encoded for this request, with events of the monitor; NULL: without. */
    struct margo_request_struct *watched;
    bool is_posted; /* afterwards: HG has taken them */
};

/* To be registered with HG, for whatever types: `data` is a struct
 * amg_margo_args. */
hg_return_t amg_margo_proc_input(hg_proc_t proc, void *data);
hg_return_t amg_margo_proc_output(hg_proc_t proc, void *data);

/* The code in front of the output that came, at the origin. */
hg_return_t amg_margo_peek_code(hg_handle_t handle);
/* The parent in front of the input that came, at the target; 0: none. */
hg_id_t amg_margo_peek_parent(hg_handle_t handle);

#endif
