/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that does not trigger keeps bounded memory while others send as fast
 * as they can, and no call is lost: 7 x 2000 calls of 1 KiB to one victim. With
 * "asleep" it makes no progress at first. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ranks.h"

enum {
    CALLS = 2000,
    CREDITS = 64,              /* the default */
    EAGER_LEN = 4096 + 192,    /* a message with its headers, */
    SLOT_LEN = 4 * 4096 + 192, /* and space for longer ones */
    SLACK_SLOTS = 512, /* receives posted, replies, rounding of the heap */
    HANDLE_LEN = 1024, /* an arrival besides its message */
    KIB = 1024,
    HOLD_MS = 1500,     /* time in which the victim does not trigger */
    MPI_KB = 32 * 1024, /* MPI's own memory for its seven peers */
};

static struct ranks all;
static hg_id_t blow;
/* A bit for each call of each origin. */
static unsigned char came[16][CALLS];
static unsigned long came_count;

typedef struct {
    int32_t from;
    uint32_t number;
    unsigned char bytes[KIB];
} blow_t;

static hg_return_t hg_proc_blow_t(hg_proc_t proc, void *data)
{
    blow_t *blown = data;
    hg_return_t rc = hg_proc_int32_t(proc, &blown->from);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint32_t(proc, &blown->number);
    if (rc == HG_SUCCESS)
        rc = hg_proc_bytes(proc, blown->bytes, sizeof(blown->bytes));
    return rc;
}

static hg_return_t blow_serve(hg_handle_t handle)
{
    blow_t in;

    OK(HG_Get_input(handle, &in));
    CHECK(in.from > 0 && in.from < 16 && in.number < CALLS);
    CHECK(came[in.from][in.number] == 0);
    came[in.from][in.number] = 1;
    came_count++;
    CHECK(ranks_is_filled(in.bytes, KIB, in.number, 0));
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void flood_send(void)
{
    struct ranks_call *calls = calloc(CALLS, sizeof(*calls));

    CHECK(calls != NULL);
    for (uint32_t i = 0; i < CALLS; i++) {
        blow_t in = {all.rank, i, {0}};

        ranks_fill(in.bytes, KIB, i, 0);
        OK(ranks_begin(&all, &calls[i], 0, blow, &in));
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        OK(ranks_wait(&calls[i]));
        ranks_end(&calls[i]);
    }
    free(calls);
}

static long resident_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    fclose(file);
    return kb;
}

/* Bound on the growth of the library and the process, whatever the others
 * do. */
static uint64_t bound_bytes(uint64_t slot_len)
{
    uint64_t held = (uint64_t)(all.size - 1) * CREDITS;

    return held * (slot_len + HANDLE_LEN) + SLACK_SLOTS * slot_len;
}

static void growth_check(
    const struct amg_mem_stats *before, long before_kb, const char *when)
{
    struct amg_mem_stats now;
    long grown_kb = resident_kb() - before_kb;
    uint64_t grown = 0;

    amg_mem_stats_get(&now);
    grown = now.bytes > before->bytes ? now.bytes - before->bytes : 0;
    printf("%s: %llu bytes more of the library (bound %llu), %ld kB more "
           "resident\n",
        when, (unsigned long long)grown,
        (unsigned long long)bound_bytes(SLOT_LEN), grown_kb);
    CHECK(grown <= bound_bytes(SLOT_LEN));
    /* Buffer space that no message filled has no pages. */
    CHECK(grown_kb <= (long)(bound_bytes(EAGER_LEN) / 1024) + MPI_KB);
}

static void victim_hold(bool is_asleep)
{
    uint64_t end_ns = ranks_now_ns() + (uint64_t)HOLD_MS * 1000000;

    while (ranks_now_ns() < end_ns)
        if (!is_asleep)
            (void)HG_Progress(all.context, 0);
}

/* The first calls may have arrived while it waited for all to begin. */
static void victim_stand(
    const struct amg_mem_stats *before, long before_kb, bool is_asleep)
{
    unsigned long served = came_count;

    if (is_asleep) {
        victim_hold(true);
        growth_check(before, before_kb, "asleep");
    }
    victim_hold(false);
    CHECK(came_count == served);
    growth_check(before, before_kb, "held back");
    UNTIL(came_count == (unsigned long)(all.size - 1) * CALLS);
    growth_check(before, before_kb, "at the end");
}

int main(int argc, char **argv)
{
    struct amg_mem_stats before;
    long before_kb = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    blow = MERCURY_REGISTER(all.cls, "blow", blow_t, void, blow_serve);
    ranks_exchange(&all); /* establishes all connections of MPI */
    amg_mem_stats_get(&before);
    before_kb = resident_kb();
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0)
        victim_stand(
            &before, before_kb, argc > 1 && strcmp(argv[1], "asleep") == 0);
    else
        flood_send();
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 1; all.rank == 0 && i < all.size; i++)
        for (int number = 0; number < CALLS; number++)
            CHECK(came[i][number] == 1);
    ranks_close(&all);
    return ranks_stop();
}
