/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of the stand-in, and accesses through them. */
#ifndef TESTS_MPI_STRICT_STRICT_RMA_H
#define TESTS_MPI_STRICT_STRICT_RMA_H

#include "mpi/strict/strict_core.h"

struct strict_request;

/* Memory that a rank has attached to a dynamic window of its own. */
struct strict_region {
    struct strict_region *next;
    MPI_Aint base;
    MPI_Aint len;
};

struct strict_window {
    struct strict_window *next;
    MPI_Win real;
    int size;
    bool is_dynamic;
    MPI_Aint *lens; /* bytes, and */
    int *units;     /* unit of displacement, by target; NULL: not known */
    bool is_locked_all;
    bool is_fenced;
    bool *are_locked; /* by target */
    struct strict_region *regions;
};

enum strict_access_kind {
    STRICT_ACCESS_PUT,
    STRICT_ACCESS_GET,
    STRICT_ACCESS_ADD,     /* an accumulate */
    STRICT_ACCESS_GET_ADD, /* with the old values */
    STRICT_ACCESS_SWAP,    /* MPI_Compare_and_swap */
};

/* An access, until the flush or unlock that ends it. */
struct strict_access {
    struct strict_access *next; /* in the order of their calls */
    struct strict_window *window;
    struct strict_request *request; /* NULL: the user knows it is complete */
    enum strict_access_kind kind;
    bool has_handle; /* the user has the request */
    bool is_passed;
    bool is_over;    /* at the origin */
    uint64_t number; /* of all accesses */
    uint64_t due;    /* passed on at this call of the process */
    const void *out;
    int out_count;
    MPI_Datatype out_type;
    unsigned char *copy; /* of `out`; NULL: none */
    const void *compare;
    void *in;
    int in_count;
    MPI_Datatype in_type;
    int target;
    MPI_Aint disp;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Aint low; /* bytes at the target: first, and */
    MPI_Aint len; /* how many; -1: not known */
    MPI_Request real;
};

/* Finds it; a finding if there is none. */
struct strict_window *strict_window_of(MPI_Win real);
/* The rank of this process in it. */
int strict_window_rank(const struct strict_window *window);
/* Whether the access is in an epoch and in the window. */
void strict_window_check_access(const struct strict_access *access);

/* Passes on what is due. */
void strict_access_move(void);
/* Passes on all. */
void strict_access_flush(void);
bool strict_access_is_passed(const struct strict_access *access);
/* The user knows that its request is complete. */
void strict_access_forget(struct strict_access *access);
/* Around the flush of `target`, or of all (-1), of a window: returns the number
 * that strict_access_end() needs, which ends all before it. */
uint64_t strict_access_begin_flush(struct strict_window *window, int target);
void strict_access_end(
    struct strict_window *window, int target, uint64_t number);

#endif
