/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: they wait here for some calls of MPI, and may pass one another.
 *
 * Two messages to one rank leave in their order if one receive could match
 * both: those of one communicator and tag, and all of a communicator on which
 * somebody here receives any tag. MPI guarantees no order between others. A
 * send that waits may be complete for its caller: then its bytes are copied. */
#include "mpi/strict/strict_send.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/strict/strict.h"
#include "mpi/strict/strict_dead.h"
#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_request.h"

enum { EARLY_LEN_MAX = 65536 };

static struct strict_send *sends; /* in the order of their calls */
static struct strict_send **sends_last = &sends;
static uint64_t moved_at; /* strict_calls, when they were last looked at */

static bool is_before(
    const struct strict_send *one, const struct strict_send *other)
{
    unsigned overtake = strict_choice(STRICT_OVERTAKE);

    if (one->dest != other->dest)
        return false;
    if (overtake == 0)
        return true;
    if (one->comm != other->comm)
        return false;
    return one->tag == other->tag || overtake == 1 ||
           strict_comm_is_wild(one->comm);
}

static bool is_lost(const struct strict_send *send)
{
    return send->may_die && strict_dead_is_now();
}

/* Complete, as far as anybody can see. The real MPI may have the copy. */
static void send_lose(struct strict_send *send)
{
    if (send->real != MPI_REQUEST_NULL)
        send->copy = NULL;
    send->real = MPI_REQUEST_NULL;
    if (send->request != NULL && !send->request->is_done)
        strict_request_done(send->request, NULL, MPI_SUCCESS);
}

static void send_pass(struct strict_send *send)
{
    int rc = MPI_SUCCESS;

    if (send->is_passed)
        return;
    send->is_passed = true;
    if (is_lost(send)) {
        send_lose(send);
        return;
    }
    rc = (send->is_sync ? PMPI_Issend : PMPI_Isend)(send->bytes, send->count,
        send->type, send->dest, send->tag, send->comm, &send->real);
    if (rc == MPI_SUCCESS)
        return;
    send->real = MPI_REQUEST_NULL;
    if (send->request != NULL && !send->request->is_done)
        strict_request_done(send->request, NULL, rc);
}

/* Passes on those that must leave before it, then itself. */
static void send_pass_after(struct strict_send *send)
{
    for (struct strict_send *one = sends; one != send; one = one->next)
        if (!one->is_passed && is_before(one, send))
            send_pass(one);
    send_pass(send);
}

static bool has_older(const struct strict_send *send)
{
    for (const struct strict_send *one = sends; one != send; one = one->next)
        if (!one->is_passed && is_before(one, send))
            return true;
    return false;
}

bool strict_send_is_done(struct strict_send *send)
{
    MPI_Status status;
    int flag = 0;
    int rc = MPI_SUCCESS;

    if (!send->is_passed)
        return false;
    if (send->real == MPI_REQUEST_NULL)
        return true;
    strict_status_empty(&status);
    rc = PMPI_Test(&send->real, &flag, &status);
    if (rc == MPI_SUCCESS && !flag && is_lost(send)) {
        send_lose(send);
        return true;
    }
    if (rc == MPI_SUCCESS && !flag)
        return false;
    send->real = MPI_REQUEST_NULL;
    if (send->request != NULL && !send->request->is_done)
        strict_request_done(send->request, &status, rc);
    return true;
}

/* Removes those that are complete for both sides. */
static void sends_reap(void)
{
    struct strict_send **at = &sends;

    while (*at != NULL) {
        struct strict_send *send = *at;

        if (!strict_send_is_done(send) || (send->request != NULL)) {
            at = &send->next;
            continue;
        }
        *at = send->next;
        if (sends_last == &send->next)
            sends_last = at;
        free(send->copy);
        free(send);
    }
}

void strict_send_move(void)
{
    if (sends == NULL || moved_at == strict_calls)
        return;
    moved_at = strict_calls;
    for (struct strict_send *send = sends; send != NULL; send = send->next)
        if (!send->is_passed && send->due <= strict_calls && !has_older(send))
            send_pass(send);
    sends_reap();
}

void strict_send_flush(void)
{
    for (struct strict_send *send = sends; send != NULL; send = send->next)
        send_pass(send);
}

MPI_Request *strict_send_pass(struct strict_send *send)
{
    send_pass_after(send);
    return &send->real;
}

void strict_send_end(void)
{
    strict_send_flush();
    sends_reap();
    for (struct strict_send *send = sends; send != NULL; send = send->next)
        if (send->real != MPI_REQUEST_NULL && send->request == NULL)
            (void)PMPI_Request_free(&send->real);
}

static void tag_check(int tag)
{
    if (tag > STRICT_TAG_MAX)
        strict_finding(
            "tag %d is above MPI_TAG_UB, %d", tag, (int)STRICT_TAG_MAX);
}

void strict_recv_check(int tag, MPI_Comm comm)
{
    tag_check(tag);
    strict_comm_check(comm);
    if (tag == MPI_ANY_TAG)
        strict_comm_set_wild(comm);
}

static struct strict_send *send_add(struct strict_request *request,
    const void *bytes, int count, MPI_Datatype type, MPI_Comm comm)
{
    struct strict_send *send = calloc(1, sizeof(*send));

    if (send == NULL)
        abort();
    *send = (struct strict_send){.request = request,
        .comm = comm,
        .type = type,
        .bytes = bytes,
        .count = count,
        .due = strict_calls + strict_dice_upto(strict_choice(STRICT_DELAY)),
        .real = MPI_REQUEST_NULL};
    *sends_last = send;
    sends_last = &send->next;
    return send;
}

static void send_copy(struct strict_send *send, size_t len)
{
    if (send->copy != NULL)
        return;
    send->copy = malloc(len > 0 ? len : 1);
    if (send->copy == NULL)
        abort();
    if (len > 0)
        memcpy(send->copy, send->bytes, len);
    send->bytes = send->copy;
}

/* Complete for the caller, who may change the bytes. */
static void send_finish_early(struct strict_send *send, size_t len)
{
    send_copy(send, len);
    strict_request_done(send->request, NULL, MPI_SUCCESS);
}

static int send_post(const void *bytes, int count, MPI_Datatype type, int dest,
    int tag, MPI_Comm comm, bool is_sync, MPI_Request *ret_request)
{
    struct strict_request *request = NULL;
    struct strict_send *send = NULL;
    MPI_Aint len = 0;
    int rc = strict_comm_fails(comm);

    strict_dead_count();
    tag_check(tag);
    strict_comm_check(comm);
    if (rc != MPI_SUCCESS)
        return rc;
    len = strict_type_len(type, count);
    request = strict_request_new(STRICT_SEND);
    request->comm = comm;
    request->peer = dest;
    request->tag = tag;
    if (len > 0)
        strict_watch_out(request, bytes, (size_t)len);
    send = send_add(request, bytes, count, type, comm);
    send->dest = dest;
    send->tag = tag;
    send->is_sync = is_sync;
    request->send = send;
    send->may_die = strict_dead_may_be(comm, dest);
    if (send->may_die && len >= 0)
        send_copy(send, (size_t)len);
    if (send->due <= strict_calls && !has_older(send))
        send_pass(send);
    else if (!is_sync && len >= 0 && len <= EARLY_LEN_MAX &&
             strict_dice_is(strict_choice(STRICT_EARLY)))
        send_finish_early(send, (size_t)len);
    if (request->is_done && request->error != MPI_SUCCESS) {
        rc = request->error;
        strict_request_drop(request);
        return rc;
    }
    *ret_request = strict_request_handle(request);
    return MPI_SUCCESS;
}

/* Posts, and waits: all leaves. */
static int send_wait(const void *bytes, int count, MPI_Datatype type, int dest,
    int tag, MPI_Comm comm, bool is_sync)
{
    MPI_Request handle = MPI_REQUEST_NULL;
    struct strict_request *request = NULL;
    int rc = send_post(bytes, count, type, dest, tag, comm, is_sync, &handle);

    if (rc != MPI_SUCCESS)
        return rc;
    strict_flush();
    request = strict_request_of(handle);
    while (!strict_request_peek(request))
        strict_pause();
    return strict_request_finish(request, MPI_STATUS_IGNORE);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int dest,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = send_post(bytes, count, type, dest, tag, comm, false, request);
    strict_leave();
    return rc;
}

int MPI_Issend(const void *bytes, int count, MPI_Datatype type, int dest,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = send_post(bytes, count, type, dest, tag, comm, true, request);
    strict_leave();
    return rc;
}

int MPI_Send(const void *bytes, int count, MPI_Datatype type, int dest, int tag,
    MPI_Comm comm)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = send_wait(bytes, count, type, dest, tag, comm, false);
    strict_leave();
    return rc;
}

int MPI_Ssend(const void *bytes, int count, MPI_Datatype type, int dest,
    int tag, MPI_Comm comm)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = send_wait(bytes, count, type, dest, tag, comm, true);
    strict_leave();
    return rc;
}
