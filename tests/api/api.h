/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the public calls share.
 *
 * Every test is the same program on each rank of a ring: a rank calls its
 * right-hand neighbour and serves its left-hand one. With one rank it is its
 * own neighbour, so the same code tests calls to oneself. A wait has a
 * deadline, and a test that misses it says what it waited for. */
#ifndef TESTS_API_API_H
#define TESTS_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amalgam_progress.h"
#include "mercury.h"

enum { API_SKIP = 77 };

/* How a test wants its class; zeros are the defaults. */
struct api_wish {
    uint8_t contexts;
    bool no_overflow;
    bool no_bulk_eager;
    bool client_only; /* the class does not listen */
    int ranks;        /* fewer than these: the test is skipped */
    /* Sets what else is wanted, on this rank; the class is opened by
     * HG_Init_opt2() then, in every world. May be NULL. */
    void (*tune)(int rank, struct hg_init_info *info);
};

struct api {
    const char *test; /* the program's name */
    const char *transport;
    int rank;
    int size;
    bool is_alone;         /* the neighbour is this process itself */
    hg_class_t *cls;       /* NULL once the test closed it */
    hg_context_t *context; /* of id 0; NULL once the test destroyed it */
    hg_addr_t right;
    uint64_t deadline_ns;
};

/* One operation with room to see what became of it. */
struct api_call {
    unsigned done; /* how often its callback ran */
    hg_return_t ret;
    hg_cb_type_t type;
    hg_handle_t handle; /* as the callback was told */
    hg_size_t size;     /* of a transfer, likewise */
};

/* The ring, besides the class under test; api_self.c or api_mpi.c is linked. */
struct api_world {
    void (*start)(int *ret_rank, int *ret_size);
    hg_class_t *(*open)(const char *transport, const struct api_wish *wish);
    hg_return_t (*address)(hg_class_t *cls, int rank, hg_addr_t *ret_addr);
    void (*barrier_begin)(void);
    bool (*barrier_is_done)(void);
    /* Turns an address of this job into one of another job. */
    void (*make_foreign)(char *text);
    void (*stop)(void);
    void (*die)(void); /* ends all ranks; does not return */
};

extern const struct api_world api_world;

/* The whole program: opens, runs `test`, closes what the test left open. */
int api_main(int argc, char **argv, const struct api_wish *wish,
    void (*test)(struct api *api));

/* A class by HG_Init_opt2(), as wished. */
hg_class_t *api_init(const char *transport, const struct api_wish *wish);

/* Ends the program: `what` does not hold. */
void api_fail(
    const struct api *api, const char *file, int line, const char *what);

/* The same when a code is not the one expected. */
void api_expect(const struct api *api, hg_return_t got, hg_return_t wanted,
    const char *file, int line, const char *what);

#define CHECK(api, expr)                                                       \
    ((expr) ? (void)0 : api_fail((api), __FILE__, __LINE__, #expr))

/* The call returns the code, and nothing else will do. */
#define EXPECT(api, wanted, call)                                              \
    api_expect((api), (call), (wanted), __FILE__, __LINE__, #call)

#define OK(api, call) EXPECT(api, HG_SUCCESS, call)

/* Progresses and runs callbacks until `expr` holds. */
#define UNTIL(api, expr)                                                       \
    for (api_wait_begin(api); !(expr);)                                        \
    api_wait_turn((api), __FILE__, __LINE__, #expr)

void api_wait_begin(struct api *api);
void api_wait_turn(
    struct api *api, const char *file, int line, const char *what);
/* Progress and callbacks of every open context once, without waiting. */
void api_turn(struct api *api);
/* A second context, or any other, to be driven along too. */
void api_drive(hg_context_t *context);
void api_drive_no_more(hg_context_t *context);

/* Who makes progress for a class, and how. */
struct api_mode {
    enum amalgam_progress progress;
    enum amalgam_wait wait;
    unsigned handlers;
};

/* Makes the context of id 0 anew, in this mode; while it is open, that is
 * refused. */
void api_set_mode(struct api *api, const struct api_mode *mode);

/* Progresses until all ranks have come here. */
void api_sync(struct api *api);

/* An hg_cb_t whose argument is a struct api_call. */
hg_return_t api_done(const struct hg_cb_info *info);

/* Forwards with api_done, which must succeed; `call` must outlive it. */
void api_forward(
    struct api *api, hg_handle_t handle, void *in, struct api_call *call);
/* Waits for the callback, which must run once; how the call ended. */
hg_return_t api_wait(struct api *api, struct api_call *call);
/* Both. */
hg_return_t api_ask(struct api *api, hg_handle_t handle, void *in);

/* A handle for the right-hand neighbour. */
hg_handle_t api_handle(struct api *api, hg_id_t id);

/* Bytes that tell where they belong: byte `offset + i` of `seed`. */
void api_fill(void *bytes, size_t len, uint64_t seed, uint64_t offset);
bool api_is_filled(
    const void *bytes, size_t len, uint64_t seed, uint64_t offset);

/* Monotonic nanoseconds. */
uint64_t api_now_ns(void);

#endif
