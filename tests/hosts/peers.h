/* SPDX-License-Identifier: BSD-3-Clause */
/* A server on one host and its client on another, which is the test.
 *
 * The client has a line to who made the hosts: what it writes there is done,
 * and then answered; see run.sh. Every wait has a deadline. Of each number
 * that the server is asked it tells how often it was asked that one. */
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
    hg_id_t ask;    /* answers a number */
    hg_id_t move;   /* pulls the caller's bytes, or pushes others there */
    hg_id_t hold;   /* is never answered */
    uint32_t moves; /* that have begun here */
    hg_id_t begun;  /* is answered when so many moves have begun */
};

/* One call, or one move. */
struct peers_call {
    unsigned done;
    hg_return_t ret;
    uint32_t number;
    uint32_t
        answer; /* the same number; of a move, what became of the transfer */
    uint32_t times; /* it was was asked */
    uint64_t ns;    /* from post to end */
    unsigned char *bytes;
    uint64_t len;
    bool is_push; /* the server pushes, and the bytes come here */
    hg_bulk_t bulk;
};

/* To be called first: runs `test` as the client, or is the server. */
int peers_main(int argc, char **argv, void (*test)(struct peers *client));

/* Has something done with the hosts, as "link h1 down"; serves meanwhile. */
void peers_do(struct peers *client, const char *what);
/* Serves for so long. */
void peers_pass(struct peers *client, unsigned ms);
/* One look; sleeps a little where nothing happens. */
void peers_turn(struct peers *client);

/* Begins a call to the server, or to `addr`. */
void peers_call(
    struct peers *client, hg_id_t id, uint32_t number, struct peers_call *call);
void peers_call_to(struct peers *client, hg_addr_t addr, hg_id_t id,
    uint32_t number, struct peers_call *call);
/* Begins a move of `len` bytes. */
void peers_move(
    struct peers *client, bool is_push, uint64_t len, struct peers_call *call);
/* Waits for its end, which must come once; how it ended. What succeeded
 * brought the right bytes, or the right answer. */
hg_return_t peers_wait(struct peers *client, struct peers_call *call);
/* A call, and moves both ways, that must succeed. */
void peers_exchange(struct peers *client, uint64_t len);

uint64_t peers_now_ns(void);
/* Ends the test: `what` does not hold. */
void peers_fail(const char *file, int line, const char *what);
void peers_expect(hg_return_t got, hg_return_t wanted, const char *file,
    int line, const char *what);

#define CHECK(expr) ((expr) ? (void)0 : peers_fail(__FILE__, __LINE__, #expr))

/* The call returns the code, and nothing else will do. */
#define EXPECT(wanted, call)                                                   \
    peers_expect((call), (wanted), __FILE__, __LINE__, #call)

#define OK(call) EXPECT(HG_SUCCESS, call)

#endif
