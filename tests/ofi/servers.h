/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that come and go: processes of their own, reached by ofi+tcp.
 *
 * A test runs itself again as a server, and is its client. The server answers
 * every "ask" with the number it was sent, and keeps every "hold". */
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

/* One call. */
struct servers_call {
    unsigned done;
    hg_return_t ret;
    uint32_t answer;
};

/* To be called first: runs `test` as the client, or is a server. */
int servers_main(int argc, char **argv, void (*test)(struct servers *client));

/* Registers "ask" and "hold" with a class of the test's own. */
void servers_register(struct servers *peer);

/* Starts a server at "tcp://WHERE" ("127.0.0.1" takes a free port), and waits
 * until it tells its address. */
pid_t servers_start(const char *where, char *ret_address);
/* Kills it, and waits until it is gone. */
void servers_kill(pid_t pid);

/* Posts a call to the server at `address`. */
void servers_post(struct servers *client, const char *address, hg_id_t id,
    uint32_t number, struct servers_call *call);
/* Makes progress, sleeping in it, until the call ended; how it did. */
hg_return_t servers_wait(struct servers *client, struct servers_call *call);

/* Ends the test: `what` does not hold. */
void servers_fail(const char *file, int line, const char *what);

#define CHECK(expr) ((expr) ? (void)0 : servers_fail(__FILE__, __LINE__, #expr))

#endif
