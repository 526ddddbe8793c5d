/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that what one rank holds for all others is bounded in bytes, that it
 * uses the whole bound, and that each of them gets its part: all call rank 0 at
 * once, which answers only when it holds a request of each of them. */
#include <stdlib.h>

#include "ranks.h"

enum {
    CALLS = 64,      /* of each rank, at once */
    MESSAGE = 16384, /* the longest */
    FULL = 3,        /* rounds in which all use their credits: none is over */
    FAIR = 10,       /* rounds until credits have moved to those that wait */
    RANKS_MAX = 64,
};

static struct ranks all;
static hg_id_t call;
static hg_handle_t kept[RANKS_MAX * CALLS];
static unsigned kept_count;
static unsigned kept_of[RANKS_MAX];
static unsigned served_of[RANKS_MAX];
static unsigned bound;

static hg_return_t call_keep(hg_handle_t handle)
{
    ranks_echo_t in;

    OK(HG_Get_input(handle, &in));
    CHECK(in.from > 0 && in.from < all.size && kept_count < bound);
    kept_of[in.from]++;
    served_of[in.from]++;
    kept[kept_count++] = handle;
    return HG_Free_input(handle, &in);
}

static void calls_make(void)
{
    struct ranks_call calls[CALLS] = {{0}};
    ranks_echo_t in = {1, all.rank};

    for (int i = 0; i < CALLS; i++)
        OK(ranks_begin(&all, &calls[i], 0, call, &in));
    for (int i = 0; i < CALLS; i++) {
        OK(ranks_wait(&calls[i]));
        ranks_end(&calls[i]);
    }
}

/* A request of each rank that has not made all its calls. */
static bool has_one_of_each(void)
{
    for (int i = 1; i < all.size; i++)
        if (kept_of[i] == 0 && served_of[i] < CALLS)
            return false;
    return true;
}

static unsigned most_of_one(void)
{
    unsigned most = 0;

    for (int i = 1; i < all.size; i++)
        most = kept_of[i] > most ? kept_of[i] : most;
    return most;
}

static void kept_answer(void)
{
    unsigned count = kept_count;

    kept_count = 0;
    for (int i = 1; i < all.size; i++)
        kept_of[i] = 0;
    for (unsigned i = 0; i < count; i++) {
        OK(HG_Respond(kept[i], NULL, NULL, NULL));
        OK(HG_Destroy(kept[i]));
    }
}

static bool is_over(void)
{
    for (int i = 1; i < all.size; i++)
        if (served_of[i] < CALLS)
            return false;
    return true;
}

static void calls_serve(void)
{
    unsigned rounds = 0;

    while (!is_over()) {
        UNTIL(has_one_of_each());
        if (rounds < FULL)
            UNTIL(kept_count == bound);
        if (rounds == FAIR) {
            printf("round %u: %u requests, at most %u of one rank\n", rounds,
                kept_count, most_of_one());
            CHECK(most_of_one() <= bound / 4);
        }
        kept_answer();
        rounds++;
    }
    kept_answer();
    CHECK(rounds > CALLS / 4 && rounds < CALLS);
}

int main(void)
{
    const char *bytes = getenv("AMALGAM_MAX_REQUEST_BYTES");

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= RANKS_MAX && bytes != NULL);
    /* Half of it is the first credit of each, the other half is shared. */
    bound = (unsigned)(atoi(bytes) / MESSAGE / 2 + all.size - 1);
    call = MERCURY_REGISTER(all.cls, "call", ranks_echo_t, void, call_keep);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0)
        calls_serve();
    else
        calls_make();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
