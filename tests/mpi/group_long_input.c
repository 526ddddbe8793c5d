/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs of any length reach each rank of a group unchanged, from all ranks at
 * a time, with little room for long arguments and with checksums (argument
 * "sums"). The root sends a long input to its children alone, not to each rank
 * of the group: argument "children N", of rank 0. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"
#include "mercury.h"

enum { KIB = 1024, ROUNDS = 3, LONG_LEN = 70000 };

static const uint32_t lens[] = {
    0, 33, 600, 5 * KIB, 70000, 300000, 2048 * KIB, 5 * KIB, 600, 70000};

enum { LENS = sizeof(lens) / sizeof(lens[0]) };

static struct ranks all;
static hg_id_t id;
static unsigned ran[GROUP_RANKS_MAX * ROUNDS * LENS];

static hg_return_t blob_serve(hg_handle_t handle)
{
    struct group_blob in = {0};

    OK(HG_Get_input(handle, &in));
    CHECK(in.is_right && in.seed < sizeof(ran) / sizeof(ran[0]));
    CHECK(in.len == lens[in.seed % LENS]);
    ran[in.seed]++;
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void draw_of(struct group_draw *draw, uint32_t seed)
{
    group_draw(draw, all.size, seed);
    if (seed / LENS % 2 == 0)
        group_draw_remove(draw, (int)(seed / (ROUNDS * LENS)));
}

static void all_send(void)
{
    static struct ranks_call calls[LENS];
    unsigned wanted[sizeof(ran) / sizeof(ran[0])] = {0};

    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < LENS; i++) {
            uint32_t seed = ((uint32_t)all.rank * ROUNDS + round) * LENS + i;
            struct group_blob in = {lens[i], seed, false};
            struct group_draw draw;
            amalgam_group_t group = NULL;

            draw_of(&draw, seed);
            group = group_make(&all, &draw);
            group_begin(&all, &calls[i], group, id, 0, &in);
            OK(amalgam_group_free(group));
        }
        for (uint32_t i = 0; i < LENS; i++) {
            OK(ranks_wait(&calls[i]));
            CHECK(group_failed_count(calls[i].handle) == 0);
            ranks_end(&calls[i]);
        }
    }
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t seed = 0; seed < (uint32_t)all.size * ROUNDS * LENS; seed++) {
        struct group_draw draw;

        draw_of(&draw, seed);
        wanted[seed] = group_draw_has(&draw, all.rank);
        CHECK(ran[seed] == wanted[seed]);
    }
}

/* One call of rank 0 for each long length. */
static void children_count(uint64_t children)
{
    struct hg_diag_counters before;
    struct hg_diag_counters after;

    for (uint32_t i = 0; i < LENS; i++) {
        struct group_blob in = {lens[i], i, false};
        struct ranks_call call;

        ranks_meet(MPI_COMM_WORLD);
        if (all.rank == 0 && lens[i] >= LONG_LEN) {
            OK(HG_Class_get_counters(all.cls, &before));
            group_begin(&all, &call, AMALGAM_GROUP_ALL, id, 0, &in);
            OK(ranks_wait(&call));
            ranks_end(&call);
            OK(HG_Class_get_counters(all.cls, &after));
            if (after.rpc_req_extra_count - before.rpc_req_extra_count !=
                children)
                fprintf(stderr, "%llu long requests\n",
                    (unsigned long long)(after.rpc_req_extra_count -
                                         before.rpc_req_extra_count));
            CHECK(after.rpc_req_extra_count - before.rpc_req_extra_count ==
                  children);
        }
        ranks_meet(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    if (argc > 1 && strcmp(argv[1], "sums") == 0) {
        struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
        hg_class_t *cls = NULL;

        info.checksum_level = HG_CHECKSUM_RPC_PAYLOAD;
        cls = HG_Init_opt2("auto", HG_TRUE, HG_VERSION(2, 4), &info);
        CHECK(cls != NULL);
        ranks_adopt(&all, cls);
    } else {
        ranks_open(&all, MPI_COMM_WORLD);
    }
    id = HG_Register_name(all.cls, "blob", group_blob_code, NULL, blob_serve);
    ranks_meet(MPI_COMM_WORLD);
    if (argc > 2)
        children_count(strtoull(argv[2], NULL, 0));
    else
        all_send();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
