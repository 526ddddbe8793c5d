/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the conformance tests of the drivers.
 *
 * Every test is the same program on each rank of a ring: a rank is the origin
 * toward its right-hand neighbour and the target of its left-hand one. With one
 * rank it is its own neighbour, so the same code tests the loopback. A wait has
 * a deadline, and a test that misses it names the condition. */
#ifndef TESTS_TRANSPORT_HARNESS_H
#define TESTS_TRANSPORT_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "transport/transport.h"

enum { HARNESS_EPS_MAX = 4, HARNESS_TEXT_CAP = 256 };

struct harness;

/* The ranks, and their synchronisation outside the transport under test. One of
 * harness_self.c, harness_mpi.c is linked. */
struct harness_world {
    const struct amg_transport *const *transports; /* ends with NULL */
    void (*start)(uint32_t *ret_rank, uint32_t *ret_size);
    /* Sends `mine` to the left rank, and receives the bytes of the right
     * one. */
    void (*swap_begin)(const void *mine, void *ret_right, size_t len);
    void (*barrier_begin)(void);
    /* Has the pending operation ended? Never blocks. */
    bool (*is_done)(void);
    /* Turns an address of this job into one of another job. */
    void (*make_foreign)(char *text);
    void (*stop)(void);
    void (*die)(void); /* ends this rank and the others; does not return */
};

extern const struct harness_world harness_world;

typedef void (*harness_serve_fn)(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival);

/* Options of a test for its domain; zeros are the defaults. */
struct harness_wish {
    uint32_t eps; /* endpoints to open, contexts 0 to eps - 1; 0 is 1 */
    uint32_t max_contexts; /* 0: as many as eps */
    uint32_t credits;
    uint32_t message_len;
    uint64_t area_len; /* 0: the domain has no area */
};

struct harness {
    const char *test; /* the program's name */
    const char *scheme;
    uint32_t rank;
    uint32_t size;
    const struct amg_transport *t;
    struct amg_domain *domain;
    struct amg_mapping mapping; /* its area; base NULL: none */
    struct amg_area area;
    struct amg_limits limits;
    struct amg_ep *eps[HARNESS_EPS_MAX]; /* NULL after the test closed it */
    struct amg_peer *right;
    harness_serve_fn serve; /* harness_echo at the start */
    bool is_serving;        /* inside `serve`; it does not nest */
    bool has_dropped; /* calls without an answer: their credits are not back */
    bool is_uncancellable; /* later puts and gets cannot be cancelled */
    uint64_t deadline_ns;
};

/* Of the scheme, as struct amg_open has it. */
const char *harness_protocol(const struct harness *h);

/* An operation and its result. */
enum { HARNESS_SEGMENTS_MAX = 32 };

struct harness_call {
    struct amg_op op;
    struct amg_segment local; /* of a put or get */
    struct amg_segment theirs[HARNESS_SEGMENTS_MAX];
    unsigned done; /* number of completions */
    uint64_t seq; /* its position in the order of completions of this process */
    void *arg;
};

/* The whole program: opens, runs `test`, closes, checks for leaks. */
int harness_main(int argc, char **argv, const struct harness_wish *wish,
    void (*test)(struct harness *h));

/* Ends the program: `what` is false. */
void harness_fail(
    const struct harness *h, const char *file, int line, const char *what);

#define CHECK(h, expr)                                                         \
    ((expr) ? (void)0 : harness_fail((h), __FILE__, __LINE__, #expr))

/* Polls and serves until `expr` holds. */
#define UNTIL(h, expr)                                                         \
    for (harness_wait_begin(h); !(expr);)                                      \
    harness_wait_turn((h), __FILE__, __LINE__, #expr)

void harness_wait_begin(struct harness *h);
void harness_wait_turn(
    struct harness *h, const char *file, int line, const char *what);
/* One poll of every endpoint, with steps and serving. Returns the number of
 * events. */
unsigned harness_poll(struct harness *h);

/* Polls until all ranks have called it. */
void harness_sync(struct harness *h);
/* The same, and receives the bytes of the right neighbour. */
void harness_swap(
    struct harness *h, const void *mine, void *ret_right, size_t len);

/* Prepares `call` for a post (also again). */
void harness_call_init(struct harness_call *call);
/* Sends a request to the right neighbour; returns the code of send_request.
 * `call` NULL: without an operation. */
hg_return_t harness_send(struct harness *h, uint32_t ep, uint8_t target_context,
    const void *bytes, uint32_t len, bool wants_reply,
    struct harness_call *call);
/* As harness_send, checks HG_SUCCESS, and waits for the completion. */
hg_return_t harness_ask(struct harness *h, uint32_t ep, uint8_t target_context,
    const void *bytes, uint32_t len, struct harness_call *call);
/* Replies and releases. */
void harness_answer(struct harness *h, struct amg_ep *ep,
    struct amg_arrival *arrival, const void *bytes, uint32_t len);
/* Replies with the received bytes; the default of `serve`. */
void harness_echo(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival);
/* Releases the reply of `call`. */
void harness_drop(struct harness *h, uint32_t ep, struct harness_call *call);
/* Closes an endpoint, and steps the returned operations. */
void harness_ep_close(struct harness *h, uint32_t ep);

/* Bytes that depend on their position. */
void harness_fill(void *bytes, size_t len, uint64_t seed);
bool harness_is_filled(const void *bytes, size_t len, uint64_t seed);

#endif
