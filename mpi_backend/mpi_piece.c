/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that one put or get moves through a window.
 *
 * A piece is one run of bytes that is whole on both sides. MPI cannot cancel
 * it. What is direct goes from and into the user's memory, which MPI uses until
 * the request has ended; other pieces go through memory of ours, so that the
 * user may have his back at any time. */
#include "mpi_backend/mpi_piece.h"

#include <string.h>

#include "base/assert.h"
#include "mpi_backend/mpi_user_window.h"

void amg_mpi_pieces_init(struct amg_mpi_pieces *pieces,
    const struct amg_place *local, const struct amg_place *remote, uint64_t len)
{
    memset(pieces, 0, sizeof(*pieces));
    pieces->local = *local;
    pieces->remote = *remote;
    pieces->left = len;
    pieces->ret = HG_SUCCESS;
    for (unsigned i = 0; i < AMG_MPI_PIECES; i++)
        pieces->pieces[i].request = MPI_REQUEST_NULL;
}

bool amg_mpi_request_is_done(MPI_Request *request, hg_return_t *ret)
{
    int flag = 0;
    int rc = MPI_Test(request, &flag, MPI_STATUS_IGNORE);

    if (rc == MPI_SUCCESS)
        return flag != 0;
    *request = MPI_REQUEST_NULL;
    *ret = amg_mpi_comm_error(rc, "moving data by a window");
    return true;
}

/* The next run that is whole on both sides, at most `max`. Attached regions may
 * touch, and one operation must not reach into two: there, segments are not
 * joined. */
static uint64_t run_take(struct amg_mpi_pieces *pieces, uint64_t max,
    void **ret_local, uint64_t *ret_remote)
{
    struct amg_place there = pieces->remote;
    struct amg_place here = pieces->local;
    void *remote = NULL;
    uint64_t run = amg_place_take(&there, 1, &remote); /* now in its segment */

    if (run == 0)
        return 0;
    there.into--;
    run = max;
    if (pieces->way == AMG_MPI_WAY_DYNAMIC &&
        run > there.segments[there.segment].len - there.into)
        run = there.segments[there.segment].len - there.into;
    run = amg_place_take(&there, run, &remote);
    run = amg_place_take(&here, run, ret_local);
    *ret_remote = (uintptr_t)remote;
    amg_place_skip(&pieces->remote, run);
    amg_place_skip(&pieces->local, run);
    return run;
}

/* A displacement counts units: pieces begin at whole ones, or there are none
 * that could be moved. */
static bool units_fit(
    const struct amg_mpi_domain *domain, const struct amg_mpi_pieces *pieces)
{
    struct amg_place there = pieces->remote;
    void *at = NULL;

    if (pieces->unit == 1)
        return true;
    return pieces->unit > 0 && amg_place_take(&there, pieces->left, &at) > 0 &&
           ((uintptr_t)at - pieces->origin) % pieces->unit == 0 &&
           amg_place_is_whole(&pieces->remote, pieces->left) &&
           amg_place_is_whole(&pieces->local, pieces->left) &&
           domain->piece_len % pieces->unit == 0 &&
           AMG_MPI_STAGE_LEN % pieces->unit == 0;
}

hg_return_t amg_mpi_pieces_aim_locked(const struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, const uint64_t words[AMG_MPI_ENTRY_WORDS])
{
    uint64_t window = words[AMG_MPI_ENTRY_WINDOW];
    const struct amg_mpi_user_window *theirs = NULL;

    pieces->origin = words[AMG_MPI_ENTRY_ORIGIN];
    pieces->window = domain->rma->windows->ways[pieces->way];
    pieces->window_rank = pieces->rank;
    pieces->unit = 1;
    if (pieces->way != AMG_MPI_WAY_PROGRAM)
        return HG_SUCCESS;
    theirs = amg_mpi_user_window_find_locked(domain, (uint32_t)window);
    if (theirs == NULL || theirs->ranks[pieces->rank] == MPI_UNDEFINED)
        return HG_OPNOTSUPPORTED;
    pieces->window = theirs->win;
    pieces->window_rank = theirs->ranks[pieces->rank];
    pieces->unit = (uint32_t)(window >> 32);
    return units_fit(domain, pieces) ? HG_SUCCESS : HG_OPNOTSUPPORTED;
}

hg_return_t amg_mpi_pieces_flush(const struct amg_mpi_pieces *pieces)
{
    bool is_theirs = pieces->way == AMG_MPI_WAY_PROGRAM;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int rc = MPI_SUCCESS;

    if (pieces->window == MPI_WIN_NULL)
        return HG_SUCCESS; /* first its epoch had to end, which flushes */
    if (is_theirs)
        handler = amg_mpi_user_window_begin(pieces->window);
    rc = MPI_Win_flush(pieces->window_rank, pieces->window);
    if (is_theirs)
        amg_mpi_user_window_end(pieces->window, handler);
    if (rc == MPI_SUCCESS)
        return HG_SUCCESS;
    return is_theirs ? HG_OPNOTSUPPORTED
                     : amg_mpi_comm_error(rc, "flushing a window");
}

/* Memory of ours for the piece, where it needs some. False: not now. */
static bool stage_take(struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, struct amg_mpi_piece *piece)
{
    bool is_needed = pieces->in_motion == 0;

    piece->stage = NULL;
    if (pieces->is_direct)
        return true;
    piece->stage = amg_mpi_stage_get(&domain->stages, is_needed);
    if (piece->stage == NULL && is_needed)
        pieces->ret = HG_NOMEM;
    return piece->stage != NULL;
}

static int piece_move(const struct amg_mpi_pieces *pieces,
    struct amg_mpi_piece *piece, uint64_t remote)
{
    void *at = piece->stage != NULL ? piece->stage->bytes : piece->user;
    MPI_Aint there = (MPI_Aint)((remote - pieces->origin) / pieces->unit);
    int rank = pieces->window_rank;
    int len = (int)piece->len;

    if (!pieces->is_put)
        return MPI_Rget(at, len, MPI_BYTE, rank, there, len, MPI_BYTE,
            pieces->window, &piece->request);
    if (piece->stage != NULL)
        memcpy(at, piece->user, piece->len);
    return MPI_Rput(at, len, MPI_BYTE, rank, there, len, MPI_BYTE,
        pieces->window, &piece->request);
}

/* The same, with the errors of a window of the program coming back to us. */
static hg_return_t piece_begin(const struct amg_mpi_pieces *pieces,
    struct amg_mpi_piece *piece, uint64_t remote)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int rc = MPI_SUCCESS;

    if (pieces->way != AMG_MPI_WAY_PROGRAM) {
        rc = piece_move(pieces, piece, remote);
        return rc == MPI_SUCCESS
                   ? HG_SUCCESS
                   : amg_mpi_comm_error(rc, "posting a piece to a window");
    }
    if (pieces->window == MPI_WIN_NULL)
        return HG_OPNOTSUPPORTED; /* the program freed it */
    handler = amg_mpi_user_window_begin(pieces->window);
    rc = piece_move(pieces, piece, remote);
    amg_mpi_user_window_end(pieces->window, handler);
    return rc == MPI_SUCCESS ? HG_SUCCESS : HG_OPNOTSUPPORTED; /* no epoch */
}

/* Posts the next one, if it can be. */
static void piece_post_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, struct amg_mpi_piece *piece)
{
    uint64_t max = domain->piece_len;
    uint64_t remote = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!stage_take(domain, pieces, piece))
        return;
    if (piece->stage != NULL && max > AMG_MPI_STAGE_LEN)
        max = AMG_MPI_STAGE_LEN;
    max = max < pieces->left ? max : pieces->left;
    piece->len = run_take(pieces, max, &piece->user, &remote);
    AMG_ASSERT(piece->len > 0);
    rc = piece_begin(pieces, piece, remote);
    if (rc != HG_SUCCESS) {
        pieces->ret = rc;
        piece->request = MPI_REQUEST_NULL;
        if (piece->stage != NULL)
            amg_mpi_stage_put(&domain->stages, piece->stage);
        return;
    }
    pieces->left -= piece->len;
    pieces->in_motion++;
    pieces->lane->in_motion++;
}

static void piece_end_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, struct amg_mpi_piece *piece, bool is_wanted)
{
    if (piece->stage != NULL) {
        if (!pieces->is_put && is_wanted && pieces->ret == HG_SUCCESS)
            memcpy(piece->user, piece->stage->bytes, piece->len);
        amg_mpi_stage_put(&domain->stages, piece->stage);
    }
    piece->is_done = false;
    pieces->done += piece->len;
    pieces->in_motion--;
    pieces->lane->in_motion--;
}

/* Is there more to post, now or later? */
static bool pieces_go_on(const struct amg_mpi_pieces *pieces, bool is_wanted)
{
    return is_wanted && pieces->left > 0 && pieces->ret == HG_SUCCESS;
}

void amg_mpi_pieces_move_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, bool is_wanted)
{
    for (unsigned i = 0; i < AMG_MPI_PIECES; i++) {
        struct amg_mpi_piece *piece = &pieces->pieces[i];

        if (piece->is_done)
            piece_end_locked(domain, pieces, piece, is_wanted);
        /* Who wants to flush waits until nothing is in motion. */
        if (piece->request == MPI_REQUEST_NULL &&
            pieces_go_on(pieces, is_wanted) && pieces->lane->wishes == 0)
            piece_post_locked(domain, pieces, piece);
    }
}

void amg_mpi_pieces_look_add(
    struct amg_mpi_pieces_look *look, struct amg_mpi_pieces *pieces)
{
    for (unsigned i = 0; i < AMG_MPI_PIECES; i++) {
        struct amg_mpi_piece *piece = &pieces->pieces[i];

        if (piece->request == MPI_REQUEST_NULL)
            continue;
        if (look->count == AMG_MPI_PIECES_LOOK) {
            amg_mpi_pieces_look_end(look);
            look->count = 0;
        }
        look->requests[look->count] = piece->request;
        look->pieces[look->count] = piece;
        look->owners[look->count] = pieces;
        look->count++;
    }
}

void amg_mpi_pieces_look_end(struct amg_mpi_pieces_look *look)
{
    for (int i = 0; i < look->count; i++) {
        int flag = 0;
        int at = MPI_UNDEFINED;
        int rc = MPI_Testany(
            look->count, look->requests, &at, &flag, MPI_STATUS_IGNORE);

        if (rc == MPI_SUCCESS && !flag)
            return;
        if (at == MPI_UNDEFINED)
            return;
        if (rc != MPI_SUCCESS)
            look->owners[at]->ret =
                amg_mpi_comm_error(rc, "moving data by a window");
        look->requests[at] = MPI_REQUEST_NULL;
        look->pieces[at]->request = MPI_REQUEST_NULL;
        look->pieces[at]->is_done = true;
    }
}

bool amg_mpi_pieces_are_over(
    const struct amg_mpi_pieces *pieces, bool is_wanted)
{
    return pieces->in_motion == 0 && !pieces_go_on(pieces, is_wanted);
}
