/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes through a mapping that forked ranks share.
 *
 * Each rank has two places for its bytes, which it uses in turn, and the number
 * of its exchanges so far. A rank writes into a place again two exchanges
 * later. It begins that one after it has seen all ranks in the exchange
 * between, which each of them began after it had read the older bytes: so none
 * is overwritten before all have read it. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange_ways.h"
#include "plan.h"

/* Bytes of a place: pages that nobody writes take no memory. */
#define PLACE_CAP ((size_t)16 << 20)

/* Number of exchanges that a rank began: publishes its bytes to the others. */
struct mark {
    _Atomic uint64_t count;
    _Atomic uint64_t len[2];
};

struct forked {
    struct exchange base;
    uint64_t count;
    struct mark *marks;
    uint8_t *places;
    pid_t children[PLAN_RANKS_MAX]; /* known to rank 0 */
};

static uint8_t *place_of(struct forked *forked, unsigned rank)
{
    return forked->places + (rank * 2 + forked->count % 2) * PLACE_CAP;
}

static void forked_begin(
    struct exchange *exchange, const void *mine, size_t len)
{
    struct forked *forked = (struct forked *)exchange;
    struct mark *mark = &forked->marks[exchange->rank];

    if (len > PLACE_CAP) {
        fputs("torture: a note is too long\n", stderr);
        abort();
    }
    forked->count++;
    if (len > 0)
        memcpy(place_of(forked, exchange->rank), mine, len);
    atomic_store(&mark->len[forked->count % 2], len);
    atomic_store(&mark->count, forked->count);
}

static bool forked_test(struct exchange *exchange)
{
    struct forked *forked = (struct forked *)exchange;

    for (unsigned rank = 0; rank < exchange->size; rank++)
        if (atomic_load(&forked->marks[rank].count) < forked->count)
            return false;
    return true;
}

static const void *forked_of(
    struct exchange *exchange, unsigned rank, size_t *ret_len)
{
    struct forked *forked = (struct forked *)exchange;

    *ret_len = atomic_load(&forked->marks[rank].len[forked->count % 2]);
    return place_of(forked, rank);
}

/* The parent ends its children; a child ends its parent by its exit code. */
static void forked_abort(struct exchange *exchange)
{
    struct forked *forked = (struct forked *)exchange;

    for (unsigned rank = 1; exchange->rank == 0 && rank < exchange->size;
         rank++)
        (void)kill(forked->children[rank], SIGTERM);
    if (exchange->rank != 0)
        (void)kill(getppid(), SIGTERM);
}

static int forked_stop(struct exchange *exchange, int code)
{
    struct forked *forked = (struct forked *)exchange;

    for (unsigned rank = 1; exchange->rank == 0 && rank < exchange->size;
         rank++) {
        int status = 0;

        while (
            waitpid(forked->children[rank], &status, 0) < 0 && errno == EINTR)
            ;
        if (status != 0 && code == EXIT_SUCCESS)
            code = EXIT_FAILURE;
    }
    return code;
}

static const struct exchange_ops forked_ops = {
    .begin = forked_begin,
    .test = forked_test,
    .of = forked_of,
    .abort = forked_abort,
    .stop = forked_stop,
};

static void *mapping_make(size_t len)
{
    void *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return bytes == MAP_FAILED ? NULL : bytes;
}

struct exchange *exchange_start_fork(unsigned ranks)
{
    struct forked *forked = calloc(1, sizeof(*forked));

    if (forked == NULL || ranks == 0 || ranks > PLAN_RANKS_MAX)
        return NULL;
    forked->base.ops = &forked_ops;
    forked->base.size = ranks;
    forked->marks = mapping_make(ranks * sizeof(*forked->marks));
    forked->places = mapping_make(ranks * 2 * PLACE_CAP);
    forked->base.board = mapping_make((size_t)ranks * EXCHANGE_BOARD_LEN);
    if (forked->marks == NULL || forked->places == NULL ||
        forked->base.board == NULL)
        return NULL;
    fflush(NULL);
    for (unsigned rank = 1; rank < ranks; rank++) {
        pid_t child = fork();

        if (child < 0) {
            forked_abort(&forked->base);
            return NULL;
        }
        if (child == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            forked->base.rank = rank;
            return &forked->base;
        }
        forked->children[rank] = child;
    }
    return &forked->base;
}
