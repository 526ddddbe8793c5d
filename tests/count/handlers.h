/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs, handlers and callbacks of the counted calls of HG. */
#ifndef TESTS_COUNT_HANDLERS_H
#define TESTS_COUNT_HANDLERS_H

#include <stdbool.h>

#include "count.h"
#include "mercury.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"
#include "mercury_request.h"

enum { KIB = 1024, REQUEST_MS = 1000 };

MERCURY_GEN_PROC(ints_t, ((int32_t)(one))((int32_t)(other)))
MERCURY_GEN_PROC(text_t, ((hg_const_string_t)(text)))

struct kib {
    char bytes[KIB];
};

static struct kib out;
static unsigned served; /* calls that handlers have got */
static bool done;       /* the call has ended */

static hg_return_t kib_proc(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, KIB);
}

PART hg_return_t part_respond(hg_handle_t handle, void *result)
{
    return HG_Respond(handle, NULL, NULL, result);
}

static hg_return_t null_serve(hg_handle_t handle)
{
    served++;
    OK(part_respond(handle, NULL));
    return HG_Destroy(handle);
}

/* Serves a call: gets the input into `in`, and responds `result`. */
static hg_return_t struct_serve(hg_handle_t handle, void *in, void *result)
{
    served++;
    OK(HG_Get_input(handle, in));
    OK(HG_Free_input(handle, in));
    OK(part_respond(handle, result));
    return HG_Destroy(handle);
}

static hg_return_t blob_serve(hg_handle_t handle)
{
    struct kib in;

    return struct_serve(handle, &in, &out);
}

static hg_return_t ints_serve(hg_handle_t handle)
{
    ints_t in;
    ints_t result = {3, 4};

    return struct_serve(handle, &in, &result);
}

static hg_return_t text_serve(hg_handle_t handle)
{
    text_t in;

    return struct_serve(handle, &in, NULL);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    OK(info->ret);
    done = true;
    return HG_SUCCESS;
}

/* Ends a call: gets the output into `result`. */
static hg_return_t struct_ended(const struct hg_cb_info *info, void *result)
{
    OK(info->ret);
    OK(HG_Get_output(info->info.forward.handle, result));
    OK(HG_Free_output(info->info.forward.handle, result));
    done = true;
    if (info->arg != NULL)
        hg_request_complete(info->arg);
    return HG_SUCCESS;
}

static hg_return_t blob_ended(const struct hg_cb_info *info)
{
    struct kib result;

    return struct_ended(info, &result);
}

static hg_return_t ints_ended(const struct hg_cb_info *info)
{
    ints_t result;

    return struct_ended(info, &result);
}

#endif
