/* SPDX-License-Identifier: BSD-3-Clause */
/* Way of a transfer: it is the one in the domain's table for its memory and
 * length; memory that the table never names is attached to no window. Two ranks
 * on one node, with windows and tables of the test. */
#include <string.h>

#include "base/mem.h"
#include "mpi_backend/mpi_rma.h"
#include "pair.h"

enum { AREA_LEN = 8 * 1024 * 1024, LEN = 1024 * 1024, KIB = 1024 };

static unsigned gets; /* by a window */
static unsigned puts_;
static unsigned attached;
static unsigned char *memory[AMG_MPI_MEMORIES]; /* this rank's */

int MPI_Rget(void *origin, int count, MPI_Datatype type, int rank,
    MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Win win,
    MPI_Request *request)
{
    gets++;
    return PMPI_Rget(origin, count, type, rank, disp, target_count, target_type,
        win, request);
}

int MPI_Rput(const void *origin, int count, MPI_Datatype type, int rank,
    MPI_Aint disp, int target_count, MPI_Datatype target_type, MPI_Win win,
    MPI_Request *request)
{
    puts_++;
    return PMPI_Rput(origin, count, type, rank, disp, target_count, target_type,
        win, request);
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    attached++;
    return PMPI_Win_attach(win, base, size);
}

/* Knowledge of the initiator about exposed memory. */
struct exposed {
    struct amg_key key;
    uint64_t base;
};

static struct amg_mem *expose(
    enum amg_mpi_memory which, struct exposed *ret_exposed)
{
    const struct amg_segment segment = {memory[which], LEN};
    struct amg_mem *mem = NULL;

    CHECK(pair_t->bulk.reg(pair_domain, &segment, 1,
              AMG_MEM_READ | AMG_MEM_WRITE, &mem) == HG_SUCCESS);
    pair_t->bulk.key(mem, &ret_exposed->key);
    ret_exposed->base = (uintptr_t)memory[which];
    MPI_Bcast(
        ret_exposed, (int)sizeof(*ret_exposed), MPI_BYTE, 0, MPI_COMM_WORLD);
    return mem;
}

/* A transfer by rank 1. Returns whether any of it went by a window. */
static bool is_by_window(
    const struct exposed *exposed, bool is_put, uint64_t len)
{
    static unsigned char bytes[LEN];
    const struct amg_segment here = {bytes, LEN};
    const struct amg_segment there = {(void *)(uintptr_t)exposed->base, LEN};
    const struct amg_seg_iter local = {&here, 1, 0, 0};
    const struct amg_remote remote = {exposed->key, {&there, 1, 0, 0}};
    struct pair_call call;

    gets = puts_ = 0;
    pair_call_init(&call);
    memset(bytes, is_put ? 7 : 0, len);
    CHECK((is_put ? pair_t->bulk.put : pair_t->bulk.get)(pair_ep,
              (struct amg_target){pair_peer(0), 0}, &local, &remote, len,
              &call.op) == HG_SUCCESS);
    UNTIL(call.done == 1);
    CHECK(call.op.ret == HG_SUCCESS && call.op.len == len);
    CHECK(bytes[0] == 7 && bytes[len - 1] == 7);
    CHECK(gets == 0 || puts_ == 0);
    return gets + puts_ > 0;
}

/* Each memory, both directions, and lengths on both sides of the borders. */
static void ways_check(const struct exposed exposed[AMG_MPI_MEMORIES])
{
    static const uint64_t lens[] = {
        8 * KIB, 16 * KIB, 16 * KIB + 1, 256 * KIB, 256 * KIB + 1, LEN};
    const struct amg_mpi_choice *choice =
        &amg_mpi_domain_of(pair_domain)->choice;

    for (unsigned which = 0; which < AMG_MPI_MEMORIES; which++)
        for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
            for (unsigned put = 0; put < 2; put++)
                CHECK(is_by_window(&exposed[which], put == 1, lens[i]) ==
                      (lens[i] >= AMG_MPI_WINDOW_LEN_MIN &&
                          amg_mpi_choice_is_window(
                              choice, (enum amg_mpi_memory)which, lens[i])));
}

/* All ranks take the table, as if it were measured. */
static void table_set(unsigned long bits)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    struct amg_mpi_choice *choice = &domain->choice;

    for (unsigned which = 0; which < AMG_MPI_MEMORIES; which++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
            choice->is_window[which][size] = bits & 1;
            bits >>= 1;
        }
}

int main(void)
{
    static const unsigned long tables[] = {0xf, 0, 0xa, 0x5, 0x3, 0xc};
    struct amg_open how = {.info = "",
        .protocol = "rma",
        .is_listening = true,
        .message_len = 512, /* what fits into one has no choice */
        .max_contexts = 1};
    struct exposed exposed[AMG_MPI_MEMORIES];
    struct amg_mem *mems[AMG_MPI_MEMORIES];
    struct amg_mapping mapping;
    struct amg_area area;
    int provided = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair_rank);
    CHECK(amg_mapping_open("test", AREA_LEN, &mapping) == HG_SUCCESS);
    area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    how.area = &area;
    CHECK(pair_t->domain.open(&how, &pair_domain) == HG_SUCCESS);
    CHECK(pair_t->ep.open(pair_domain, 0, &pair_ep) == HG_SUCCESS);
    CHECK(amg_mpi_domain_of(pair_domain)->rma != NULL);
    memory[AMG_MPI_MEMORY_LIBRARY] = mapping.base;
    memory[AMG_MPI_MEMORY_USER] = malloc(LEN);
    CHECK(memory[AMG_MPI_MEMORY_USER] != NULL);
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
        memset(memory[i], 7, LEN);
        mems[i] = expose((enum amg_mpi_memory)i, &exposed[i]);
    }
    CHECK(attached == 1);
    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        table_set(tables[i]);
        if (pair_rank == 1)
            ways_check(exposed);
        pair_sync(false);
    }
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++)
        CHECK(pair_t->bulk.unreg(pair_domain, mems[i], 5000) == HG_SUCCESS);
    pair_close();
    free(memory[AMG_MPI_MEMORY_USER]);
    amg_mapping_close(&mapping);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
