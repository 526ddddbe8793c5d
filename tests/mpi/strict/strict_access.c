/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses to windows: they may be passed on late, as late as the flush that
 * needs them.
 *
 * A put or accumulate that waits may be complete for its caller; its bytes are
 * copied then. Completion says nothing about the target: only a flush does.
 * Until it, two accesses of this rank to the same bytes conflict, unless both
 * read, or both are accumulates of one operation (or MPI_NO_OP), which is what
 * MPI assumes if no info key says more. Accumulates to one target stay in
 * order. */
#include <stdlib.h>
#include <string.h>

#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_request.h"
#include "mpi/strict/strict_rma.h"

static struct strict_access *accesses; /* in the order of their calls */
static uint64_t numbers;

static bool is_atomic(const struct strict_access *access)
{
    return access->kind >= STRICT_ACCESS_ADD;
}

/* Fetch_and_op is a Get_accumulate of one element. */
static int access_start(struct strict_access *access)
{
    const void *out = access->copy != NULL ? access->copy : access->out;
    MPI_Win win = access->window->real;

    switch (access->kind) {
    case STRICT_ACCESS_PUT:
        return PMPI_Rput(out, access->out_count, access->out_type,
            access->target, access->disp, access->count, access->type, win,
            &access->real);
    case STRICT_ACCESS_GET:
        return PMPI_Rget(access->in, access->in_count, access->in_type,
            access->target, access->disp, access->count, access->type, win,
            &access->real);
    case STRICT_ACCESS_ADD:
        return PMPI_Raccumulate(out, access->out_count, access->out_type,
            access->target, access->disp, access->count, access->type,
            access->op, win, &access->real);
    case STRICT_ACCESS_GET_ADD:
        return PMPI_Rget_accumulate(out, access->out_count, access->out_type,
            access->in, access->in_count, access->in_type, access->target,
            access->disp, access->count, access->type, access->op, win,
            &access->real);
    default:
        return PMPI_Compare_and_swap(out, access->compare, access->in,
            access->type, access->target, access->disp, win);
    }
}

static int access_pass(struct strict_access *access)
{
    int rc = MPI_SUCCESS;

    if (access->is_passed)
        return MPI_SUCCESS;
    access->is_passed = true;
    rc = access_start(access);
    if (access->request != NULL && !access->request->is_done) {
        access->request->real = access->real;
        if (rc != MPI_SUCCESS)
            strict_request_done(access->request, NULL, rc);
    }
    return rc;
}

static bool has_older(const struct strict_access *access)
{
    for (const struct strict_access *one = accesses; one != access;
         one = one->next)
        if (!one->is_passed && is_atomic(one) && is_atomic(access) &&
            one->window == access->window && one->target == access->target)
            return true;
    return false;
}

void strict_access_move(void)
{
    for (struct strict_access *one = accesses; one != NULL; one = one->next)
        if (!one->is_passed && one->due <= strict_calls && !has_older(one))
            (void)access_pass(one);
}

void strict_access_flush(void)
{
    for (struct strict_access *one = accesses; one != NULL; one = one->next)
        (void)access_pass(one);
}

bool strict_access_is_passed(const struct strict_access *access)
{
    return access->is_passed;
}

/* Without a copy its request was the only one. */
void strict_access_forget(struct strict_access *access)
{
    if (access->copy == NULL)
        access->real = MPI_REQUEST_NULL;
    access->request = NULL;
}

static void access_remove(struct strict_access *access)
{
    struct strict_access **at = &accesses;

    while (*at != access)
        at = &(*at)->next;
    *at = access->next;
    free(access->copy);
    free(access);
}

/* Ends it on both sides; MPI returns at once from the wait. */
static void access_end(struct strict_access *access)
{
    struct strict_request *request = access->request;

    if (access->has_handle && access->copy == NULL && request != NULL)
        (void)strict_request_peek(request);
    else if (access->real != MPI_REQUEST_NULL)
        (void)PMPI_Wait(&access->real, MPI_STATUS_IGNORE);
    if (request != NULL && !access->has_handle) {
        strict_request_done(request, NULL, MPI_SUCCESS);
        (void)strict_request_finish(request, MPI_STATUS_IGNORE);
    } else if (request != NULL) {
        request->access = NULL;
    }
    access_remove(access);
}

uint64_t strict_access_begin_flush(struct strict_window *window, int target)
{
    for (struct strict_access *one = accesses; one != NULL; one = one->next)
        if (one->window == window && (target < 0 || one->target == target))
            (void)access_pass(one);
    return numbers;
}

void strict_access_end(
    struct strict_window *window, int target, uint64_t number)
{
    struct strict_access *next = NULL;

    for (struct strict_access *one = accesses; one != NULL; one = next) {
        next = one->next;
        if (one->window == window && one->number <= number &&
            (target < 0 || one->target == target))
            access_end(one);
    }
}

static bool is_same_op(MPI_Op one, MPI_Op other)
{
    return one == other || one == MPI_NO_OP || other == MPI_NO_OP;
}

/* A get that has ended at its origin has ended altogether. */
static bool is_ended(const struct strict_access *access)
{
    return access->kind == STRICT_ACCESS_GET && access->has_handle &&
           access->request == NULL;
}

static void conflict_check(const struct strict_access *access)
{
    for (const struct strict_access *one = accesses; one != NULL;
         one = one->next) {
        if (one == access || one->window != access->window ||
            one->target != access->target || one->len <= 0 ||
            access->len <= 0 || one->low >= access->low + access->len ||
            access->low >= one->low + one->len || is_ended(one))
            continue;
        if ((one->kind == STRICT_ACCESS_GET &&
                access->kind == STRICT_ACCESS_GET) ||
            (is_atomic(one) && is_atomic(access) &&
                is_same_op(one->op, access->op)))
            continue;
        if (!is_atomic(one) && !is_atomic(access) &&
            strict_choice(STRICT_OVERLAP) == 0)
            continue;
        strict_finding("%lld bytes at %lld of rank %d are accessed while an "
                       "older access to %lld bytes at %lld is not flushed",
            (long long)access->len, (long long)access->low, access->target,
            (long long)one->len, (long long)one->low);
    }
}

/* Accumulates that nobody flushes would fill the list: of those to one place
 * the last one stays. */
static void older_drop(const struct strict_access *access)
{
    struct strict_access *next = NULL;

    for (struct strict_access *one = accesses; one != NULL; one = next) {
        int flag = 0;

        next = one->next;
        if (one->request != NULL || !one->is_passed ||
            one->window != access->window || one->target != access->target)
            continue;
        if (!is_ended(one) &&
            (!is_atomic(one) || !is_atomic(access) || one->low != access->low ||
                one->len != access->len))
            continue;
        if (one->real != MPI_REQUEST_NULL)
            (void)PMPI_Test(&one->real, &flag, MPI_STATUS_IGNORE);
        if (one->real == MPI_REQUEST_NULL)
            access_remove(one);
    }
}

static void bytes_find(struct strict_access *access)
{
    const struct strict_window *window = access->window;
    MPI_Aint unit = 1;

    if (!window->is_dynamic && window->units != NULL)
        unit = window->units[access->target];
    access->low = access->disp * unit;
    access->len = strict_type_len(access->type, access->count);
}

static void access_watch(struct strict_access *access)
{
    MPI_Aint in = strict_type_len(access->in_type, access->in_count);
    MPI_Aint out = strict_type_len(access->out_type, access->out_count);

    if (access->in != NULL && in > 0)
        access->in = strict_watch_in(access->request, access->in, (size_t)in);
    else if (access->in == NULL && access->out != NULL && out > 0)
        strict_watch_out(access->request, access->out, (size_t)out);
}

/* Complete for the caller, who may change the bytes. */
static void access_finish_early(struct strict_access *access)
{
    MPI_Aint len = strict_type_len(access->out_type, access->out_count);

    if (len <= 0)
        return;
    access->copy = malloc((size_t)len);
    if (access->copy == NULL)
        abort();
    memcpy(access->copy, access->out, (size_t)len);
    strict_request_done(access->request, NULL, MPI_SUCCESS);
}

/* Posts a copy of `wanted`; NULL: the user has no request. */
static int access_post(
    MPI_Win win, const struct strict_access *wanted, MPI_Request *ret_request)
{
    struct strict_access *access = NULL;
    struct strict_access **last = &accesses;
    struct strict_window *window = strict_window_of(win);
    int rc = strict_window_fails(win);

    strict_window_check(win);
    if (rc != MPI_SUCCESS || window == NULL)
        return rc != MPI_SUCCESS ? rc : MPI_ERR_WIN;
    access = calloc(1, sizeof(*access));
    if (access == NULL)
        abort();
    *access = *wanted;
    access->window = window;
    access->real = MPI_REQUEST_NULL;
    access->has_handle = ret_request != NULL;
    access->number = ++numbers;
    access->due = strict_calls + strict_dice_upto(strict_choice(STRICT_LATE));
    bytes_find(access);
    strict_window_check_access(access);
    older_drop(access);
    conflict_check(access);
    while (*last != NULL)
        last = &(*last)->next;
    *last = access;
    access->request =
        strict_request_new(access->in != NULL ? STRICT_GET : STRICT_PUT);
    access->request->access = access;
    access_watch(access);
    if (access->due <= strict_calls && !has_older(access))
        rc = access_pass(access);
    else if (access->has_handle && access->in == NULL && strict_dice_is(128))
        access_finish_early(access);
    if (rc != MPI_SUCCESS) {
        strict_request_drop(access->request);
        access_remove(access);
        return rc;
    }
    if (ret_request != NULL)
        *ret_request = strict_request_handle(access->request);
    return MPI_SUCCESS;
}

#define ACCESS(name, parameters, request, ...)                                 \
    int name parameters                                                        \
    {                                                                          \
        const struct strict_access wanted = {                                  \
            .target = target, .disp = disp, __VA_ARGS__};                      \
        int rc = MPI_SUCCESS;                                                  \
        STRICT_ENTER();                                                        \
        rc = access_post(win, &wanted, request);                               \
        strict_leave();                                                        \
        return rc;                                                             \
    }

#define PUT                                                                    \
    .kind = STRICT_ACCESS_PUT, .out = at, .out_count = at_count,               \
    .out_type = at_type, .in_type = MPI_BYTE, .count = count, .type = type,    \
    .op = MPI_REPLACE
#define GET                                                                    \
    .kind = STRICT_ACCESS_GET, .in = at, .in_count = at_count,                 \
    .in_type = at_type, .out_type = MPI_BYTE, .count = count, .type = type,    \
    .op = MPI_NO_OP
#define ADD                                                                    \
    .kind = STRICT_ACCESS_ADD, .out = at, .out_count = at_count,               \
    .out_type = at_type, .in_type = MPI_BYTE, .count = count, .type = type,    \
    .op = op
#define GET_ADD                                                                \
    .kind = STRICT_ACCESS_GET_ADD, .out = at, .out_count = at_count,           \
    .out_type = at_type, .in = in, .in_count = in_count, .in_type = in_type,   \
    .count = count, .type = type, .op = op
#define FETCH                                                                  \
    .kind = STRICT_ACCESS_GET_ADD, .out = at, .out_count = 1,                  \
    .out_type = type, .in = in, .in_count = 1, .in_type = type, .count = 1,    \
    .type = type, .op = op
#define SWAP                                                                   \
    .kind = STRICT_ACCESS_SWAP, .out = at, .out_count = 1, .out_type = type,   \
    .compare = compare, .in = in, .in_count = 1, .in_type = type, .count = 1,  \
    .type = type, .op = MPI_REPLACE

ACCESS(MPI_Put,
    (const void *at, int at_count, MPI_Datatype at_type, int target,
        MPI_Aint disp, int count, MPI_Datatype type, MPI_Win win),
    NULL, PUT)
ACCESS(MPI_Rput,
    (const void *at, int at_count, MPI_Datatype at_type, int target,
        MPI_Aint disp, int count, MPI_Datatype type, MPI_Win win,
        MPI_Request *request),
    request, PUT)
ACCESS(MPI_Get,
    (void *at, int at_count, MPI_Datatype at_type, int target, MPI_Aint disp,
        int count, MPI_Datatype type, MPI_Win win),
    NULL, GET)
ACCESS(MPI_Rget,
    (void *at, int at_count, MPI_Datatype at_type, int target, MPI_Aint disp,
        int count, MPI_Datatype type, MPI_Win win, MPI_Request *request),
    request, GET)
ACCESS(MPI_Accumulate,
    (const void *at, int at_count, MPI_Datatype at_type, int target,
        MPI_Aint disp, int count, MPI_Datatype type, MPI_Op op, MPI_Win win),
    NULL, ADD)
ACCESS(MPI_Raccumulate,
    (const void *at, int at_count, MPI_Datatype at_type, int target,
        MPI_Aint disp, int count, MPI_Datatype type, MPI_Op op, MPI_Win win,
        MPI_Request *request),
    request, ADD)
ACCESS(MPI_Get_accumulate,
    (const void *at, int at_count, MPI_Datatype at_type, void *in, int in_count,
        MPI_Datatype in_type, int target, MPI_Aint disp, int count,
        MPI_Datatype type, MPI_Op op, MPI_Win win),
    NULL, GET_ADD)
ACCESS(MPI_Rget_accumulate,
    (const void *at, int at_count, MPI_Datatype at_type, void *in, int in_count,
        MPI_Datatype in_type, int target, MPI_Aint disp, int count,
        MPI_Datatype type, MPI_Op op, MPI_Win win, MPI_Request *request),
    request, GET_ADD)
ACCESS(MPI_Fetch_and_op,
    (const void *at, void *in, MPI_Datatype type, int target, MPI_Aint disp,
        MPI_Op op, MPI_Win win),
    NULL, FETCH)
ACCESS(MPI_Compare_and_swap,
    (const void *at, const void *compare, void *in, MPI_Datatype type,
        int target, MPI_Aint disp, MPI_Win win),
    NULL, SWAP)
