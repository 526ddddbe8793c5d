/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and constants of Margo that more than one of its headers needs. */
#ifndef MARGO_TYPES_H
#define MARGO_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "abt.h"
#include "margo-logging.h"
#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_macros.h"
#include "mercury_types.h"

/* RPCs are registered by MARGO_REGISTER() instead. */
#undef MERCURY_REGISTER

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque pointers. margo_instance_id is in margo-logging.h. */
typedef struct margo_request_struct *margo_request;
typedef struct margo_data *margo_data_ptr;

#define MARGO_INSTANCE_NULL ((margo_instance_id)NULL)
#define MARGO_REQUEST_NULL  ((margo_request)NULL)

/* The `mode` of an instance: other processes can call only a server. */
#define MARGO_CLIENT_MODE 0
#define MARGO_SERVER_MODE 1

/* A provider is a number in the 16 low bits of an RPC's id. The number
 * MARGO_DEFAULT_PROVIDER_ID means "no provider". */
#define MARGO_DEFAULT_PROVIDER_ID 0xFFFF
#define MARGO_MAX_PROVIDER_ID     0xFFFF

#ifndef DEPRECATED
#define DEPRECATED(msg) __attribute__((deprecated(msg)))
#endif

/* A callback that runs while an instance ends. */
typedef void (*margo_finalize_callback_t)(void *);

/* Kind of the operation of a request. */
typedef enum margo_request_type {
    MARGO_RESPONSE_REQUEST = 2,
    MARGO_FORWARD_REQUEST = 4,
    MARGO_BULK_REQUEST = 6,
    MARGO_INVALID_REQUEST = 8
} margo_request_type;

struct margo_monitor;

/* Options of margo_init_ext(); zeros select the defaults. The options are only
 * read during the call, unless a comment says otherwise. */
struct margo_init_info {
    const char *json_config; /* JSON text, see MARGO-CONFIG.md */
    ABT_pool progress_pool;  /* for the progress loop; overrides the text */
    ABT_pool rpc_pool;       /* for handlers; overrides the text */
    /* An open class, and a context of it; the caller closes them when the
     * instance has ended. NULL as `hg_context`: the instance opens one. */
    hg_class_t *hg_class;
    hg_context_t *hg_context;
    struct hg_init_info *hg_init_info;   /* to open the instance's own class */
    struct margo_logger *logger;         /* copied; `uargs` must live on */
    const struct margo_monitor *monitor; /* copied; `uargs` must live on */
    /* An instance whose pools and streams the new one uses, and keeps alive. */
    margo_instance_id parent_mid;
};

#define MARGO_INIT_INFO_INITIALIZER                                            \
    {                                                                          \
        NULL, ABT_POOL_NULL, ABT_POOL_NULL, NULL, NULL, NULL, NULL, NULL,      \
            MARGO_INSTANCE_NULL                                                \
    }

#ifdef __cplusplus
}
#endif

#endif
