/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that a monitor receives, by name and by number. */
#ifndef MARGO_MONITORING_EVENTS_H
#define MARGO_MONITORING_EVENTS_H

/* All events; the includer defines X(NAME, name). */
#define MARGO_EXPAND_MONITOR_MACROS                                            \
    X(PROGRESS, progress)                                                      \
    X(TRIGGER, trigger)                                                        \
    X(REGISTER, register)                                                      \
    X(DEREGISTER, deregister)                                                  \
    X(LOOKUP, lookup)                                                          \
    X(CREATE, create)                                                          \
    X(FORWARD, forward)                                                        \
    X(FORWARD_CB, forward_cb)                                                  \
    X(RESPOND, respond)                                                        \
    X(RESPOND_CB, respond_cb)                                                  \
    X(DESTROY, destroy)                                                        \
    X(BULK_CREATE, bulk_create)                                                \
    X(BULK_TRANSFER, bulk_transfer)                                            \
    X(BULK_TRANSFER_CB, bulk_transfer_cb)                                      \
    X(BULK_FREE, bulk_free)                                                    \
    X(RPC_HANDLER, rpc_handler)                                                \
    X(RPC_ULT, rpc_ult)                                                        \
    X(WAIT, wait)                                                              \
    X(SLEEP, sleep)                                                            \
    X(SET_INPUT, set_input)                                                    \
    X(SET_OUTPUT, set_output)                                                  \
    X(GET_INPUT, get_input)                                                    \
    X(GET_OUTPUT, get_output)                                                  \
    X(FREE_INPUT, free_input)                                                  \
    X(FREE_OUTPUT, free_output)                                                \
    X(PREFINALIZE, prefinalize)                                                \
    X(FINALIZE, finalize)                                                      \
    X(ADD_POOL, add_pool)                                                      \
    X(REMOVE_POOL, remove_pool)                                                \
    X(ADD_XSTREAM, add_xstream)                                                \
    X(REMOVE_XSTREAM, remove_xstream)                                          \
    X(USER, user)

/* MARGO_MONITOR_ON_PROGRESS is 0, the others follow in the order of the list;
 * MARGO_MONITOR_MAX is their number. Programs use these numbers as indices,
 * as in `double times[MARGO_MONITOR_MAX]`. */
enum {
#define X(NAME, name) MARGO_MONITOR_ON_##NAME,
    MARGO_EXPAND_MONITOR_MACROS
#undef X
        MARGO_MONITOR_MAX
};

#endif
