/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of the public calls.
 *
 * Every test is the same program on each rank of a ring: a rank calls its
 * right-hand neighbour and serves its left-hand one. With one rank it is its
 * own neighbour, so the same code tests calls to self. A wait has a deadline,
 * and a test that misses it names the condition. */
#ifndef TESTS_API_API_H
#define TESTS_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amalgam_progress.h"
#include "mercury.h"

enum { API_SKIP = 77 };

/* Options of a test for its class; zeros are the defaults. */
struct api_wish {
    uint8_t contexts;
    bool no_overflow;
    bool no_bulk_eager;
    bool client_only; /* the class does not listen */
    int ranks;        /* with fewer the test is skipped */
    /* Sets further options of this rank; the class is then opened by
     * HG_Init_opt2(). May be NULL. */
    void (*tune)(int rank, struct hg_init_info *info);
};

struct api {
    const char *test; /* the program's name */
    const char *transport;
    int rank;
    int size;
    bool is_alone;         /* the neighbour is this process itself */
    hg_class_t *cls;       /* NULL after the test closed it */
    hg_context_t *context; /* of id 0; NULL after the test destroyed it */
    hg_addr_t right;
    uint64_t deadline_ns;
};

/* An operation and its result. */
struct api_call {
    unsigned done; /* runs of its callback */
    hg_return_t ret;
    hg_cb_type_t type;
    hg_handle_t handle; /* as in the callback's info */
    hg_size_t size;     /* of a transfer, from the callback's info */
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

/* The whole program: opens, runs `test`, closes all that the test left open. */
int api_main(int argc, char **argv, const struct api_wish *wish,
    void (*test)(struct api *api));

/* Opens a class by HG_Init_opt2() with these options. */
hg_class_t *api_init(const char *transport, const struct api_wish *wish);

/* Ends the program because `what` does not hold. */
void api_fail(
    const struct api *api, const char *file, int line, const char *what);

/* The same when a code is not the one expected. */
void api_expect(const struct api *api, hg_return_t got, hg_return_t wanted,
    const char *file, int line, const char *what);

#define CHECK(api, expr)                                                       \
    ((expr) ? (void)0 : api_fail((api), __FILE__, __LINE__, #expr))

/* The call must return exactly this code. */
#define EXPECT(api, wanted, call)                                              \
    api_expect((api), (call), (wanted), __FILE__, __LINE__, #call)

#define OK(api, call) EXPECT(api, HG_SUCCESS, call)

/* Makes progress and runs callbacks until `expr` holds. */
#define UNTIL(api, expr)                                                       \
    for (api_wait_begin(api); !(expr);)                                        \
    api_wait_turn((api), __FILE__, __LINE__, #expr)

void api_wait_begin(struct api *api);
void api_wait_turn(
    struct api *api, const char *file, int line, const char *what);
/* Progress and callbacks of every open context once, without waiting. */
void api_turn(struct api *api);
/* Another context that api_turn() drives, too. */
void api_drive(hg_context_t *context);
void api_drive_no_more(hg_context_t *context);

/* How a class makes progress, and by which threads. */
struct api_mode {
    enum amalgam_progress progress;
    enum amalgam_wait wait;
};

/* Creates the context of id 0 anew, in this mode; changing it is refused while
 * the context is open. */
void api_set_mode(struct api *api, const struct api_mode *mode);

/* Makes progress until all ranks have called this. */
void api_sync(struct api *api);

/* Makes progress until nothing is under way in this rank: all credits and
 * buffers are home. */
void api_settle(struct api *api);

/* An hg_cb_t whose argument is a struct api_call. */
hg_return_t api_done(const struct hg_cb_info *info);

/* Forwards with api_done, and expects success; `call` must outlive it. */
void api_forward(
    struct api *api, hg_handle_t handle, void *in, struct api_call *call);
/* Waits for the callback, which must run once; returns the result. */
hg_return_t api_wait(struct api *api, struct api_call *call);
/* Both in one. */
hg_return_t api_ask(struct api *api, hg_handle_t handle, void *in);

/* A handle for the right-hand neighbour. */
hg_handle_t api_handle(struct api *api, hg_id_t id);

/* Bytes that depend on their position: byte `offset + i` of `seed`. */
void api_fill(void *bytes, size_t len, uint64_t seed, uint64_t offset);
bool api_is_filled(
    const void *bytes, size_t len, uint64_t seed, uint64_t offset);

/* Monotonic nanoseconds. */
uint64_t api_now_ns(void);

#endif
