/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank of torture_hg has open: its classes, and all that their handlers
 * and callbacks share. */
#ifndef TESTS_TORTURE_WORLD_H
#define TESTS_TORTURE_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "book.h"
#include "exchange.h"
#include "mercury.h"
#include "mercury_bulk.h"
#include "plan.h"

/* RPCs that all ranks register. */
enum world_rpc {
    WORLD_CALL,
    WORLD_EMPTY,
    WORLD_ONE_WAY,
    WORLD_STREAM,
    WORLD_STREAM_EMPTY,
    WORLD_NO_HANDLER,
    WORLD_GROUP, /* with each enum plan_fold */
    WORLD_GROUP_LAST = WORLD_GROUP + PLAN_FOLDS - 1,
    WORLD_RPCS
};

/* A context of a class, and what its posts and arrivals number. */
struct world_context {
    hg_context_t *context;
    pthread_mutex_t lock; /* of the next two */
    uint64_t sent[PLAN_RANKS_MAX][PLAN_CONTEXTS_MAX];
    struct world_handles *idle; /* for calls that reuse a handle */
    /* The last number that began here, by origin and its context. */
    atomic_ulong begun[PLAN_RANKS_MAX][PLAN_CONTEXTS_MAX];
};

struct world_handles {
    struct world_handles *next;
    hg_handle_t handle;
};

/* A class; the data of HG_Class_set_data(). Ranks are those of the job. */
struct world_class {
    struct world *world;
    unsigned index;
    hg_class_t *cls;
    struct world_context contexts[PLAN_CONTEXTS_MAX];
    hg_addr_t addrs[PLAN_RANKS_MAX]; /* of a class of HG_Init() */
    hg_id_t ids[WORLD_RPCS];
    /* Known to all ranks but this one; to this one at some time. Those of
     * groups have handlers at all other ranks. */
    hg_id_t unknown[PLAN_RANKS_MAX];
    hg_id_t late[PLAN_RANKS_MAX];
    hg_id_t group_unknown[PLAN_RANKS_MAX];
    hg_id_t group_late[PLAN_RANKS_MAX];
    atomic_uint absent;  /* calls to contexts that do not exist */
    atomic_uint cancels; /* calls that were cancelled */
};

struct world {
    struct plan_options options;
    struct plan plan;
    struct book *book;
    struct exchange *exchange;
    unsigned rank;
    struct world_class classes[PLAN_CLASSES_MAX];
    bool checks_order; /* one thread runs handlers */
    /* Stored when all above is there. Handlers run when all ranks are open; a
     * load in this process says so to the thread sanitizer. */
    atomic_bool is_open;
    atomic_bool is_closing; /* no handle is kept any more */
    atomic_uint chains;     /* roots under way whose handlers wait */
    atomic_uint open;       /* calls that own handles or memory here */
    pthread_mutex_t kept_lock;
    struct world_handles *kept; /* until the end of the round */
    struct origin *kept_memory; /* freed early: nobody may write it */
};

/* Opens the classes of the plan, with contexts and RPCs; false: this machine
 * cannot, which is no finding. */
bool world_open(struct world *world);
/* Registers the RPCs that were left out. */
void world_register_late(struct world *world);
/* Closes the context that the plan names, in its rank. */
void world_leave_context(struct world *world);
/* Closes the classes. */
void world_close(struct world *world);
/* What is not at home in all classes; `out` may be NULL. */
size_t world_state(struct world *world, FILE *out);

struct world_class *world_class_of(const hg_class_t *cls);

/* The address of a rank of the job; the caller frees it by HG_Addr_free(). */
hg_addr_t world_addr(struct world_class *cls, unsigned rank);
/* The rank at an address. */
unsigned world_rank_of(struct world_class *cls, hg_addr_t addr);

uint64_t world_now_ns(void);

/* A finding if a call failed. */
void world_expect(struct world *world, hg_return_t rc, const char *what,
    const char *file, int line);
#define EXPECT_OK(world, call)                                                 \
    world_expect((world), (call), #call, __FILE__, __LINE__)

#endif
