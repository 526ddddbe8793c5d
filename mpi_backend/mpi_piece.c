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

hg_return_t amg_mpi_pieces_flush(const struct amg_mpi_pieces *pieces)
{
    int rc = MPI_Win_flush(pieces->rank, pieces->window);

    return rc == MPI_SUCCESS ? HG_SUCCESS
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
    MPI_Aint there = (MPI_Aint)(remote - pieces->origin);
    int rank = pieces->rank;
    int len = (int)piece->len;

    if (!pieces->is_put)
        return MPI_Rget(at, len, MPI_BYTE, rank, there, len, MPI_BYTE,
            pieces->window, &piece->request);
    if (piece->stage != NULL)
        memcpy(at, piece->user, piece->len);
    return MPI_Rput(at, len, MPI_BYTE, rank, there, len, MPI_BYTE,
        pieces->window, &piece->request);
}

/* Posts the next one, if it can be. */
static void piece_post_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_pieces *pieces, struct amg_mpi_piece *piece)
{
    uint64_t max = domain->piece_len;
    uint64_t remote = 0;
    int rc = MPI_SUCCESS;

    if (!stage_take(domain, pieces, piece))
        return;
    if (piece->stage != NULL && max > AMG_MPI_STAGE_LEN)
        max = AMG_MPI_STAGE_LEN;
    max = max < pieces->left ? max : pieces->left;
    piece->len = run_take(pieces, max, &piece->user, &remote);
    AMG_ASSERT(piece->len > 0);
    rc = piece_move(pieces, piece, remote);
    if (rc != MPI_SUCCESS) {
        pieces->ret = amg_mpi_comm_error(rc, "posting a piece to a window");
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
