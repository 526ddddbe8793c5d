/* SPDX-License-Identifier: BSD-3-Clause */
/* Monitoring of an instance: the library calls a monitor at the start and the
 * end of each event; the monitor may dump its results.
 *
 * A program names a monitor in `struct margo_init_info`: its own, or
 * margo_default_monitor, which writes statistics and time series as JSON. If no
 * monitor is named, "monitoring" in the JSON text of the configuration, or the
 * variable MARGO_ENABLE_MONITORING, selects margo_default_monitor.
 *
 * Each event has a struct of arguments. At MARGO_MONITOR_FN_START all members
 * but the results are set, at MARGO_MONITOR_FN_END all members. A value that
 * the monitor stores in `uctx` at the start is there at the end, perhaps in
 * another struct. The thread that causes an event calls the monitor, several
 * threads at once. The monitor must not block or call monitored functions. */
#ifndef MARGO_MONITORING_H
#define MARGO_MONITORING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abt.h"
#include "margo-monitoring-events.h"
#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Declared here, too: this header does not include margo-types.h. */
typedef struct margo_instance *margo_instance_id;
typedef struct margo_request_struct *margo_request;

struct json_object;
struct margo_pool_info;
struct margo_xstream_info;

/* A value that a monitor keeps with an event, a handle or a request. */
typedef union margo_monitor_data {
    void *p;
    int64_t i;
    double f;
} margo_monitor_data_t;

typedef enum margo_monitor_event_t {
    MARGO_MONITOR_FN_START, /* the event starts */
    MARGO_MONITOR_FN_END,   /* the event has ended */
    MARGO_MONITOR_POINT     /* an event without duration */
} margo_monitor_event_t;

/* Receives a part of a dump: `size` bytes of text without NUL. */
typedef void (*margo_monitor_dump_fn)(
    void *uargs, const char *content, size_t size);

/* The members below the line "results" are 0 or NULL before
 * MARGO_MONITOR_FN_END. */

/* The progress loop calls HG_Progress(). */
struct margo_monitor_progress_args {
    margo_monitor_data_t uctx;
    unsigned int timeout_ms;
    /* results */
    hg_return_t ret;
};

/* The progress loop runs callbacks. */
struct margo_monitor_trigger_args {
    margo_monitor_data_t uctx;
    unsigned int timeout_ms;
    unsigned int max_count; /* callbacks that may run */
    /* results */
    unsigned int actual_count; /* callbacks that ran */
    hg_return_t ret;
};

/* An RPC is registered. */
struct margo_monitor_register_args {
    margo_monitor_data_t uctx;
    const char *name;
    hg_proc_cb_t in_proc_cb;
    hg_proc_cb_t out_proc_cb;
    hg_rpc_cb_t rpc_cb;
    uint16_t provider_id;
    ABT_pool pool;
    /* results */
    hg_id_t id; /* 0: the registration failed */
    hg_return_t ret;
};

struct margo_monitor_deregister_args {
    margo_monitor_data_t uctx;
    hg_id_t id;
    /* results */
    hg_return_t ret;
};

/* margo_addr_lookup() or margo_addr_self(). */
struct margo_monitor_lookup_args {
    margo_monitor_data_t uctx;
    const char *name; /* NULL: margo_addr_self() */
    /* results */
    hg_addr_t addr;
    hg_return_t ret;
};

/* A handle is created, or taken from the cache. */
struct margo_monitor_create_args {
    margo_monitor_data_t uctx;
    hg_addr_t addr;
    hg_id_t id;
    /* results */
    hg_handle_t handle;
    hg_return_t ret;
};

/* A call is sent; the event ends when the call is in flight. */
struct margo_monitor_forward_args {
    margo_monitor_data_t uctx;
    uint16_t provider_id;
    hg_handle_t handle;
    const void *data;
    double timeout_ms; /* 0: none */
    margo_request request;
    /* results */
    hg_return_t ret;
};

/* A call, an answer or a transfer has ended, and its callback runs. */
struct margo_monitor_cb_args {
    margo_monitor_data_t uctx;
    const struct hg_cb_info *info;
    margo_request request;
    /* results */
    hg_return_t ret;
};
#define margo_monitor_forward_cb_args       margo_monitor_cb_args
#define margo_monitor_respond_cb_args       margo_monitor_cb_args
#define margo_monitor_bulk_transfer_cb_args margo_monitor_cb_args

/* An answer is sent; the event ends when the answer is in flight. */
struct margo_monitor_respond_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    const void *data;
    double timeout_ms; /* 0: none */
    bool error;        /* Margo answers with an error code instead */
    margo_request request;
    /* results */
    hg_return_t ret;
};

/* A reference to a handle is released. */
struct margo_monitor_destroy_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    /* results */
    hg_return_t ret;
};

struct margo_monitor_bulk_create_args {
    margo_monitor_data_t uctx;
    uint32_t count;
    const void *const *ptrs;
    const hg_size_t *sizes;
    uint8_t flags;
    const struct hg_bulk_attr *attrs;
    /* results */
    hg_bulk_t handle;
    hg_return_t ret;
};

/* A transfer is started; the event ends when the transfer is in flight. */
struct margo_monitor_bulk_transfer_args {
    margo_monitor_data_t uctx;
    hg_bulk_op_t op;
    hg_addr_t origin_addr;
    hg_bulk_t origin_handle;
    size_t origin_offset;
    hg_bulk_t local_handle;
    size_t local_offset;
    size_t size;
    double timeout_ms; /* 0: none */
    margo_request request;
    /* results */
    hg_return_t ret;
};

struct margo_monitor_bulk_free_args {
    margo_monitor_data_t uctx;
    hg_bulk_t handle;
    /* results */
    hg_return_t ret;
};

/* A request has arrived, and a thread that serves the request is created. */
struct margo_monitor_rpc_handler_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    hg_id_t parent_rpc_id; /* 0: unknown */
    ABT_pool pool;
    /* results */
    hg_return_t ret;
};

/* The thread that serves a request runs. */
struct margo_monitor_rpc_ult_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
};

/* A thread waits for a margo_request. */
struct margo_monitor_wait_args {
    margo_monitor_data_t uctx;
    margo_request request;
    /* results */
    hg_return_t ret;
};

struct margo_monitor_sleep_args {
    margo_monitor_data_t uctx;
    double timeout_ms;
};

/* Arguments of a call are encoded. */
struct margo_monitor_set_input_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    margo_request request;
    const void *data;
    /* results */
    hg_return_t ret;
};

/* An answer is encoded. */
struct margo_monitor_set_output_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    margo_request request;
    const void *data;
    /* results */
    hg_return_t ret;
};

/* Arguments are decoded. */
struct margo_monitor_get_input_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    const void *data;
    /* results */
    hg_return_t ret;
};

/* An answer is decoded. */
struct margo_monitor_get_output_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    const void *data;
    /* results */
    hg_return_t ret;
};

struct margo_monitor_free_input_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    const void *data;
    /* results */
    hg_return_t ret;
};

struct margo_monitor_free_output_args {
    margo_monitor_data_t uctx;
    hg_handle_t handle;
    const void *data;
    /* results */
    hg_return_t ret;
};

/* The prefinalize callbacks run. */
struct margo_monitor_prefinalize_args {
    margo_monitor_data_t uctx;
};

/* The finalize callbacks run. */
struct margo_monitor_finalize_args {
    margo_monitor_data_t uctx;
};

struct margo_monitor_add_pool_args {
    margo_monitor_data_t uctx;
    const struct margo_pool_info *info; /* NULL at the start */
    /* results */
    hg_return_t ret;
};

struct margo_monitor_remove_pool_args {
    margo_monitor_data_t uctx;
    const struct margo_pool_info *info; /* NULL at the end after success */
    /* results */
    hg_return_t ret;
};

struct margo_monitor_add_xstream_args {
    margo_monitor_data_t uctx;
    const struct margo_xstream_info *info; /* NULL at the start */
    /* results */
    hg_return_t ret;
};

struct margo_monitor_remove_xstream_args {
    margo_monitor_data_t uctx;
    const struct margo_xstream_info *info; /* NULL at the end after success */
    /* results */
    hg_return_t ret;
};

/* Arguments of margo_monitor_call_user(). */
struct margo_monitor_user_args {
    margo_monitor_data_t uctx;
    void *args; /* of the program */
};

/* margo_monitor_progress_args_t, and so on for each event. */
#define X(NAME, name)                                                          \
    typedef struct margo_monitor_##name##_args *margo_monitor_##name##_args_t;
MARGO_EXPAND_MONITOR_MACROS
#undef X

/* A monitor. Any of its functions may be NULL. */
struct margo_monitor {
    void *uargs; /* passed to initialize() */
    /* Called when the instance opens, with "monitoring.config" of its
     * configuration, or NULL. The result is the `uargs` of all functions
     * below. */
    void *(*initialize)(
        margo_instance_id mid, void *uargs, struct json_object *config);
    /* Called when the instance ends; no event follows. */
    void (*finalize)(void *uargs);
    /* Called by margo_monitor_dump(). */
    void (*dump)(void *uargs, margo_monitor_dump_fn dump_fn, void *dump_args,
        bool reset);
    const char *(*name)(void);
    /* For margo_get_config(): returns the monitor's configuration, as an object
     * of json-c that the caller releases. */
    struct json_object *(*config)(void *uargs);
/* on_progress, and so on; the time is that of ABT_get_wtime(). */
#define X(NAME, name)                                                          \
    void (*on_##name)(void *uargs, double timestamp,                           \
        margo_monitor_event_t event_type,                                      \
        margo_monitor_##name##_args_t event_args);
    MARGO_EXPAND_MONITOR_MACROS
#undef X
};

/* Keeps statistics and time series, and writes them as the instance ends to
 * PREFIX.HOST.PID.stats.json and PREFIX.HOST.PID.series.json. */
HG_PUBLIC extern const struct margo_monitor *margo_default_monitor;

/**
 * Make the monitor of an instance write its results.
 *
 * @param mid        [in]  the Margo instance
 * @param dump_fn    [in]  called in this thread, any number of times
 * @param dump_args  [in]  first argument of dump_fn; may be NULL
 * @param reset      [in]  true: the monitor starts again from zero
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid or dump_fn is NULL
 *            HG_NOENTRY      the instance has no monitor, or one that cannot
 *                            dump
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_monitor_dump(margo_instance_id mid,
    margo_monitor_dump_fn dump_fn, void *dump_args, bool reset);

/**
 * Report an event of the program to the monitor of an instance.
 *
 * @param mid         [in]  the Margo instance
 * @param event_type  [in]  begin, end, or an event without duration
 * @param args        [in]  passed to on_user()
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid is NULL, or no such event_type
 *            HG_NOENTRY      the instance has no monitor; with a monitor that
 *                            has no on_user() the call succeeds
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_monitor_call_user(margo_instance_id mid,
    margo_monitor_event_t event_type, margo_monitor_user_args_t args);

/**
 * Attach a value of a monitor to a handle.
 *
 * @param handle  [in]  of margo_create(), or of a handler
 * @param data    [in]  initially zero, also when the handle is used again
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  handle is NULL
 *            HG_NOENTRY      the handle is not Margo's
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: handle destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_set_monitoring_data(
    hg_handle_t handle, margo_monitor_data_t data);

/**
 * Get the monitor's value of a handle.
 *
 * @param handle  [in]   of margo_create(), or as a handler received it
 * @param data    [out]  the value that the monitor has set
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  an argument is NULL
 *            HG_NOENTRY      the handle is not Margo's
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: handle destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_get_monitoring_data(
    hg_handle_t handle, margo_monitor_data_t *data);

/**
 * Attach a value of a monitor to a request.
 *
 * @param req   [in]  of a call, answer or transfer that was started
 * @param data  [in]  initially zero
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  req is MARGO_REQUEST_NULL
 * Threads:   any thread, one at a time per request; never blocks.
 * Undefined: another thread waits for the request during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_request_set_monitoring_data(
    margo_request req, margo_monitor_data_t data);

/**
 * Get the monitor's value of a request.
 *
 * @param req   [in]   of a call, answer or transfer that was started
 * @param data  [out]  the value that the monitor has set
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  an argument is NULL
 * Threads:   any thread, one at a time per request; never blocks.
 * Undefined: another thread waits for the request during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_request_get_monitoring_data(
    margo_request req, margo_monitor_data_t *data);

#ifdef __cplusplus
}
#endif

#endif
