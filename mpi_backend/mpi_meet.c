/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting of the ranks while a domain opens.
 *
 * A blocking call of MPI spins until its time slice is over, although the rank
 * that it waits for may have no core: 64 ranks on 2 cores spent 13 s in 11 such
 * calls. So nothing here blocks: each wait tests, and yields the core between
 * two tests. MPI_Comm_split_type(), which has no non-blocking form, is not used
 * to find the ranks of a node.
 *
 *   greeting   a reduction over the user's communicator
 *   duplicates two of that communicator, made at the same time
 *   node       each rank enters a place in memory that its node shares; after a
 *              barrier of all ranks no further rank comes
 *   facts      a reduction
 *
 * The ranks of a node exchange all other data in that place, without messages;
 * the first rank of a node is its leader.
 *
 * The leaders, in order of rank, exchange records in log2 M steps (M nodes), as
 * in Bruck's allgather. In step k a leader sends its records to the leader 2^k
 * positions before itself, whose rank it knows. A probe tells the receiver the
 * rank of the sender. The receiver answers with the rank of the leader 2^k
 * positions before the receiver, to which the sender sends in step k + 1. */
#include "mpi_backend/mpi_meet.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/map.h"
#include "mpi_backend/mpi_place.h"

/* Tags on the communicator of data, on which nothing else is in flight. */
enum {
    TAG_BEFORE, /* answers records: to which rank to send in the next step */
    TAG_STEPS,  /* plus the number of a step, up to 31 */
};

enum { TEXT_CAP = 400, TAG_MAX_LEAST = 32767 };

static void greetings_reduce(
    void *one, void *both, int *count, MPI_Datatype *type)
{
    struct amg_mpi_greeting left;
    struct amg_mpi_greeting right;

    (void)count;
    (void)type;
    memcpy(&left, one, sizeof(left));
    memcpy(&right, both, sizeof(right));
    amg_mpi_greeting_reduce(&left, &right);
    memcpy(both, &right, sizeof(right));
}

static void facts_reduce(void *one, void *both, int *count, MPI_Datatype *type)
{
    struct amg_mpi_facts left;
    struct amg_mpi_facts right;

    (void)count;
    (void)type;
    memcpy(&left, one, sizeof(left));
    memcpy(&right, both, sizeof(right));
    amg_mpi_facts_reduce(&left, &right);
    memcpy(both, &right, sizeof(right));
}

/* Reduces `len` bytes of each rank, as one element of a datatype. */
static int bytes_reduce(
    MPI_Comm comm, void *bytes, size_t len, MPI_User_function *reduce)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Op op = MPI_OP_NULL;
    int rc = MPI_Type_contiguous((int)len, MPI_BYTE, &type);

    if (rc == MPI_SUCCESS)
        rc = MPI_Type_commit(&type);
    if (rc == MPI_SUCCESS)
        rc = MPI_Op_create(reduce, 1, &op);
    if (rc == MPI_SUCCESS)
        rc = MPI_Iallreduce(MPI_IN_PLACE, bytes, 1, type, op, comm, &request);
    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    if (op != MPI_OP_NULL)
        MPI_Op_free(&op);
    if (type != MPI_DATATYPE_NULL)
        MPI_Type_free(&type);
    return rc;
}

static int comms_make(MPI_Comm user, struct amg_mpi_comm *comm)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int rc = MPI_Comm_idup(user, &comm->messages, &requests[0]);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_idup(user, &comm->data, &requests[1]);
    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(2, requests);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(comm->messages, MPI_ERRORS_RETURN);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(comm->data, MPI_ERRORS_RETURN);
    return rc;
}

static uint64_t text_hash(uint64_t hash, const char *text)
{
    return text == NULL ? hash : amg_hash(hash, text, strlen(text));
}

/* A number for this node and this opening: a hash of the nonce, of the name of
 * the host or container, and of the launcher's name for the node, as Hydra and
 * Slurm may start the ranks of several nodes on one host. */
static uint64_t node_number(uint64_t nonce)
{
    uint64_t hash = amg_hash(AMG_HASH_EMPTY, &nonce, sizeof(nonce));
    char text[AMG_MPI_HOST_CAP] = "";

    if (gethostname(text, sizeof(text) - 1) == 0)
        hash = text_hash(hash, text);
    hash = text_hash(hash, getenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME"));
    return text_hash(hash, getenv("SLURMD_NODENAME"));
}

/* Finds the ranks of this node. */
static hg_return_t node_find(struct amg_mpi_comm *comm, uint64_t nonce)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;

    comm->place = amg_mpi_place_enter(comm, node_number(nonce));
    rc = MPI_Ibarrier(comm->data, &request);
    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "meeting the ranks of this node");
    if (comm->place == NULL)
        return HG_NOMEM;
    amg_mpi_place_settle(comm->place, comm);
    return HG_SUCCESS;
}

hg_return_t amg_mpi_meet_greet(
    MPI_Comm user, struct amg_mpi_greeting *greeting, struct amg_mpi_comm *comm)
{
    char text[TEXT_CAP];
    int rc = MPI_Comm_rank(user, &comm->rank);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size(user, &comm->size);
    amg_mpi_library_fill((uint32_t)comm->rank, &greeting->first);
    greeting->other = (struct amg_mpi_library){.rank = AMG_MPI_NO_RANK};
    if (rc == MPI_SUCCESS)
        rc = bytes_reduce(user, greeting, sizeof(*greeting), greetings_reduce);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "greeting the other ranks");
    if (amg_mpi_greeting_fits(greeting, text, sizeof(text)))
        return HG_SUCCESS;
    AMG_LOG_ERROR("cls", "%s", text);
    return HG_PROTOCOL_ERROR;
}

hg_return_t amg_mpi_meet_ranks(
    MPI_Comm user, uint64_t nonce, struct amg_mpi_comm *comm)
{
    int *tag_max = NULL;
    int flag = 0;
    int rc = comms_make(user, comm);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_get_attr(comm->messages, MPI_TAG_UB, &tag_max, &flag);
    comm->tag_max = rc == MPI_SUCCESS && flag ? *tag_max : TAG_MAX_LEAST;
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "duplicating the communicator");
    return node_find(comm, nonce);
}

/* Whether MPI_COMM_WORLD of this rank has more processes than the class. False
 * if MPI was started by sessions only. */
static bool world_is_larger(int size)
{
    int has_world = 0;
    int all = 0;

    return MPI_Initialized(&has_world) == MPI_SUCCESS && has_world &&
           MPI_Comm_size(MPI_COMM_WORLD, &all) == MPI_SUCCESS && all > size;
}

hg_return_t amg_mpi_meet_facts(struct amg_mpi_comm *comm, bool has_failed)
{
    struct amg_mpi_facts facts;
    int rc = MPI_SUCCESS;

    amg_mpi_facts_init(&facts, (uint32_t)comm->rank, comm->node_rank == 0,
        world_is_larger(comm->size), has_failed);
    amg_mpi_facts_add_node(&facts, (uint32_t)comm->node_size,
        comm->node_first + (uint32_t)comm->node_rank == (uint32_t)comm->rank,
        comm->node_first + (uint32_t)comm->node_size == (uint32_t)comm->size);
    rc = bytes_reduce(comm->data, &facts, sizeof(facts), facts_reduce);
    if (rc != MPI_SUCCESS)
        return amg_mpi_comm_error(rc, "agreeing with all ranks");
    AMG_ASSERT(facts.nodes > 0 && facts.nodes <= (uint32_t)comm->size);
    AMG_ASSERT(
        facts.leaders[0] == 0 && facts.last_leader < (uint32_t)comm->size);
    comm->facts = facts;
    return facts.failed > 0 ? HG_NOMEM : HG_SUCCESS;
}

/* The leader with the next lower rank; for rank 0, the last leader. */
static int leader_before(const struct amg_mpi_comm *comm, int *ret_before)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int mine = comm->node_rank == 0 ? comm->rank : -1;
    int before = -1;
    int rc =
        MPI_Iexscan(&mine, &before, 1, MPI_INT, MPI_MAX, comm->data, &request);

    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(1, &request);
    AMG_ASSERT(rc != MPI_SUCCESS || comm->rank == 0 || before >= 0);
    *ret_before = comm->rank == 0 ? (int)comm->facts.last_leader : before;
    return rc;
}

/* The records that a leader has: of its own node and of the nodes behind. */
struct collection {
    MPI_Comm data;
    MPI_Datatype record;
    size_t record_len;
    unsigned char *records;
    int count;     /* number of records so far */
    int count_all; /* number of records in the end: one per rank */
    int nodes;     /* number of nodes whose records are here */
    int nodes_all;
    int before; /* rank of the leader `nodes` positions before this leader */
};

/* Number of records of the first `nodes` nodes. */
static int count_of(const struct collection *collection, int nodes)
{
    uint32_t node = 0;
    uint32_t last = 0;
    int count = 0;

    if (nodes == collection->nodes)
        return collection->count;
    for (; count < collection->count; count++) {
        memcpy(&node,
            collection->records + (size_t)count * collection->record_len,
            sizeof(node));
        if ((count == 0 || node != last) && nodes-- == 0)
            break;
        last = node;
    }
    return count;
}

/* Probes, with pauses, until a message has come for MPI_Imrecv(). */
static int message_wait(
    int tag, MPI_Comm comm, MPI_Message *ret_message, MPI_Status *ret_status)
{
    int flag = 0;

    for (unsigned tests = 0;; tests++) {
        int rc = MPI_Improbe(
            MPI_ANY_SOURCE, tag, comm, &flag, ret_message, ret_status);

        if (rc != MPI_SUCCESS || flag)
            return rc;
        amg_mpi_comm_pause(tests);
    }
}

/* Sends records to the leader of rank `before`, which lacks them. Receives as
 * many nodes' records from the leader behind, and answers with `before`. */
static int collection_grow(struct collection *collection, int step)
{
    MPI_Comm data = collection->data;
    int left = collection->nodes_all - collection->nodes;
    int nodes = left < collection->nodes ? left : collection->nodes;
    int before = collection->before;
    MPI_Request requests[4];
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int got = 0;
    int rc = MPI_Isend(collection->records, count_of(collection, nodes),
        collection->record, before, TAG_STEPS + step, data, &requests[0]);

    if (rc == MPI_SUCCESS)
        rc = MPI_Irecv(&collection->before, 1, MPI_INT, before, TAG_BEFORE,
            data, &requests[1]);
    if (rc == MPI_SUCCESS)
        rc = message_wait(TAG_STEPS + step, data, &message, &status);
    if (rc == MPI_SUCCESS)
        rc = MPI_Get_count(&status, collection->record, &got);
    if (rc != MPI_SUCCESS)
        return rc;
    AMG_ASSERT(got >= nodes); /* a node has at least one rank */
    AMG_ASSERT(got <= collection->count_all - collection->count);
    rc = MPI_Imrecv(collection->records +
                        (size_t)collection->count * collection->record_len,
        got, collection->record, &message, &requests[2]);
    if (rc == MPI_SUCCESS)
        rc = MPI_Isend(&before, 1, MPI_INT, status.MPI_SOURCE, TAG_BEFORE, data,
            &requests[3]);
    if (rc == MPI_SUCCESS)
        rc = amg_mpi_comm_wait(4, requests);
    collection->count += got;
    collection->nodes += nodes;
    return rc;
}

static int collection_run(struct collection *collection)
{
    int rc = MPI_Type_contiguous(
        (int)collection->record_len, MPI_BYTE, &collection->record);

    if (rc == MPI_SUCCESS)
        rc = MPI_Type_commit(&collection->record);
    for (int step = 0;
         collection->nodes < collection->nodes_all && rc == MPI_SUCCESS; step++)
        rc = collection_grow(collection, step);
    if (rc == MPI_SUCCESS)
        rc = MPI_Type_free(&collection->record);
    return rc;
}

int amg_mpi_meet_collect(const struct amg_mpi_comm *comm, const void *mine,
    uint32_t len, void *ret_all)
{
    struct collection collection = {
        .data = comm->data,
        .record = MPI_DATATYPE_NULL,
        .record_len = len,
        .records = ret_all,
        .count = comm->node_size,
        .count_all = comm->size,
        .nodes = 1,
        .nodes_all = (int)comm->facts.nodes,
    };
    bool is_leader = comm->node_rank == 0;
    int rc = leader_before(comm, &collection.before);

    if (rc == MPI_SUCCESS)
        rc = amg_mpi_place_allgather(
            comm->place, mine, len, is_leader ? ret_all : NULL);
    if (rc == MPI_SUCCESS && is_leader)
        rc = collection_run(&collection);
    return rc;
}
