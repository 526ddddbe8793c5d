/* SPDX-License-Identifier: BSD-3-Clause */
/* What the conformance tests of the drivers share.
 *
 * Every test is the same program on each rank of a ring: a rank is the origin
 * toward its right-hand neighbour and the target of its left-hand one. With
 * one rank it is its own neighbour, so the same code tests the loopback.
 * A wait has a deadline, and a test that misses it says what it waited for. */
#ifndef TESTS_TRANSPORT_HARNESS_H
#define TESTS_TRANSPORT_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "transport/transport.h"

enum { HARNESS_EPS_MAX = 4, HARNESS_TEXT_CAP = 256 };

struct harness;

/* What the ranks are, and how they meet outside the transport under test.
 * One of harness_self.c, harness_mpi.c is linked. */
struct harness_world {
    const struct amg_transport *const *transports; /* ends with NULL */
    void (*start)(uint32_t *ret_rank, uint32_t *ret_size);
    /* My bytes go to the left, the right one's bytes come here. */
    void (*swap_begin)(const void *mine, void *ret_right, size_t len);
    void (*barrier_begin)(void);
    /* Has what was begun ended? Never blocks. */
    bool (*is_done)(void);
    /* Turns an address of this job into one of another job. */
    void (*make_foreign)(char *text);
    void (*stop)(void);
    void (*die)(void); /* ends this rank and the others; does not return */
};

extern const struct harness_world harness_world;

typedef void (*harness_serve_fn)(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival);

/* How a test wants its domain; zeros are the defaults. */
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
    struct amg_ep *eps[HARNESS_EPS_MAX]; /* NULL once the test closed it */
    struct amg_peer *right;
    harness_serve_fn serve; /* harness_echo at the start */
    bool is_serving;        /* inside `serve`; it does not nest */
    bool is_uncancellable;  /* puts and gets to come are not cancelled */
    uint64_t deadline_ns;
};

/* Of the scheme, as struct amg_open has it. */
const char *harness_protocol(const struct harness *h);

/* One operation with room to see what became of it. */
enum { HARNESS_SEGMENTS_MAX = 32 };

struct harness_call {
    struct amg_op op;
    struct amg_segment local; /* of a put or get */
    struct amg_segment theirs[HARNESS_SEGMENTS_MAX];
    unsigned done; /* how often it completed */
    uint64_t seq;  /* the how manieth completion of this process it was */
    void *arg;
};

/* The whole program: opens, runs `test`, closes, looks for leaks. */
int harness_main(int argc, char **argv, const struct harness_wish *wish,
    void (*test)(struct harness *h));

/* Ends the program: `what` does not hold. */
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
/* One poll of every endpoint, with steps and serving. How much was new. */
unsigned harness_poll(struct harness *h);

/* Polls until all ranks have come here. */
void harness_sync(struct harness *h);
/* The same, and gets what the right neighbour gave. */
void harness_swap(
    struct harness *h, const void *mine, void *ret_right, size_t len);

/* Makes `call` fit to be posted (again). */
void harness_call_init(struct harness_call *call);
/* Sends a request to the right neighbour; what send_request returned. */
hg_return_t harness_send(struct harness *h, uint32_t ep, uint8_t target_context,
    const void *bytes, uint32_t len, bool wants_reply,
    struct harness_call *call);
/* As harness_send, checks HG_SUCCESS, and waits until it completed. */
hg_return_t harness_ask(struct harness *h, uint32_t ep, uint8_t target_context,
    const void *bytes, uint32_t len, struct harness_call *call);
/* Answers and releases. */
void harness_answer(struct harness *h, struct amg_ep *ep,
    struct amg_arrival *arrival, const void *bytes, uint32_t len);
/* Answers with the bytes that came; the default of `serve`. */
void harness_echo(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival);
/* Gives the reply of `call` back. */
void harness_drop(struct harness *h, uint32_t ep, struct harness_call *call);
/* Closes an endpoint, and steps what comes back. */
void harness_ep_close(struct harness *h, uint32_t ep);

/* Bytes that tell where they belong. */
void harness_fill(void *bytes, size_t len, uint64_t seed);
bool harness_is_filled(const void *bytes, size_t len, uint64_t seed);

#endif
