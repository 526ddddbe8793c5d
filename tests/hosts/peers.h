/* SPDX-License-Identifier: BSD-3-Clause */
/* A server on one host and its client on another, which is the test.
 *
 * The client has a connection to the process that made the hosts, which
 * executes each line and confirms it; see run.sh. Every wait has a deadline.
 * The server counts how often each number was asked, and replies with the
 * count. */
#ifndef TESTS_HOSTS_PEERS_H
#define TESTS_HOSTS_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury.h"

#include "../slow.h"

enum {
    PEERS_TEXT_CAP = 256,
    PEERS_DEADLINE_S = 40 * TEST_SLOW, /* of a wait */
};

struct peers {
    hg_class_t *cls;
    hg_context_t *context;
    const char *protocol; /* as "ofi+tcp" */
    hg_addr_t server;
    hg_id_t ask;    /* replies with a number */
    hg_id_t move;   /* pulls the caller's bytes, or pushes others to it */
    hg_id_t hold;   /* is never answered */
    uint32_t moves; /* started here */
    hg_id_t begun;  /* is answered when so many moves have started */
};

/* One call, or one move. */
struct peers_call {
    unsigned done;
    hg_return_t ret;
    uint32_t number;
    uint32_t
        answer;     /* the same number; of a move, the result of the transfer */
    uint32_t times; /* how often it was asked */
    uint64_t ns;    /* from post to end */
    unsigned char *bytes;
    uint64_t len;
    bool is_push; /* the server pushes, and the bytes arrive here */
    hg_bulk_t bulk;
};

/* Must be called first: runs `test` as the client, or is the server. */
int peers_main(int argc, char **argv, void (*test)(struct peers *client));

/* Executes a command on the hosts, such as "link h1 down"; serves meanwhile. */
void peers_do(struct peers *client, const char *what);
/* Serves for so long. */
void peers_pass(struct peers *client, unsigned ms);
/* Progress and callbacks once; sleeps a little if nothing happens. */
void peers_turn(struct peers *client);

/* Starts a call to the server, or to `addr`. */
void peers_call(
    struct peers *client, hg_id_t id, uint32_t number, struct peers_call *call);
void peers_call_to(struct peers *client, hg_addr_t addr, hg_id_t id,
    uint32_t number, struct peers_call *call);
/* Starts a move of `len` bytes. */
void peers_move(
    struct peers *client, bool is_push, uint64_t len, struct peers_call *call);
/* Waits for its end, which must come once; returns the result. Successful ones
 * must have the right bytes, or the right reply. */
hg_return_t peers_wait(struct peers *client, struct peers_call *call);
/* A call, and moves both ways, which must succeed. */
void peers_exchange(struct peers *client, uint64_t len);

uint64_t peers_now_ns(void);
/* Ends the test: `what` is false. */
void peers_fail(const char *file, int line, const char *what);
void peers_expect(hg_return_t got, hg_return_t wanted, const char *file,
    int line, const char *what);

#define CHECK(expr) ((expr) ? (void)0 : peers_fail(__FILE__, __LINE__, #expr))

/* The call must return exactly this code. */
#define EXPECT(wanted, call)                                                   \
    peers_expect((call), (wanted), __FILE__, __LINE__, #call)

#define OK(call) EXPECT(HG_SUCCESS, call)

#endif
