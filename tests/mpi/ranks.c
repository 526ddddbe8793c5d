/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests between ranks. */
#include "ranks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "slow.h"

enum {
    LIMIT_S = 55,  /* of a whole test, less than ctest's */
    BEFORE_S = 15, /* a wait fails before the test does */
    OPEN_MAX = 8,
    TRIGGER_MAX = 64,
    SWAP_LEN = 100003, /* more than a message, and odd */
};

#define NS_PER_S 1000000000ull

static struct ranks *open_ranks[OPEN_MAX];
static unsigned wait_s = (LIMIT_S - BEFORE_S) * TEST_SLOW;

uint64_t ranks_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void ranks_fail(const char *file, int line, const char *what)
{
    int is_up = 0;
    int is_over = 0;
    int rank = -1;

    MPI_Initialized(&is_up);
    MPI_Finalized(&is_over);
    if (is_up && !is_over)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d: %s:%d: %s\n", rank, file, line, what);
    fflush(NULL);
    if (is_up && !is_over)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

void ranks_expect(hg_return_t got, hg_return_t wanted, const char *file,
    int line, const char *what)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s, not %s:\n", HG_Error_to_string(got),
        HG_Error_to_string(wanted));
    ranks_fail(file, line, what);
}

void ranks_wait_begin(uint64_t *ret_deadline_ns)
{
    *ret_deadline_ns = ranks_now_ns() + wait_s * NS_PER_S;
}

void ranks_wait_turn(
    uint64_t deadline_ns, const char *file, int line, const char *what)
{
    ranks_turn();
    if (ranks_now_ns() < deadline_ns)
        return;
    fprintf(stderr, "waited %u s for:\n", wait_s);
    ranks_fail(file, line, what);
}

void ranks_limit(unsigned seconds)
{
    wait_s = (seconds - BEFORE_S) * TEST_SLOW;
    alarm(seconds * TEST_SLOW);
}

void ranks_start(int level)
{
    int provided = 0;

    ranks_limit(LIMIT_S);
    MPI_Init_thread(NULL, NULL, level, &provided);
    if (provided != level) {
        MPI_Finalize();
        exit(RANKS_SKIP);
    }
}

int ranks_stop(void)
{
    MPI_Finalize();
    return EXIT_SUCCESS;
}

void ranks_survived(int dead)
{
    int rank = 0;
    int size = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d survived\n", rank);
    fflush(stdout);
    for (int other = 0; other < size; other++)
        if (other != dead && other != rank)
            MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 0, NULL, 0, MPI_BYTE, other,
                0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    _exit(EXIT_SUCCESS);
}

void ranks_turn(void)
{
    bool was_busy = false;

    for (int i = 0; i < OPEN_MAX; i++) {
        unsigned queued = 0;
        unsigned count = 0;

        if (open_ranks[i] == NULL)
            continue;
        (void)HG_Event_progress(open_ranks[i]->context, &queued);
        (void)HG_Event_trigger(open_ranks[i]->context, TRIGGER_MAX, &count);
        was_busy = was_busy || count > 0;
    }
    if (!was_busy)
        sched_yield();
}

void ranks_meet(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;

    MPI_Ibarrier(comm, &request);
    UNTIL((MPI_Test(&request, &flag, &status), flag != 0));
}

hg_return_t ranks_done(const struct hg_cb_info *info)
{
    struct ranks_call *call = info->arg;

    call->ret = info->ret;
    if (info->type == HG_CB_BULK)
        call->size = info->info.bulk.size;
    atomic_fetch_add(&call->done, 1);
    return HG_SUCCESS;
}

hg_return_t ranks_begin(struct ranks *ranks, struct ranks_call *call, int rank,
    hg_id_t id, void *in)
{
    hg_addr_t addr = HG_ADDR_NULL;

    memset(call, 0, sizeof(*call));
    OK(amalgam_addr_rank(ranks->cls, rank, &addr));
    OK(HG_Create(ranks->context, addr, id, &call->handle));
    OK(HG_Addr_free(ranks->cls, addr));
    return HG_Forward(call->handle, ranks_done, call, in);
}

hg_return_t ranks_wait(struct ranks_call *call)
{
    UNTIL(atomic_load(&call->done) > 0);
    CHECK(atomic_load(&call->done) == 1);
    return call->ret;
}

void ranks_end(struct ranks_call *call)
{
    OK(HG_Destroy(call->handle));
    call->handle = HG_HANDLE_NULL;
}

void ranks_echo(struct ranks *ranks, int rank, uint64_t value)
{
    ranks_echo_t in = {value, ranks->rank};
    ranks_echo_t out = {0, 0};
    struct ranks_call call;

    OK(ranks_begin(ranks, &call, rank, ranks->echo, &in));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &out));
    CHECK(out.value == value + 1 && out.from == rank);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
}

void ranks_exchange(struct ranks *ranks)
{
    for (int i = 0; i < ranks->size; i++) {
        int rank = (ranks->rank + i) % ranks->size;

        ranks_echo(ranks, rank, (uint64_t)rank * 1000 + 7);
        ranks_swap(ranks, rank, SWAP_LEN);
    }
}

hg_return_t ranks_transfer(struct ranks *ranks, hg_bulk_op_t op, hg_addr_t addr,
    hg_bulk_t origin, hg_size_t origin_offset, hg_bulk_t local,
    hg_size_t local_offset, hg_size_t size)
{
    struct ranks_call call;

    memset(&call, 0, sizeof(call));
    OK(HG_Bulk_transfer(ranks->context, ranks_done, &call, op, addr, origin,
        origin_offset, local, local_offset, size, HG_OP_ID_IGNORE));
    return ranks_wait(&call);
}

hg_bulk_t ranks_bulk(
    struct ranks *ranks, void *bytes, size_t len, uint8_t flags)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_size_t size = len;

    OK(HG_Bulk_create(ranks->cls, 1, &bytes, &size, flags, &bulk));
    return bulk;
}

static uint64_t word_at(uint64_t i, uint64_t seed)
{
    return (i + seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
}

static uint8_t byte_at(uint64_t i, uint64_t seed)
{
    return (uint8_t)(word_at(i / 8, seed) >> i % 8 * 8);
}

/* The bytes before the first whole word. */
static size_t head_len(size_t len, uint64_t offset)
{
    size_t head = (size_t)(-offset % 8);

    return head < len ? head : len;
}

void ranks_fill(void *bytes, size_t len, uint64_t seed, uint64_t offset)
{
    uint8_t *at = bytes;
    size_t i = 0;

    for (; i < head_len(len, offset); i++)
        at[i] = byte_at(offset + i, seed);
    for (; i + 8 <= len; i += 8) {
        uint64_t word = word_at((offset + i) / 8, seed);

        memcpy(at + i, &word, sizeof(word));
    }
    for (; i < len; i++)
        at[i] = byte_at(offset + i, seed);
}

bool ranks_is_filled(
    const void *bytes, size_t len, uint64_t seed, uint64_t offset)
{
    const uint8_t *at = bytes;
    size_t i = 0;

    for (; i < head_len(len, offset); i++)
        if (at[i] != byte_at(offset + i, seed))
            return false;
    for (; i + 8 <= len; i += 8) {
        uint64_t word = word_at((offset + i) / 8, seed);

        if (memcmp(at + i, &word, sizeof(word)) != 0)
            return false;
    }
    for (; i < len; i++)
        if (at[i] != byte_at(offset + i, seed))
            return false;
    return true;
}

FILE *ranks_log_catch(const char *level)
{
    FILE *file = tmpfile();

    CHECK(file != NULL);
    HG_Set_log_level(level);
    HG_Set_log_stream(level, file);
    return file;
}

bool ranks_log_has(FILE *file, const char *text)
{
    char line[1024];
    bool is_found = false;

    fflush(file);
    rewind(file);
    while (!is_found && fgets(line, sizeof(line), file) != NULL)
        is_found = strstr(line, text) != NULL;
    fseek(file, 0, SEEK_END);
    return is_found;
}

void ranks_open_with(
    struct ranks *ranks, MPI_Comm comm, const struct amalgam_options *options)
{
    hg_class_t *cls = amalgam_init(comm, NULL, options);

    CHECK(cls != NULL);
    ranks_adopt(ranks, cls);
}

void ranks_open(struct ranks *ranks, MPI_Comm comm)
{
    ranks_open_with(ranks, comm, NULL);
}

void ranks_leave(struct ranks *ranks)
{
    for (int i = 0; i < OPEN_MAX; i++)
        if (open_ranks[i] == ranks)
            open_ranks[i] = NULL;
}

void ranks_return(struct ranks *ranks)
{
    for (int i = 0; i < OPEN_MAX; i++)
        if (open_ranks[i] == NULL) {
            open_ranks[i] = ranks;
            return;
        }
    CHECK(!"too many classes");
}

void ranks_close(struct ranks *ranks)
{
    ranks_leave(ranks);
    OK(amalgam_finalize(ranks->cls));
    ranks->cls = NULL;
    ranks->context = NULL;
}

void ranks_adopt(struct ranks *ranks, hg_class_t *cls)
{
    memset(ranks, 0, sizeof(*ranks));
    ranks->cls = cls;
    ranks->context = HG_Context_create(cls);
    CHECK(ranks->context != NULL);
    OK(amalgam_class_ranks(cls, &ranks->rank, &ranks->size));
    ranks_register(ranks);
    ranks_return(ranks);
}
