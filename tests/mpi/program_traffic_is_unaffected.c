/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own messages, collectives and error handler on the same
 * communicator are unaffected by the library, and the library by them. */
#include <string.h>

#include "ranks.h"

enum { ROUNDS = 400, TAGS = 600, WORDS = 4 };

static struct ranks all;
static atomic_int errors;

/* A message of the program, distinguishable from all others. */
struct letter {
    uint64_t words[WORDS];
};

static void error_note(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    atomic_fetch_add(&errors, 1);
}

static struct letter letter_of(int from, int round)
{
    struct letter letter;

    for (uint64_t i = 0; i < WORDS; i++)
        letter.words[i] = (uint64_t)from << 32 | (uint64_t)round << 8 | i;
    return letter;
}

/* One letter to the right, one received from any source with any tag; tags
 * cover all that the library could use. */
static void letter_round(int round)
{
    int right = (all.rank + 1) % all.size;
    int left = (all.rank + all.size - 1) % all.size;
    struct letter out = letter_of(all.rank, round);
    struct letter wanted = letter_of(left, round);
    struct letter in[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0;
    int len = 0;

    memset(in, 0, sizeof(in));
    /* Longer than the letter: nothing else may fit in either. */
    MPI_Irecv(in, sizeof(in), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
        MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, sizeof(out), MPI_BYTE, right, round % TAGS, MPI_COMM_WORLD,
        &requests[1]);
    UNTIL((MPI_Testall(2, requests, &flag, statuses), flag != 0));
    MPI_Get_count(&statuses[0], MPI_BYTE, &len);
    CHECK(len == (int)sizeof(wanted) && statuses[0].MPI_SOURCE == left);
    CHECK(statuses[0].MPI_TAG == round % TAGS);
    CHECK(memcmp(in, &wanted, sizeof(wanted)) == 0);
}

/* The sum is reduced while calls are served. */
static void collective_round(int round)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int one = round;
    int sum = 0;
    int flag = 0;

    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    UNTIL((MPI_Test(&request, &flag, &status), flag != 0));
    CHECK(sum == round * all.size);
}

static void rounds_make(void)
{
    static struct ranks_call calls[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        ranks_echo_t in = {(uint64_t)i, all.rank};

        OK(ranks_begin(&all, &calls[i], i % all.size, all.echo, &in));
        letter_round(i);
        if (i % 8 == 0)
            collective_round(i);
        if (i % 32 == 0)
            ranks_swap(&all, (all.rank + 1) % all.size, 300001);
    }
    for (int i = 0; i < ROUNDS; i++) {
        OK(ranks_wait(&calls[i]));
        ranks_end(&calls[i]);
    }
}

/* No message is left that a wildcard receive would find. */
static void nothing_check(void)
{
    MPI_Status status;
    int flag = 1;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag);
}

static void handler_check(MPI_Errhandler wanted)
{
    MPI_Errhandler now = MPI_ERRHANDLER_NULL;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
    CHECK(now == wanted);
    MPI_Errhandler_free(&now);
}

int main(void)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_create_errhandler(error_note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    ranks_open(&all, MPI_COMM_WORLD);
    handler_check(handler);
    rounds_make();
    nothing_check();
    CHECK(atomic_load(&errors) == 0);
    /* An error of the program still reaches its own handler. */
    MPI_Send(&errors, 1, MPI_INT, all.size + 1, 0, MPI_COMM_WORLD);
    CHECK(atomic_load(&errors) == 1);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    handler_check(handler);
    MPI_Errhandler_free(&handler);
    return ranks_stop();
}
