/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that a monitor receives, by name and by bit. */
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

/* A bit for each event, in the same order; and the number of events. */
#define MARGO_MONITOR_ON_PROGRESS         (1u << 0)
#define MARGO_MONITOR_ON_TRIGGER          (1u << 1)
#define MARGO_MONITOR_ON_REGISTER         (1u << 2)
#define MARGO_MONITOR_ON_DEREGISTER       (1u << 3)
#define MARGO_MONITOR_ON_LOOKUP           (1u << 4)
#define MARGO_MONITOR_ON_CREATE           (1u << 5)
#define MARGO_MONITOR_ON_FORWARD          (1u << 6)
#define MARGO_MONITOR_ON_FORWARD_CB       (1u << 7)
#define MARGO_MONITOR_ON_RESPOND          (1u << 8)
#define MARGO_MONITOR_ON_RESPOND_CB       (1u << 9)
#define MARGO_MONITOR_ON_DESTROY          (1u << 10)
#define MARGO_MONITOR_ON_BULK_CREATE      (1u << 11)
#define MARGO_MONITOR_ON_BULK_TRANSFER    (1u << 12)
#define MARGO_MONITOR_ON_BULK_TRANSFER_CB (1u << 13)
#define MARGO_MONITOR_ON_BULK_FREE        (1u << 14)
#define MARGO_MONITOR_ON_RPC_HANDLER      (1u << 15)
#define MARGO_MONITOR_ON_RPC_ULT          (1u << 16)
#define MARGO_MONITOR_ON_WAIT             (1u << 17)
#define MARGO_MONITOR_ON_SLEEP            (1u << 18)
#define MARGO_MONITOR_ON_SET_INPUT        (1u << 19)
#define MARGO_MONITOR_ON_SET_OUTPUT       (1u << 20)
#define MARGO_MONITOR_ON_GET_INPUT        (1u << 21)
#define MARGO_MONITOR_ON_GET_OUTPUT       (1u << 22)
#define MARGO_MONITOR_ON_FREE_INPUT       (1u << 23)
#define MARGO_MONITOR_ON_FREE_OUTPUT      (1u << 24)
#define MARGO_MONITOR_ON_PREFINALIZE      (1u << 25)
#define MARGO_MONITOR_ON_FINALIZE         (1u << 26)
#define MARGO_MONITOR_ON_ADD_POOL         (1u << 27)
#define MARGO_MONITOR_ON_REMOVE_POOL      (1u << 28)
#define MARGO_MONITOR_ON_ADD_XSTREAM      (1u << 29)
#define MARGO_MONITOR_ON_REMOVE_XSTREAM   (1u << 30)
#define MARGO_MONITOR_ON_USER             (1u << 31)
#define MARGO_MONITOR_MAX                 32

#endif
