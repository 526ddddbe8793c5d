/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks and addresses are converted into each other, and address strings are
 * valid for all ranks of a job but not in another job. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { TEXT_CAP = 128 };

static struct ranks all;

static void ranks_check(void)
{
    hg_addr_t self = HG_ADDR_NULL;

    OK(HG_Addr_self(all.cls, &self));
    for (int i = 0; i < all.size; i++) {
        hg_addr_t addr = HG_ADDR_NULL;
        hg_addr_t again = HG_ADDR_NULL;
        int rank = -1;

        OK(amalgam_addr_rank(all.cls, i, &addr));
        OK(amalgam_addr_rank(all.cls, i, &again));
        OK(amalgam_addr_get_rank(all.cls, addr, &rank));
        CHECK(rank == i);
        CHECK(HG_Addr_cmp(all.cls, addr, again));
        CHECK((HG_Addr_cmp(all.cls, addr, self) != 0) == (i == all.rank));
        OK(HG_Addr_free(all.cls, again));
        OK(HG_Addr_free(all.cls, addr));
    }
    OK(HG_Addr_free(all.cls, self));
}

static void range_check(void)
{
    hg_addr_t addr = HG_ADDR_NULL;

    EXPECT(HG_INVALID_ARG, amalgam_addr_rank(all.cls, -1, &addr));
    EXPECT(HG_INVALID_ARG, amalgam_addr_rank(all.cls, all.size, &addr));
    EXPECT(HG_INVALID_ARG, amalgam_addr_rank(all.cls, 0, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_addr_rank(NULL, 0, &addr));
    EXPECT(HG_INVALID_ARG,
        amalgam_addr_comm_rank(all.cls, MPI_COMM_WORLD, all.size, &addr));
    CHECK(addr == HG_ADDR_NULL);
}

/* Ranks of a reversed communicator, found among those of the class. */
static void other_comm_check(struct ranks *half)
{
    MPI_Comm mirror = MPI_COMM_NULL;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -all.rank, &mirror);
    for (int i = 0; i < all.size; i++) {
        hg_addr_t addr = HG_ADDR_NULL;
        int world = all.size - 1 - i;
        int rank = -1;
        bool is_inside = world % 2 == all.rank % 2;

        OK(amalgam_addr_comm_rank(all.cls, mirror, i, &addr));
        OK(amalgam_addr_get_rank(all.cls, addr, &rank));
        CHECK(rank == world);
        OK(HG_Addr_free(all.cls, addr));
        addr = HG_ADDR_NULL;
        EXPECT(is_inside ? HG_SUCCESS : HG_ADDRNOTAVAIL,
            amalgam_addr_comm_rank(half->cls, mirror, i, &addr));
        CHECK((addr != HG_ADDR_NULL) == is_inside);
        if (is_inside)
            OK(HG_Addr_free(half->cls, addr));
    }
    MPI_Comm_free(&mirror);
}

/* Sends its string two ranks to the right, and calls the rank whose string it
 * got. */
static void string_check(void)
{
    char mine[TEXT_CAP] = "";
    char other[TEXT_CAP] = "";
    hg_size_t len = sizeof(mine);
    hg_addr_t addr = HG_ADDR_NULL;
    ranks_echo_t in = {5, all.rank};
    ranks_echo_t out = {0, 0};
    struct ranks_call call;
    int to = (all.rank + 1) % all.size;
    int from = (all.rank + all.size - 1) % all.size;

    OK(HG_Addr_self(all.cls, &addr));
    OK(HG_Addr_to_string(all.cls, mine, &len, addr));
    CHECK(len == strlen(mine) + 1 && strpbrk(mine, " \t\n") == NULL);
    OK(HG_Addr_free(all.cls, addr));
    MPI_Sendrecv(mine, sizeof(mine), MPI_BYTE, to, 3, other, sizeof(other),
        MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(HG_Addr_lookup2(all.cls, other, &addr));
    memset(&call, 0, sizeof(call));
    OK(HG_Create(all.context, addr, all.echo, &call.handle));
    OK(HG_Forward(call.handle, ranks_done, &call, &in));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &out));
    CHECK(out.value == 6 && out.from == from);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
    OK(HG_Addr_free(all.cls, addr));
}

/* "mpi://JOB/RANK" with another digit in JOB: the log line names both jobs. */
static void foreign_check(void)
{
    char text[TEXT_CAP];
    char job[TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t addr = HG_ADDR_NULL;
    FILE *log = ranks_log_catch("error");
    char *digit = NULL;

    OK(HG_Addr_self(all.cls, &addr));
    OK(HG_Addr_to_string(all.cls, text, &len, addr));
    OK(HG_Addr_free(all.cls, addr));
    addr = HG_ADDR_NULL;
    snprintf(job, sizeof(job), "%.*s",
        (int)(strrchr(text, '/') - text - (ptrdiff_t)strlen("mpi://")),
        text + strlen("mpi://"));
    digit = strrchr(text, '/') - 1;
    *digit = *digit == 'a' ? 'b' : 'a';
    EXPECT(HG_ADDRNOTAVAIL, HG_Addr_lookup2(all.cls, text, &addr));
    CHECK(ranks_log_has(log, text) && ranks_log_has(log, job));
    *digit = job[strlen(job) - 1];
    snprintf(strrchr(text, '/'), 16, "/%d", all.size);
    EXPECT(HG_ADDRNOTAVAIL, HG_Addr_lookup2(all.cls, text, &addr));
    EXPECT(HG_INVALID_ARG, HG_Addr_lookup2(all.cls, "mpi://x/0", &addr));
    CHECK(addr == HG_ADDR_NULL);
    HG_Set_log_stream("error", NULL);
    fclose(log);
}

int main(void)
{
    struct ranks half;
    MPI_Comm comm = MPI_COMM_NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, all.rank % 2, all.rank, &comm);
    ranks_open(&half, comm);
    ranks_check();
    range_check();
    other_comm_check(&half);
    string_check();
    foreign_check();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&half);
    ranks_close(&all);
    MPI_Comm_free(&comm);
    return ranks_stop();
}
