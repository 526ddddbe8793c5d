/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of another node has one address, whoever begins: a rank that hears
 * from it before it calls, one that calls first, and several threads that call
 * at the same moment. */
#include <pthread.h>
#include <string.h>

#include "ranks.h"

enum { TEXT_CAP = 128, THREADS = 4, ROUNDS = 20 };

MERCURY_GEN_PROC(greet_t, ((int32_t)(rank)))

static struct ranks all;
static hg_addr_t heard[64]; /* by rank: the origin of its call */
static hg_addr_t found[THREADS];
static pthread_barrier_t start;
static int wanted;

static hg_return_t greet_serve(hg_handle_t handle)
{
    greet_t in;
    int rank = -1;

    OK(HG_Get_input(handle, &in));
    OK(amalgam_addr_get_rank(all.cls, HG_Get_info(handle)->addr, &rank));
    CHECK(rank == in.rank && heard[rank] == HG_ADDR_NULL);
    OK(HG_Addr_dup(all.cls, HG_Get_info(handle)->addr, &heard[rank]));
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void greet(hg_id_t id, int rank)
{
    greet_t in = {all.rank};
    struct ranks_call call;

    OK(ranks_begin(&all, &call, rank, id, &in));
    OK(ranks_wait(&call));
    ranks_end(&call);
}

/* Origin of a call and address of the rank agree, in both orders. */
static void heard_check(int rank)
{
    char heard_text[TEXT_CAP];
    char named_text[TEXT_CAP];
    hg_size_t len = TEXT_CAP;
    hg_addr_t named = HG_ADDR_NULL;

    CHECK(heard[rank] != HG_ADDR_NULL);
    OK(amalgam_addr_rank(all.cls, rank, &named));
    CHECK(HG_Addr_cmp(all.cls, heard[rank], named));
    CHECK(HG_Addr_cmp(all.cls, named, heard[rank]));
    OK(HG_Addr_to_string(all.cls, heard_text, &len, heard[rank]));
    len = TEXT_CAP;
    OK(HG_Addr_to_string(all.cls, named_text, &len, named));
    CHECK(strcmp(heard_text, named_text) == 0);
    OK(HG_Addr_free(all.cls, named));
    OK(HG_Addr_free(all.cls, heard[rank]));
    heard[rank] = HG_ADDR_NULL;
}

static void *rank_find(void *arg)
{
    hg_addr_t *ret_addr = arg;

    pthread_barrier_wait(&start);
    OK(amalgam_addr_rank(all.cls, wanted, ret_addr));
    return NULL;
}

/* All threads of this rank look up one that it never called. */
static void threads_check(int rank)
{
    pthread_t threads[THREADS];

    wanted = rank;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, rank_find, &found[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        int other = -1;

        CHECK(HG_Addr_cmp(all.cls, found[0], found[i]));
        OK(amalgam_addr_get_rank(all.cls, found[i], &other));
        CHECK(other == rank);
    }
    for (int i = 0; i < THREADS; i++)
        OK(HG_Addr_free(all.cls, found[i]));
}

/* A class before any call. */
static hg_id_t open_fresh(void)
{
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= (int)(sizeof(heard) / sizeof(heard[0])));
    return MERCURY_REGISTER(all.cls, "greet", greet_t, void, greet_serve);
}

/* The upper half of the ranks calls the lower half, which calls back
 * afterwards. */
static void hear_first(void)
{
    hg_id_t id = open_fresh();
    bool is_upper = all.rank >= all.size / 2;

    ranks_meet(MPI_COMM_WORLD);
    for (int rank = 0; is_upper && rank < all.size / 2; rank++)
        greet(id, rank);
    ranks_meet(MPI_COMM_WORLD);
    for (int rank = all.size / 2; !is_upper && rank < all.size; rank++) {
        heard_check(rank);
        greet(id, rank);
    }
    ranks_meet(MPI_COMM_WORLD);
    for (int rank = 0; is_upper && rank < all.size / 2; rank++)
        heard_check(rank);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
}

/* All look up all at once, in many threads, and are called meanwhile. */
static void find_at_once(void)
{
    hg_id_t id = open_fresh();

    ranks_meet(MPI_COMM_WORLD);
    for (int i = 1; i < all.size; i++)
        threads_check((all.rank + i) % all.size);
    for (int i = 1; i < all.size; i++)
        greet(id, (all.rank + i) % all.size);
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 1; i < all.size; i++)
        heard_check((all.rank + i) % all.size);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    CHECK(pthread_barrier_init(&start, NULL, THREADS) == 0);
    hear_first();
    for (int i = 0; i < ROUNDS; i++)
        find_at_once();
    pthread_barrier_destroy(&start);
    return ranks_stop();
}
