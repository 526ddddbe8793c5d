/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange of the records of all ranks between the first ranks of many nodes,
 * their leaders, by the library's own code, in one process: each leader is a
 * context with a small stack, over an MPI of this file that delivers messages
 * in random order. A leader sends at most 2 log2 N messages and receives as
 * many, for N ranks, 128 on each node; the depth is at most 2 log2 M for M
 * nodes; each leader has the records of all nodes in order, also of nodes of
 * different sizes, and when one leader begins long after all others.
 *
 * opening NODES RANKS-OF-A-NODE */
#include "mpi_backend/mpi_meet.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "mpi_backend/mpi_place.h"

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

enum {
    STACK_LEN = 16384,
    REQUESTS = 8, /* of a leader at once */
    RANKS_OF_NODE = 128,
};

struct record {
    uint32_t node;
    uint32_t rank;
};

/* A message on its way, or in the list of the receiver. */
struct message {
    struct message *next;
    const void *bytes;
    size_t len;
    int from; /* a leader */
    int to;
    int tag;
    unsigned depth;
    bool *has_left; /* of the sender */
};

struct request {
    bool is_used;
    bool is_over;
    bool is_receive;
    void *into;
    size_t room;
    int from; /* a rank */
    int tag;
};

struct leader {
    ucontext_t context;
    char *stack;
    struct amg_mpi_comm comm;
    struct record *records;
    struct message *arrived;
    struct request requests[REQUESTS];
    unsigned sent;
    unsigned received;
    unsigned depth;
    bool is_ready; /* in the list of those that may go on */
    bool is_done;
};

static int nodes;
static int size;
static int *leader_of; /* by rank */
static struct leader *leaders;
static struct leader *current;
static struct message **flying;
static size_t flying_count;
static struct leader **ready;
static size_t ready_count;
static ucontext_t scheduler;
static uint64_t seed = 88172645463325252u;

static void fail(int line, const char *what)
{
    fprintf(stderr, "opening.c:%d: %s\n", line, what);
    exit(1);
}

/* xorshift64. */
static size_t random_below(size_t end)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % end;
}

static void leader_wake(struct leader *leader)
{
    if (leader->is_ready || leader->is_done)
        return;
    leader->is_ready = true;
    ready[ready_count++] = leader;
}

static void leader_wait(void)
{
    CHECK(swapcontext(&current->context, &scheduler) == 0);
}

/* The MPI of this file; a request is the number of one of its leader, plus 1, a
 * message is its address, and a datatype has the length of a record. */

static MPI_Request request_new(struct request made)
{
    int i = 0;

    while (i < REQUESTS && current->requests[i].is_used)
        i++;
    CHECK(i < REQUESTS);
    made.is_used = true;
    current->requests[i] = made;
    return (MPI_Request)(intptr_t)(i + 1);
}

static size_t len_of(int count, MPI_Datatype type)
{
    return (size_t)count *
           (type == MPI_INT ? sizeof(int) : sizeof(struct record));
}

/* Removes a message from those that have arrived; `from` is a leader. */
static struct message *arrived_take(int from, int tag)
{
    struct message **at = &current->arrived;
    struct message *message = NULL;

    while (*at != NULL &&
           ((*at)->tag != tag || (from >= 0 && (*at)->from != from)))
        at = &(*at)->next;
    message = *at;
    if (message != NULL)
        *at = message->next;
    return message;
}

static void message_read(struct message *message, void *into, size_t room)
{
    CHECK(message->len <= room);
    memcpy(into, message->bytes, message->len);
    *message->has_left = true; /* not before: its bytes must stay */
    leader_wake(&leaders[message->from]);
    current->received++;
    if (current->depth < message->depth)
        current->depth = message->depth;
    free(message);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    struct message *message = malloc(sizeof(*message));
    int number = 0;

    (void)comm;
    *request = request_new((struct request){0});
    number = (int)(intptr_t)*request - 1;
    CHECK(message != NULL && rank >= 0 && rank < size);
    *message = (struct message){.bytes = bytes,
        .len = len_of(count, type),
        .from = (int)(current - leaders),
        .to = leader_of[rank],
        .tag = tag,
        .depth = current->depth + 1,
        .has_left = &current->requests[number].is_over};
    CHECK(message->to >= 0);
    flying[flying_count++] = message;
    current->sent++;
    return MPI_SUCCESS;
}

int MPI_Irecv(void *into, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    *request = request_new((struct request){.is_receive = true,
        .into = into,
        .room = len_of(count, type),
        .from = rank,
        .tag = tag});
    return MPI_SUCCESS;
}

int MPI_Improbe(int rank, int tag, MPI_Comm comm, int *flag,
    MPI_Message *ret_message, MPI_Status *status)
{
    struct message *message = NULL;

    (void)comm;
    CHECK(rank == MPI_ANY_SOURCE);
    while ((message = arrived_take(-1, tag)) == NULL)
        leader_wait();
    /* It is kept at the front until it is received. */
    message->next = current->arrived;
    message->tag = -1;
    current->arrived = message;
    *ret_message = (MPI_Message)(intptr_t)1;
    status->MPI_SOURCE = leaders[message->from].comm.rank;
    status->MPI_TAG = (int)(message->len / sizeof(struct record));
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    CHECK(type != MPI_INT);
    *count = status->MPI_TAG;
    return MPI_SUCCESS;
}

int MPI_Imrecv(void *into, int count, MPI_Datatype type, MPI_Message *message,
    MPI_Request *request)
{
    struct message *taken = arrived_take(-1, -1);

    CHECK(taken != NULL);
    message_read(taken, into, len_of(count, type));
    *message = MPI_MESSAGE_NULL;
    *request = request_new((struct request){.is_over = true});
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct request *tested = NULL;

    (void)status;
    if (*request == MPI_REQUEST_NULL) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    tested = &current->requests[(intptr_t)*request - 1];
    while (!tested->is_over) {
        struct message *message =
            tested->is_receive
                ? arrived_take(leader_of[tested->from], tested->tag)
                : NULL;

        if (message == NULL) {
            leader_wait();
            continue;
        }
        message_read(message, tested->into, tested->room);
        tested->is_over = true;
    }
    tested->is_used = false;
    *request = MPI_REQUEST_NULL;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Iexscan(const void *mine, void *before, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    int number = (int)(current - leaders);

    (void)comm;
    CHECK(*(const int *)mine == current->comm.rank);
    CHECK(count == 1 && type == MPI_INT && op == MPI_MAX);
    if (number > 0)
        *(int *)before = leaders[number - 1].comm.rank;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype *ret_type)
{
    CHECK(count == sizeof(struct record));
    *ret_type = type;
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

/* The place of the node, whose ranks all have given their records. */
int amg_mpi_place_allgather(
    struct amg_mpi_place *place, const void *mine, size_t len, void *ret_all)
{
    struct record *records = ret_all;

    (void)place;
    (void)mine;
    CHECK(len == sizeof(*records));
    for (int i = 0; i < current->comm.node_size; i++)
        records[i] = (struct record){
            (uint32_t)current->comm.rank, (uint32_t)(current->comm.rank + i)};
    return MPI_SUCCESS;
}

struct amg_mpi_place *amg_mpi_place_enter(
    const struct amg_mpi_comm *comm, uint64_t number)
{
    (void)comm;
    (void)number;
    return NULL;
}

void amg_mpi_place_settle(
    struct amg_mpi_place *place, struct amg_mpi_comm *comm)
{
    (void)place;
    (void)comm;
}

static void leader_main(void)
{
    struct leader *self = current;

    CHECK(amg_mpi_meet_collect(&self->comm, self->records,
              sizeof(struct record), self->records) == MPI_SUCCESS);
    self->is_done = true;
}

/* Runs all that may go on, but not `late`, until they wait. */
static void leaders_run(const struct leader *late)
{
    while (ready_count > 0) {
        current = ready[--ready_count];
        current->is_ready = false;
        if (current != late)
            CHECK(swapcontext(&scheduler, &current->context) == 0);
        if (current->is_done) {
            free(current->stack);
            current->stack = NULL;
        }
    }
}

/* Delivers messages in random order, until none is on its way. */
static void world_run(const struct leader *late)
{
    leaders_run(late);
    while (flying_count > 0) {
        size_t at = random_below(flying_count);
        struct message *message = flying[at];
        struct leader *to = &leaders[message->to];

        flying[at] = flying[--flying_count];
        message->next = to->arrived;
        to->arrived = message;
        leader_wake(to);
        leaders_run(late);
    }
}

/* Each node has `most` ranks, or from 1 to that many in turn. */
static void world_open(int most, bool is_uneven)
{
    int rank = 0;

    leaders = calloc((size_t)nodes, sizeof(*leaders));
    flying = calloc((size_t)nodes * REQUESTS, sizeof(struct message *));
    leader_of = malloc((size_t)nodes * (size_t)most * sizeof(*leader_of));
    ready = calloc((size_t)nodes, sizeof(struct leader *));
    CHECK(leaders != NULL && flying != NULL && leader_of != NULL);
    CHECK(ready != NULL);
    for (int i = 0; i < nodes; i++) {
        int count = is_uneven ? 1 + i % most : most;

        leaders[i].comm.rank = rank;
        leaders[i].comm.node_size = count;
        for (int k = 0; k < count; k++)
            leader_of[rank + k] = k == 0 ? i : -1;
        rank += count;
    }
    size = rank;
    for (int i = 0; i < nodes; i++) {
        struct leader *leader = &leaders[i];

        leader->comm.size = size;
        leader->comm.facts.nodes = (uint32_t)nodes;
        leader->comm.facts.last_leader = (uint32_t)leaders[nodes - 1].comm.rank;
        leader->records = malloc((size_t)size * sizeof(struct record));
        leader->stack = malloc(STACK_LEN);
        CHECK(leader->records != NULL && leader->stack != NULL);
        CHECK(getcontext(&leader->context) == 0);
        leader->context.uc_stack.ss_sp = leader->stack;
        leader->context.uc_stack.ss_size = STACK_LEN;
        leader->context.uc_link = &scheduler;
        makecontext(&leader->context, leader_main, 0);
    }
}

static unsigned log2_up(unsigned value)
{
    unsigned log = 0;

    while (1u << log < value)
        log++;
    return log;
}

/* All have the records of all, from their own node on. */
static void world_check(const char *what)
{
    unsigned sent = 0;
    unsigned received = 0;
    unsigned depth = 0;

    for (int i = 0; i < nodes; i++) {
        const struct leader *leader = &leaders[i];
        const struct record *record = leader->records;

        CHECK(leader->is_done && leader->arrived == NULL);
        for (int k = 0; k < nodes; k++) {
            const struct amg_mpi_comm *of = &leaders[(i + k) % nodes].comm;

            for (int r = 0; r < of->node_size; r++, record++)
                CHECK(record->node == (uint32_t)of->rank &&
                      record->rank == (uint32_t)(of->rank + r));
        }
        sent = leader->sent > sent ? leader->sent : sent;
        received = leader->received > received ? leader->received : received;
        depth = leader->depth > depth ? leader->depth : depth;
    }
    printf(
        "%-10s %5d nodes, %7d ranks: a leader sends at most %u messages, and "
        "receives %u; depth %u\n",
        what, nodes, size, sent, received, depth);
    CHECK(sent <= 2 * log2_up((unsigned)nodes * RANKS_OF_NODE));
    CHECK(received <= 2 * log2_up((unsigned)nodes * RANKS_OF_NODE));
    CHECK(depth <= 2 * log2_up((unsigned)nodes));
}

static void world_close(void)
{
    for (int i = 0; i < nodes; i++)
        free(leaders[i].records);
    free(leaders);
    free(flying);
    free(ready);
    free(leader_of);
}

static void exchange(const char *what, int most, bool is_uneven, bool has_late)
{
    struct leader *late = NULL;

    world_open(most, is_uneven);
    if (has_late)
        late = &leaders[random_below((size_t)nodes)];
    for (int i = 0; i < nodes; i++)
        leader_wake(&leaders[i]);
    world_run(late);
    for (int i = 0; i < nodes && late != NULL; i++)
        CHECK(!leaders[i].is_done); /* without its records */
    if (late != NULL)
        leader_wake(late);
    world_run(NULL);
    world_check(what);
    world_close();
}

int main(int argc, char **argv)
{
    int most = 0;

    CHECK(argc == 3);
    nodes = atoi(argv[1]);
    most = atoi(argv[2]);
    CHECK(nodes > 1 && most > 0);
    exchange("even", most, false, false);
    exchange("uneven", most, true, false);
    exchange("late", most, false, true);
    return 0;
}
