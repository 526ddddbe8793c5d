/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of the stand-in: their handles, and their completion.
 *
 * A handle is a word that the real MPI never made: four bits, a generation, an
 * index. So a handle that is used after its completion is recognised. */
#include "mpi/strict/strict_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_rma.h"
#include "mpi/strict/strict_send.h"

enum {
    MARK = 5,
    MARK_SHIFT = 28,
    GENERATION_SHIFT = 16,
    GENERATION_MASK = 0xfff,
    INDEX_MASK = 0xffff,
    QUEUE_MIN = 64, /* free ones before one is used again */
};

static struct strict_request *table[INDEX_MASK + 1];
static uint32_t table_count;
static struct strict_request *free_first;
static struct strict_request *free_last;
static unsigned free_count;
static struct strict_request *active; /* oldest first */
static struct strict_request *active_last;

struct strict_request *strict_request_new(enum strict_kind kind)
{
    struct strict_request *request = free_first;
    uint32_t index = 0;
    uint32_t generation = 0;

    if (free_count > QUEUE_MIN || table_count > INDEX_MASK) {
        if (request == NULL)
            abort();
        free_first = request->next;
        free_count--;
    } else {
        request = calloc(1, sizeof(*request));
        if (request == NULL)
            abort();
        request->index = table_count;
        table[table_count++] = request;
    }
    index = request->index;
    generation = request->generation + 1;
    *request = (struct strict_request){.kind = kind,
        .index = index,
        .generation = generation & GENERATION_MASK,
        .call = strict_call(),
        .is_library = strict_is_library(),
        .real = MPI_REQUEST_NULL,
        .comm = MPI_COMM_NULL,
        .new_comm = MPI_COMM_NULL,
        .denials = strict_dice_upto(
            strict_choice(kind == STRICT_COLL ? STRICT_SLOW : STRICT_NOTYET))};
    if (kind == STRICT_COLL)
        request->denials += strict_stall_turns();
    request->prev = active_last;
    if (active_last == NULL)
        active = request;
    else
        active_last->next = request;
    active_last = request;
    return request;
}

MPI_Request strict_request_handle(const struct strict_request *request)
{
    uint32_t word = (uint32_t)MARK << MARK_SHIFT |
                    request->generation << GENERATION_SHIFT | request->index;
    MPI_Request handle;

    memset(&handle, 0, sizeof(handle));
    memcpy(&handle, &word, sizeof(word));
    return handle;
}

struct strict_request *strict_request_of(MPI_Request handle)
{
    struct strict_request *request = NULL;
    uint64_t word = 0;

    if (handle == MPI_REQUEST_NULL)
        return NULL;
    memcpy(&word, &handle, sizeof(handle));
    if (word >> MARK_SHIFT != MARK || (word & INDEX_MASK) >= table_count)
        return NULL;
    request = table[word & INDEX_MASK];
    if (request->kind == STRICT_FREE ||
        request->generation != (word >> GENERATION_SHIFT & GENERATION_MASK)) {
        strict_finding("request 0x%llx was complete or freed before",
            (unsigned long long)word);
        return NULL;
    }
    return request;
}

struct strict_request *strict_request_each(const struct strict_request *after)
{
    return after == NULL ? active : after->next;
}

void strict_request_drop(struct strict_request *request)
{
    if (request->prev == NULL)
        active = request->next;
    else
        request->prev->next = request->next;
    if (request->next == NULL)
        active_last = request->prev;
    else
        request->next->prev = request->prev;
    free(request->shadow);
    request->shadow = NULL;
    if (request->send != NULL)
        request->send->request = NULL;
    if (request->access != NULL)
        strict_access_forget(request->access);
    request->kind = STRICT_FREE;
    request->next = NULL;
    if (free_count == 0)
        free_first = request;
    else
        free_last->next = request;
    free_last = request;
    free_count++;
}

void strict_status_empty(MPI_Status *status)
{
    MPI_Request none = MPI_REQUEST_NULL;
    int flag = 0;

    (void)PMPI_Test(&none, &flag, status);
}

/* The oldest receive that matches a message gets it: those posted before this
 * one, which match what it received, must be complete. */
static void order_check(const struct strict_request *request)
{
    struct strict_request *older = NULL;
    int flag = 0;

    while ((older = strict_request_each(older)) != request) {
        if (older->kind != STRICT_RECV || older->is_done ||
            older->was_cancelled || older->comm != request->comm ||
            (older->peer != MPI_ANY_SOURCE &&
                older->peer != request->status.MPI_SOURCE) ||
            (older->tag != MPI_ANY_TAG &&
                older->tag != request->status.MPI_TAG))
            continue;
        flag = 1;
        (void)PMPI_Request_get_status(older->real, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            strict_finding("a message of rank %d with tag %d passed a receive "
                           "that was posted before",
                request->status.MPI_SOURCE, request->status.MPI_TAG);
    }
}

static void match_check(const struct strict_request *request)
{
    int is_cancelled = 0;
    int class = MPI_SUCCESS;

    PMPI_Test_cancelled(&request->status, &is_cancelled);
    if (is_cancelled)
        return;
    (void)PMPI_Error_class(request->error, &class);
    if (class == MPI_ERR_TRUNCATE)
        strict_finding("a message of rank %d with tag %d is longer than the "
                       "%zu bytes of its receive, by %s",
            request->status.MPI_SOURCE, request->status.MPI_TAG, request->len,
            request->call);
    if (request->error != MPI_SUCCESS || request->peer == MPI_PROC_NULL)
        return;
    if ((request->peer != MPI_ANY_SOURCE &&
            request->peer != request->status.MPI_SOURCE) ||
        (request->tag != MPI_ANY_TAG &&
            request->tag != request->status.MPI_TAG))
        strict_finding("a receive from rank %d with tag %d got a message of "
                       "rank %d with tag %d",
            request->peer, request->tag, request->status.MPI_SOURCE,
            request->status.MPI_TAG);
    order_check(request);
}

void strict_request_done(
    struct strict_request *request, const MPI_Status *status, int error)
{
    request->is_done = true;
    request->error = error;
    if (status != NULL)
        request->status = *status;
    else
        strict_status_empty(&request->status);
    if (error == MPI_SUCCESS &&
        (request->kind == STRICT_SEND || request->kind == STRICT_PUT))
        strict_watch_out_end(request);
    if (request->kind == STRICT_RECV && request->comm != MPI_COMM_NULL)
        match_check(request);
}

bool strict_request_peek(struct strict_request *request)
{
    MPI_Status status;
    int flag = 0;
    int rc = MPI_SUCCESS;

    if (request->is_done || request->kind == STRICT_SEND)
        return request->is_done || strict_send_is_done(request->send);
    if (request->access != NULL && !strict_access_is_passed(request->access))
        return false;
    strict_status_empty(&status);
    rc = PMPI_Test(&request->real, &flag, &status);
    if (rc != MPI_SUCCESS || flag)
        strict_request_done(request, &status, rc);
    return request->is_done;
}

int strict_request_finish(struct strict_request *request, MPI_Status *status)
{
    int error = request->error;

    if (status != MPI_STATUS_IGNORE) {
        int kept = status->MPI_ERROR;

        *status = request->status;
        status->MPI_ERROR = kept;
    }
    strict_watch_end(request);
    if (request->user_comm != NULL) {
        *request->user_comm = request->new_comm;
        strict_comm_made(request->new_comm, request->comm, request->call,
            request->is_library);
    }
    strict_request_drop(request);
    return error;
}

int strict_request_await(MPI_Request *real, MPI_Status *status)
{
    int flag = 0;

    for (;;) {
        int rc = PMPI_Test(real, &flag, status);

        if (rc != MPI_SUCCESS || flag)
            return rc;
        strict_pause();
    }
}

void strict_request_check_all(void)
{
    if (strict_choice(STRICT_LEAKS) == 0)
        return;
    for (uint32_t i = 0; i < table_count; i++)
        if (table[i]->kind != STRICT_FREE)
            strict_finding("a request that %s made, called by %s, was neither "
                           "completed nor freed",
                table[i]->call,
                table[i]->is_library ? "Amalgam" : "the program");
}
