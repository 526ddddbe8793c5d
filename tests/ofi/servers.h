/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers in processes of their own, reached by ofi+tcp; tests start and kill
 * them. A test runs itself again as a server, and is its client. The server
 * answers each "ask" with the number it was sent, and never answers a "hold".
 */
#ifndef TESTS_OFI_SERVERS_H
#define TESTS_OFI_SERVERS_H

#include <stdint.h>
#include <sys/types.h>

#include "mercury.h"

enum { SERVERS_TEXT_CAP = 256 };

struct servers {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t ask;
    hg_id_t hold;
};

/* A call. */
struct servers_call {
    unsigned done;
    hg_return_t ret;
    uint32_t answer;
};

/* Call it first: runs `test` as the client, or is a server. */
int servers_main(int argc, char **argv, void (*test)(struct servers *client));

/* Registers "ask" and "hold" with a class of the test. */
void servers_register(struct servers *peer);

/* Starts a server at "tcp://WHERE" ("127.0.0.1" takes a free port), and waits
 * until it reports its address. */
pid_t servers_start(const char *where, char *ret_address);
/* Kills it, and waits for its end. */
void servers_kill(pid_t pid);

/* Posts a call to the server at `address`. */
void servers_post(struct servers *client, const char *address, hg_id_t id,
    uint32_t number, struct servers_call *call);
/* Makes progress, blocking, until the call ended. Returns its result. */
hg_return_t servers_wait(struct servers *client, struct servers_call *call);

/* Ends the test: `what` is false. */
void servers_fail(const char *file, int line, const char *what);

#define CHECK(expr) ((expr) ? (void)0 : servers_fail(__FILE__, __LINE__, #expr))

#endif
