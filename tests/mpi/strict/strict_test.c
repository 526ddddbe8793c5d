/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests and waits. A test may say "not yet" of what is complete, and
 * MPI_Testsome may leave some out; a wait passes on all sends first. Requests
 * that the real MPI made (persistent ones) are given to it. */
#include <stdlib.h>

#include "mpi/strict/strict_request.h"
#include "mpi/strict/strict_rma.h"
#include "mpi/strict/strict_send.h"

/* What a user's handle stands for now. */
enum verdict { NONE, WAITS, COMPLETE };

/* `is_wait`: nothing that is complete is hidden. */
static enum verdict look(MPI_Request handle, bool is_wait)
{
    struct strict_request *request = strict_request_of(handle);
    int flag = 0;

    if (handle == MPI_REQUEST_NULL)
        return NONE;
    if (request == NULL) {
        (void)PMPI_Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
        return flag ? COMPLETE : WAITS;
    }
    if (!strict_request_peek(request))
        return WAITS;
    if (is_wait || request->denials == 0)
        return COMPLETE;
    request->denials--;
    return WAITS;
}

/* Of a complete one. */
static int take(MPI_Request *handle, MPI_Status *status)
{
    struct strict_request *request = strict_request_of(*handle);
    int flag = 0;

    if (request == NULL)
        return PMPI_Test(handle, &flag, status);
    *handle = MPI_REQUEST_NULL;
    return strict_request_finish(request, status);
}

static MPI_Status *status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

static void status_clear(MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE)
        strict_status_empty(status);
}

int MPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    int rc = MPI_SUCCESS;
    enum verdict verdict = NONE;

    STRICT_ENTER();
    verdict = look(*handle, false);
    *flag = verdict != WAITS;
    if (verdict == NONE)
        status_clear(status);
    if (verdict == COMPLETE)
        rc = take(handle, status);
    strict_leave();
    return rc;
}

int MPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    int rc = MPI_SUCCESS;
    enum verdict verdict = NONE;

    STRICT_ENTER();
    strict_flush();
    while ((verdict = look(*handle, true)) == WAITS)
        strict_pause();
    if (verdict == NONE)
        status_clear(status);
    else
        rc = take(handle, status);
    strict_leave();
    return rc;
}

int MPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    struct strict_request *request = NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    request = strict_request_of(handle);
    if (request == NULL) {
        rc = PMPI_Request_get_status(handle, flag, status);
    } else {
        *flag = look(handle, false) == COMPLETE;
        if (*flag && status != MPI_STATUS_IGNORE)
            *status = request->status;
    }
    strict_leave();
    return rc;
}

/* The code of the one at `i`. MPI sets codes only if one is not MPI_SUCCESS. */
static void error_note(MPI_Status *statuses, int i, int code, int *rc)
{
    if (code == MPI_SUCCESS && *rc == MPI_SUCCESS)
        return;
    if (statuses != MPI_STATUSES_IGNORE) {
        for (int one = 0; *rc == MPI_SUCCESS && one < i; one++)
            statuses[one].MPI_ERROR = MPI_SUCCESS;
        statuses[i].MPI_ERROR = code;
    }
    *rc = MPI_ERR_IN_STATUS;
}

/* Takes all that are complete. Returns MPI_ERR_IN_STATUS if one has failed. */
static int take_all(int count, MPI_Request *handles, MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        MPI_Status *status = status_at(statuses, i);
        int one = MPI_SUCCESS;

        if (handles[i] == MPI_REQUEST_NULL)
            status_clear(status);
        else
            one = take(&handles[i], status);
        error_note(statuses, i, one, &rc);
    }
    return rc;
}

static bool all_are(int count, const MPI_Request *handles, bool is_wait)
{
    bool are_all = true;

    for (int i = 0; i < count; i++)
        are_all = look(handles[i], is_wait) != WAITS && are_all;
    return are_all;
}

int MPI_Testall(
    int count, MPI_Request *handles, int *flag, MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    *flag = all_are(count, handles, false);
    if (*flag)
        rc = take_all(count, handles, statuses);
    strict_leave();
    return rc;
}

int MPI_Waitall(int count, MPI_Request *handles, MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    while (!all_are(count, handles, true))
        strict_pause();
    rc = take_all(count, handles, statuses);
    strict_leave();
    return rc;
}

/* Takes one that is complete, drawn among them. MPI_UNDEFINED: none is; then
 * `ret_has_some` says whether any waits. */
static int take_any(int count, MPI_Request *handles, bool is_wait,
    MPI_Status *status, bool *ret_has_some, int *ret_rc)
{
    int start = count > 0 ? (int)(strict_dice() % (unsigned)count) : 0;

    *ret_has_some = false;
    if (strict_choice(STRICT_SUBSET) == 0)
        start = 0;
    for (int i = 0; i < count; i++) {
        int at = (start + i) % count;
        enum verdict verdict = look(handles[at], is_wait);

        *ret_has_some = *ret_has_some || verdict == WAITS;
        if (verdict != COMPLETE)
            continue;
        *ret_rc = take(&handles[at], status);
        return at;
    }
    return MPI_UNDEFINED;
}

int MPI_Testany(
    int count, MPI_Request *handles, int *index, int *flag, MPI_Status *status)
{
    int rc = MPI_SUCCESS;
    bool has_some = false;

    STRICT_ENTER();
    *index = take_any(count, handles, false, status, &has_some, &rc);
    *flag = *index != MPI_UNDEFINED || !has_some;
    if (*index == MPI_UNDEFINED && *flag)
        status_clear(status);
    strict_leave();
    return rc;
}

int MPI_Waitany(int count, MPI_Request *handles, int *index, MPI_Status *status)
{
    int rc = MPI_SUCCESS;
    bool has_some = false;

    STRICT_ENTER();
    strict_flush();
    for (;;) {
        *index = take_any(count, handles, true, status, &has_some, &rc);
        if (*index != MPI_UNDEFINED || !has_some)
            break;
        strict_pause();
    }
    if (*index == MPI_UNDEFINED)
        status_clear(status);
    strict_leave();
    return rc;
}

/* Takes complete ones; some may be left out, in a test. */
static int take_some(int count, MPI_Request *handles, bool is_wait,
    int *ret_count, int *indices, MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;
    bool has_some = false;

    *ret_count = 0;
    for (int i = 0; i < count; i++) {
        enum verdict verdict = look(handles[i], is_wait);
        MPI_Status *status = status_at(statuses, *ret_count);
        int one = MPI_SUCCESS;

        has_some = has_some || verdict != NONE;
        if (verdict != COMPLETE ||
            (!is_wait && strict_dice_is(strict_choice(STRICT_SUBSET))))
            continue;
        one = take(&handles[i], status);
        error_note(statuses, *ret_count, one, &rc);
        indices[(*ret_count)++] = i;
    }
    if (!has_some)
        *ret_count = MPI_UNDEFINED;
    return rc;
}

int MPI_Testsome(int count, MPI_Request *handles, int *done, int *indices,
    MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    rc = take_some(count, handles, false, done, indices, statuses);
    strict_leave();
    return rc;
}

int MPI_Waitsome(int count, MPI_Request *handles, int *done, int *indices,
    MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    strict_flush();
    for (;;) {
        rc = take_some(count, handles, true, done, indices, statuses);
        if (*done != 0)
            break;
        strict_pause();
    }
    strict_leave();
    return rc;
}

int MPI_Cancel(MPI_Request *handle)
{
    struct strict_request *request = NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    request = strict_request_of(*handle);
    if (request == NULL) {
        rc = PMPI_Cancel(handle);
    } else if (request->kind != STRICT_SEND && request->kind != STRICT_RECV) {
        strict_finding("only sends and receives can be cancelled");
    } else if (!request->is_done) {
        MPI_Request *real = request->kind == STRICT_SEND
                                ? strict_send_pass(request->send)
                                : &request->real;

        request->was_cancelled = true;
        rc = *real == MPI_REQUEST_NULL ? MPI_SUCCESS : PMPI_Cancel(real);
    }
    strict_leave();
    return rc;
}

/* A send goes on; MPI would complete any other one that nobody can see. */
int MPI_Request_free(MPI_Request *handle)
{
    struct strict_request *request = NULL;
    int rc = MPI_SUCCESS;

    STRICT_ENTER();
    request = strict_request_of(*handle);
    if (request == NULL) {
        rc = PMPI_Request_free(handle);
    } else if (request->kind == STRICT_SEND) {
        strict_request_drop(request);
        *handle = MPI_REQUEST_NULL;
    } else {
        strict_finding("a request of %s is freed before completion, which its "
                       "memory cannot bear",
            request->call);
    }
    strict_leave();
    return rc;
}
