/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of a run: what each rank does, and what a handler does for a call.
 *
 * A pure function of the seed, the options and the environment. Each call has
 * an id that names the rank and the number of its root (a call that a rank
 * makes by itself) and the path from there: a handler that makes calls gives
 * them ids that follow from that of its own call. So any process computes all
 * of a call from its id alone, in whatever order calls happen. */
#ifndef TESTS_TORTURE_PLAN_H
#define TESTS_TORTURE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PLAN_RANKS_MAX = 64,
    PLAN_CLASSES_MAX = 2,
    PLAN_CONTEXTS_MAX = 3,
    PLAN_CHILDREN_MAX = 3, /* of one handler */
    PLAN_DEPTH_MAX = 3,    /* of handlers that make calls */
    PLAN_SEGMENTS_MAX = 9,
    PLAN_LEN_MAX = 1 << 20,
    PLAN_STREAM_MAX = 64 - 16, /* bytes that follow id and order */
};

/* Kinds of calls: the bits of --ops. */
enum plan_kind {
    PLAN_CALL,         /* with an answer */
    PLAN_EMPTY,        /* without argument and result, and so without an id */
    PLAN_ONE_WAY,      /* without an answer, by a handle */
    PLAN_STREAM,       /* without an answer and a handle */
    PLAN_STREAM_EMPTY, /* of 0 bytes, and so without an id */
    PLAN_PULL,         /* the target reads memory of the origin */
    PLAN_PUSH,         /* the target writes it */
    PLAN_TREE,         /* its handler makes calls, before it answers or after */
    PLAN_RING,         /* its handler calls on, and answers when that ended */
    PLAN_DROPPED,      /* its handler gives no answer */
    PLAN_UNKNOWN,      /* of an RPC that the target does not know */
    PLAN_NO_HANDLER,   /* of an RPC that has no function at the target */
    PLAN_NO_CONTEXT,   /* to a context that the target does not have */
    PLAN_LATE,         /* of an RPC that the target registers meanwhile */
    PLAN_PASS,         /* its handler gives the memory to a third rank */
    PLAN_PASSED,       /* the call to that rank: no root is one */
    PLAN_GROUP,        /* to a group of ranks, with outputs folded or dropped */
    PLAN_GATHER,       /* to a group; the origin gets all outputs */
    PLAN_MEMBER,       /* such a call at one rank: no root is one */
    PLAN_KINDS
};

/* How the group of a call is made. */
enum plan_shape {
    PLAN_SHAPE_ALL, /* AMALGAM_GROUP_ALL */
    PLAN_SHAPE_LIST_ALL,
    PLAN_SHAPE_STRIDED,
    PLAN_SHAPE_RANDOM,
    PLAN_SHAPE_OTHERS, /* without the caller */
    PLAN_SHAPE_ONE,
    PLAN_SHAPE_EMPTY,
    PLAN_SHAPES
};

/* What becomes of the outputs of a group that are not gathered. */
enum plan_fold {
    PLAN_FOLD_NONE,
    PLAN_FOLD_SUM,     /* in any order */
    PLAN_FOLD_COMPOSE, /* in the order of ranks */
    PLAN_FOLDS
};

/* What the rank `target` of a call to a group does, if it is a member. */
enum plan_odd {
    PLAN_ODD_NONE,
    PLAN_ODD_UNKNOWN, /* does not know the RPC */
    PLAN_ODD_LATE,    /* registers the RPC meanwhile */
    PLAN_ODD_DROPS,   /* gives no answer */
    PLAN_ODD_ABSENT,  /* no member has the context */
    PLAN_ODDS
};

/* Ways of the origin: the bits of --ways. */
enum plan_way {
    PLAN_WAY_CANCEL,        /* the call is cancelled at some time */
    PLAN_WAY_DESTROY_EARLY, /* the handle is destroyed after the post */
    PLAN_WAY_REUSE,         /* a handle of an earlier call is used again */
    PLAN_WAY_KEEP,          /* the handle is destroyed at the end of the run */
    PLAN_WAY_REFERENCE,     /* with two references */
    PLAN_WAY_BIND,          /* the memory is bound to a context */
    PLAN_WAY_PARTS,         /* the target moves it in several transfers */
    PLAN_WAY_CANCEL_BULK,   /* the target cancels a transfer */
    PLAN_WAY_FREE_EARLY,    /* the memory is released before the answer */
    PLAN_WAY_BEYOND,        /* the target also wants more than is exposed */
    PLAN_WAY_TIMED,         /* a call to a group has a time limit */
    PLAN_WAYS
};

/* Ways of the target: the bits of --handlers. */
enum plan_handler {
    PLAN_HANDLER_PLAIN,
    PLAN_HANDLER_RELEASE, /* returns the message early */
    PLAN_HANDLER_TWICE,   /* decodes the argument twice */
    PLAN_HANDLER_FREED,   /* frees the argument before the answer */
    PLAN_HANDLER_GONE,    /* destroys the handle before the answer */
    PLAN_HANDLER_REFERENCE,
    PLAN_HANDLER_PROGRESS, /* makes progress, and runs callbacks */
    PLAN_HANDLER_BUSY,     /* computes meanwhile */
    PLAN_HANDLER_LATER,    /* answers after it returned */
    PLAN_HANDLER_THREAD,   /* another thread answers */
    PLAN_HANDLERS
};

/* Ends of a run: the bits of --ends. */
enum plan_end {
    PLAN_END_QUIET,    /* when no rank has a call under way */
    PLAN_END_CONTEXTS, /* then, with the contexts closed before the class */
    PLAN_END_AT_ONCE,  /* then, with one-way calls posted just before */
    PLAN_END_EARLY,    /* one rank closes long before the others */
    PLAN_END_LATE,     /* one rank closes long after the others */
    PLAN_ENDS
};

enum { PLAN_LEVEL_ANY = 4 };

/* What the command line says. 0, UINT32_MAX of a mask and PLAN_LEVEL_ANY: the
 * seed says. */
struct plan_options {
    const char *transport;
    uint64_t seed;
    uint64_t seed_last;
    unsigned fork; /* 0: started by mpiexec */
    unsigned rounds;
    unsigned calls; /* roots of each rank */
    unsigned threads;
    unsigned contexts;
    unsigned classes;
    uint32_t ops;
    uint32_t ways;
    uint32_t handlers;
    uint32_t ends;
    unsigned level; /* MPI_THREAD_SINGLE is 0 ... MPI_THREAD_MULTIPLE is 3 */
    unsigned limit_s;
    unsigned faults; /* one in so many calls of the library fails; 0: none */
    unsigned part;   /* only the calls of this one of `parts` equal parts */
    unsigned parts;
};

/* What holds for a whole round of a seed. */
struct plan {
    uint64_t hash; /* of the seed */
    unsigned ranks;
    unsigned round;
    bool is_self;     /* each rank calls only itself */
    bool is_job;      /* of amalgam_init(): several classes, a common end */
    bool is_threaded; /* any thread may use the library */
    unsigned calls;   /* roots of each rank */
    unsigned first;   /* the first root, and the one after the last */
    unsigned last;
    unsigned burst;   /* one-way roots after these, for the end at once */
    unsigned hot;     /* a rank that many calls go to, or `ranks` */
    bool is_mute;     /* at times a rank runs no callbacks: see turn.c */
    unsigned threads; /* that post, in each rank */
    unsigned contexts;
    unsigned classes;
    unsigned absent; /* the rank that is not in class 1, or `ranks` */
    unsigned window; /* unanswered calls of a thread */
    unsigned chains; /* unanswered calls of a rank whose handlers wait */
    unsigned phases; /* between them MPI calls of the program */
    uint32_t len_max;
    uint32_t long_len; /* most arguments and results have more; 0: as any */
    uint32_t ops;
    uint32_t ways;
    uint32_t handlers;
    enum plan_end end;
    unsigned end_rank;     /* the early or the late one */
    unsigned gone_rank;    /* closes context `gone_context` of class 0 while */
    unsigned gone_context; /* others call it; 0: no rank does */
    unsigned credits;      /* AMALGAM_CREDITS, or 64 */
    uint32_t message_bytes;
    /* Options of the classes. */
    unsigned head_len;  /* bytes that each request and reply begin with, or 0 */
    unsigned checksums; /* hg_checksum_level_t */
    bool no_bulk_eager;
    bool has_handles; /* calls of streams come with a handle */
    bool no_loopback;
    bool has_groups; /* the peers are ranks, and so may be in groups */
    bool quiesces;   /* all ranks wait for quiescence between two phases */
};

enum { PLAN_HEAD_MAX = 64 };

/* Memory that a call exposes. */
enum plan_memory {
    PLAN_MEMORY_HEAP,
    PLAN_MEMORY_CLASS,  /* amalgam_alloc() */
    PLAN_MEMORY_HANDLE, /* allocated by HG_Bulk_create() */
    PLAN_MEMORY_TYPE,   /* of the heap, named by an MPI datatype */
    PLAN_MEMORIES
};

struct plan_bulk {
    unsigned segments;
    uint32_t segment_len[PLAN_SEGMENTS_MAX];
    uint32_t gap;    /* bytes between two segments */
    uint32_t total;  /* bytes of all segments */
    uint32_t offset; /* the part that the target moves */
    uint32_t size;
    unsigned memory;    /* 0: heap, 1: of the class, 2: of the handle */
    bool is_restricted; /* readable or writable, not both */
};

/* All of a call. */
struct plan_call {
    uint64_t id;
    uint64_t hash; /* for plan_draw() */
    enum plan_kind kind;
    unsigned depth;  /* of handlers above it; 0: a root */
    unsigned origin; /* ranks of the job */
    unsigned target;
    unsigned cls;
    unsigned origin_context;
    unsigned target_context;
    uint32_t arg_len;
    uint32_t reply_len;
    uint32_t ways; /* bits */
    enum plan_handler handler;
    unsigned busy_us;  /* the handler computes */
    unsigned later_us; /* until the answer, or the transfer */
    unsigned cancel_us;
    unsigned free_us;
    unsigned children;
    bool waits;         /* the handler answers when its calls have ended */
    bool is_last;       /* of the burst before the end */
    bool pushes;        /* its target writes the memory, and does not read it */
    uint64_t memory_id; /* the call that exposes the memory */
    struct plan_bulk bulk;
    uint64_t message_id; /* in its messages: of a member, the call to all */
    enum plan_shape shape;
    enum plan_fold fold;
    enum plan_odd odd;
    unsigned timeout_ms; /* of a call to a group */
    bool may_be_late;    /* so short that members may not answer in time */
};

/* The plan of a seed's round. */
struct plan plan_make(const struct plan_options *options, uint64_t seed,
    unsigned ranks, unsigned round);

/* Ids: of a root; of the n-th call, from 0, that a handler makes. */
uint64_t plan_root(const struct plan *plan, unsigned rank, unsigned index);
uint64_t plan_child(const struct plan_call *call, unsigned n);
/* Id of a call to a group at a rank of the job. */
uint64_t plan_member(uint64_t id, unsigned rank);

/* Whether an id can be one of this round. */
bool plan_knows(const struct plan *plan, uint64_t id);
unsigned plan_root_rank(uint64_t id);
unsigned plan_root_index(uint64_t id);

struct plan_call plan_call(const struct plan *plan, uint64_t id);

/* Kinds with a callback at the origin; those that expose memory; those whose
 * targets move it. */
bool plan_kind_ends(enum plan_kind kind);
bool plan_kind_exposes(enum plan_kind kind);
bool plan_kind_moves(enum plan_kind kind);
bool plan_is_group(enum plan_kind kind); /* at the origin */
bool plan_has_way(const struct plan_call *call, enum plan_way way);
/* Whether the call goes to a context that closes meanwhile; whether a one-way
 * call is handled in any case. */
bool plan_may_be_gone(const struct plan *plan, const struct plan_call *call);
bool plan_is_sure(const struct plan *plan, const struct plan_call *call);

/* The roots that a rank makes, one after another. */
unsigned plan_last(const struct plan *plan, unsigned rank);

/* plan_group.c: draws what a call to a group has beside others, by the hash of
 * its root. */
void plan_group_draw(
    const struct plan *plan, uint64_t hash, struct plan_call *call);
/* The members of a call to a group: ranks of its class, in the order in which
 * the group is made. At most PLAN_RANKS_MAX; returns how many. */
unsigned plan_members(
    const struct plan *plan, const struct plan_call *call, int *ret_ranks);
/* Output of a member; what two outputs of neighbours are folded to. */
uint64_t plan_output(const struct plan_call *call, unsigned rank);
uint64_t plan_folded(enum plan_fold fold, uint64_t lower, uint64_t higher);

/* A number below `n` for a purpose of the caller; `salt` names the purpose. */
unsigned plan_draw(uint64_t hash, unsigned salt, unsigned n);

/* Ranks of class `cls`: class 1 counts them backwards, without `absent`. */
unsigned plan_class_size(const struct plan *plan, unsigned cls);
bool plan_is_member(const struct plan *plan, unsigned cls, unsigned rank);
unsigned plan_class_rank(const struct plan *plan, unsigned cls, unsigned rank);
unsigned plan_job_rank(
    const struct plan *plan, unsigned cls, unsigned class_rank);

const char *plan_kind_name(enum plan_kind kind);

#ifdef __cplusplus
}
#endif

#endif
