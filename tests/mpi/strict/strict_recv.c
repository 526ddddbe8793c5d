/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives and probes. A probe may say "not yet" of a message that is there,
 * but not after it was seen: then the next matching probe or receive finds it.
 */
#include "mpi/strict/strict_dead.h"
#include "mpi/strict/strict_objects.h"
#include "mpi/strict/strict_request.h"
#include "mpi/strict/strict_send.h"

/* The message that the last successful probe has shown. */
static struct {
    MPI_Comm comm;
    int source;
    int tag;
    bool is_set;
} shown;
static unsigned denials; /* in a row */

static int recv_post(void *bytes, int count, MPI_Datatype type, int source,
    int tag, MPI_Comm comm, MPI_Request *ret_request)
{
    struct strict_request *request = NULL;
    MPI_Aint len = strict_type_len(type, count);
    void *at = bytes;
    int rc = strict_comm_fails(comm);

    strict_dead_count();
    strict_recv_check(tag, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    request = strict_request_new(STRICT_RECV);
    request->comm = comm;
    request->peer = source;
    request->tag = tag;
    if (len > 0)
        at = strict_watch_in(request, bytes, (size_t)len);
    rc = PMPI_Irecv(at, count, type, source, tag, comm, &request->real);
    if (rc != MPI_SUCCESS) {
        strict_watch_end(request);
        strict_request_drop(request);
        return rc;
    }
    shown.is_set = false;
    *ret_request = strict_request_handle(request);
    return MPI_SUCCESS;
}

static int request_wait(MPI_Request handle, MPI_Status *status)
{
    struct strict_request *request = strict_request_of(handle);

    strict_flush();
    while (!strict_request_peek(request))
        strict_pause();
    return strict_request_finish(request, status);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int source, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = recv_post(bytes, count, type, source, tag, comm, request);
    strict_leave();
    return rc;
}

int MPI_Recv(void *bytes, int count, MPI_Datatype type, int source, int tag,
    MPI_Comm comm, MPI_Status *status)
{
    MPI_Request handle = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = recv_post(bytes, count, type, source, tag, comm, &handle);
    if (rc == MPI_SUCCESS)
        rc = request_wait(handle, status);
    strict_leave();
    return rc;
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type,
    int dest, int out_tag, void *in, int in_count, MPI_Datatype in_type,
    int source, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Request recv = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = recv_post(in, in_count, in_type, source, in_tag, comm, &recv);
    if (rc == MPI_SUCCESS)
        rc = MPI_Isend(out, out_count, out_type, dest, out_tag, comm, &send);
    if (rc == MPI_SUCCESS)
        rc = request_wait(send, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = request_wait(recv, status);
    strict_leave();
    return rc;
}

/* Whether the probe may still hide the message that it found. */
static bool probe_hides(const MPI_Status *found, MPI_Comm comm)
{
    bool was_shown = shown.is_set && shown.comm == comm &&
                     shown.source == found->MPI_SOURCE &&
                     shown.tag == found->MPI_TAG;

    if (!was_shown && denials < strict_choice(STRICT_NOTYET) &&
        strict_dice_is(128)) {
        denials++;
        return true;
    }
    denials = 0;
    shown.is_set = false;
    return false;
}

static int probe(
    int source, int tag, MPI_Comm comm, int *ret_flag, MPI_Status *status)
{
    MPI_Status found;
    int rc = strict_comm_fails(comm);

    strict_recv_check(tag, comm);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Iprobe(source, tag, comm, ret_flag, &found);
    if (rc != MPI_SUCCESS || !*ret_flag)
        return rc;
    *ret_flag = !probe_hides(&found, comm);
    if (!*ret_flag)
        return MPI_SUCCESS;
    shown.comm = comm;
    shown.source = found.MPI_SOURCE;
    shown.tag = found.MPI_TAG;
    shown.is_set = true;
    if (status != MPI_STATUS_IGNORE)
        *status = found;
    return MPI_SUCCESS;
}

/* The message must not be taken from the real MPI before it is shown. */
static int mprobe(int source, int tag, MPI_Comm comm, int *ret_flag,
    MPI_Message *message, MPI_Status *status)
{
    MPI_Status found;
    int rc = strict_comm_fails(comm);

    strict_recv_check(tag, comm);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Iprobe(source, tag, comm, ret_flag, &found);
    if (rc == MPI_SUCCESS && *ret_flag)
        *ret_flag = !probe_hides(&found, comm);
    if (rc != MPI_SUCCESS || !*ret_flag)
        return rc;
    rc = PMPI_Improbe(source, tag, comm, ret_flag, message, status);
    if (rc == MPI_SUCCESS && *ret_flag)
        strict_object_add(
            STRICT_MESSAGE, strict_handle(message, sizeof(*message)));
    return rc;
}

int MPI_Iprobe(
    int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = probe(source, tag, comm, flag, status);
    strict_leave();
    return rc;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int flag = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    for (;;) {
        rc = probe(source, tag, comm, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            break;
        strict_pause();
    }
    strict_leave();
    return rc;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag,
    MPI_Message *message, MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = mprobe(source, tag, comm, flag, message, status);
    strict_leave();
    return rc;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
    MPI_Status *status)
{
    int flag = 0;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    for (;;) {
        rc = mprobe(source, tag, comm, &flag, message, status);
        if (rc != MPI_SUCCESS || flag)
            break;
        strict_pause();
    }
    strict_leave();
    return rc;
}

static int mrecv_post(void *bytes, int count, MPI_Datatype type,
    MPI_Message *message, MPI_Request *ret_request)
{
    struct strict_request *request = strict_request_new(STRICT_RECV);
    MPI_Aint len = strict_type_len(type, count);
    void *at = bytes;
    int rc = MPI_SUCCESS;

    strict_dead_count();
    strict_object_remove(
        STRICT_MESSAGE, strict_handle(message, sizeof(*message)));
    request->peer = MPI_ANY_SOURCE;
    request->tag = MPI_ANY_TAG;
    if (len > 0)
        at = strict_watch_in(request, bytes, (size_t)len);
    rc = PMPI_Imrecv(at, count, type, message, &request->real);
    if (rc != MPI_SUCCESS) {
        strict_watch_end(request);
        strict_request_drop(request);
        return rc;
    }
    *ret_request = strict_request_handle(request);
    return MPI_SUCCESS;
}

int MPI_Imrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message,
    MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = mrecv_post(bytes, count, type, message, request);
    strict_leave();
    return rc;
}

int MPI_Mrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message,
    MPI_Status *status)
{
    MPI_Request handle = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = mrecv_post(bytes, count, type, message, &handle);
    if (rc == MPI_SUCCESS)
        rc = request_wait(handle, status);
    strict_leave();
    return rc;
}
