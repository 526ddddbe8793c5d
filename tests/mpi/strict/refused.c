/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of MPI by the library fails, at the rank and the call that the seed
 * draws: `refused FIRST LAST` runs a class for each seed. Every call of Amalgam
 * ends by itself, once; one that ends well was served, and a line of the log
 * says why another one did not. Then the class closes. A probe that fails is
 * only repeated. */
#include <stdlib.h>

#include "../exposed.h"
#include "strict.h"

enum { CALLS = 24, RANKS_MOST = 4, LEN = 300000 };

static const char fail_at_most[] = "250";
static struct ranks all;
static unsigned char bytes[2][LEN];   /* exposed, and transferred */
static atomic_int served[RANKS_MOST]; /* calls here, by origin */

static hg_return_t serve(hg_handle_t handle)
{
    ranks_echo_t in;
    hg_return_t rc = HG_Get_input(handle, &in);

    OK(rc);
    atomic_fetch_add(&served[in.from], 1);
    (void)HG_Respond(handle, NULL, NULL, &in);
    OK(HG_Free_input(handle, &in));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

/* Decisions of the next phase. All ranks are here. */
static void reseed(const char *fail, unsigned long long seed)
{
    setenv(STRICT_ENV_PREFIX "FAIL", fail, 1);
    MPI_Pcontrol(STRICT_RESEED, seed);
}

/* Makes calls to all others, and counts those that end well, by target. Returns
 * how many failed. */
static int calls_make(hg_id_t id, int *ret_good)
{
    static struct ranks_call calls[CALLS];
    int bad = 0;

    for (int i = 0; i < CALLS; i++) {
        int rank = (all.rank + 1 + i % (all.size - 1)) % all.size;
        ranks_echo_t in = {(uint64_t)i, all.rank};
        hg_return_t rc = ranks_begin(&all, &calls[i], rank, id, &in);

        if (rc != HG_SUCCESS) {
            calls[i].ret = rc;
            atomic_store(&calls[i].done, 1);
        }
    }
    for (int i = 0; i < CALLS; i++) {
        int rank = (all.rank + 1 + i % (all.size - 1)) % all.size;

        ret_good[rank] += ranks_wait(&calls[i]) == HG_SUCCESS;
        bad += calls[i].ret != HG_SUCCESS;
        ranks_end(&calls[i]);
    }
    return bad;
}

/* Both directions; returns how many failed. */
static int transfers_make(hg_bulk_t theirs, hg_bulk_t local)
{
    hg_addr_t addr = HG_ADDR_NULL;
    int bad = 0;

    OK(amalgam_addr_rank(all.cls, (all.rank + 1) % all.size, &addr));
    for (int i = 0; i < 4; i++)
        bad += ranks_transfer(&all, i % 2 == 0 ? HG_BULK_PULL : HG_BULK_PUSH,
                   addr, theirs, 0, local, 0, LEN) != HG_SUCCESS;
    OK(HG_Addr_free(all.cls, addr));
    return bad;
}

/* Returns how many calls of MPI failed. */
static int seed_run(unsigned long long seed)
{
    int good[RANKS_MOST] = {0};
    int theirs[RANKS_MOST] = {0};
    int found[3] = {0}; /* calls of MPI, and of Amalgam, that failed; a line */
    int sums[3] = {0};
    hg_id_t id = 0;
    hg_bulk_t mine = HG_BULK_NULL;
    hg_bulk_t local = HG_BULK_NULL;
    hg_bulk_t far = HG_BULK_NULL;
    FILE *log = ranks_log_catch("error");

    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= RANKS_MOST);
    id = MERCURY_REGISTER(all.cls, "serve", ranks_echo_t, ranks_echo_t, serve);
    mine = ranks_bulk(&all, bytes[0], LEN, HG_BULK_READWRITE);
    local = ranks_bulk(&all, bytes[1], LEN, HG_BULK_READWRITE);
    exposed_send(mine, (all.rank + all.size - 1) % all.size);
    far = exposed_take(&all, (all.rank + 1) % all.size);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 0; i < all.size; i++)
        atomic_store(&served[i], 0);
    ranks_meet(MPI_COMM_WORLD);
    reseed(fail_at_most, seed);
    found[1] = calls_make(id, good) + transfers_make(far, local);
    ranks_meet(MPI_COMM_WORLD);
    MPI_Pcontrol(STRICT_FAILED, &found[0]);
    reseed("0", seed);
    MPI_Alltoall(good, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD);
    found[2] = ranks_log_has(log, "failed: ");
    MPI_Allreduce(found, sums, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < all.size; i++)
        CHECK(atomic_load(&served[i]) >= theirs[i]);
    CHECK(sums[0] <= 1);
    CHECK(sums[1] == 0 || (sums[0] == 1 && sums[2] > 0));
    OK(HG_Bulk_free(far));
    OK(HG_Bulk_free(local));
    OK(HG_Bulk_free(mine));
    ranks_close(&all);
    printf("seed %llu: rank %d: %d of MPI failed, %d of Amalgam\n", seed,
        all.rank, found[0], found[1]);
    HG_Set_log_stream("error", NULL);
    fclose(log);
    return sums[0];
}

int main(int argc, char **argv)
{
    int failed = 0;

    CHECK(argc > 2);
    ranks_start(MPI_THREAD_MULTIPLE);
    for (unsigned long long seed = strtoull(argv[1], NULL, 0);
         seed <= strtoull(argv[2], NULL, 0); seed++)
        failed += seed_run(seed);
    CHECK(failed > 0);
    return ranks_stop();
}
