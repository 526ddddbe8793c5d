/* SPDX-License-Identifier: BSD-3-Clause */
/* Random bytes from a rank: its peers drop or answer them, and go on. */
#include <string.h>

#include "pair.h"

enum { ROUNDS = 4000, BODY_MAX = 96, EXPOSED = 4096 };

/* Fixed, so that a failure repeats. */
static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint32_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

static void message_send(const void *bytes, int len, int rank)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(pair_domain);
    MPI_Request request;
    int flag = 0;

    MPI_Isend(bytes, len, MPI_BYTE, rank, amg_mpi_tag(domain, 0),
        domain->comm.messages, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        pair_poll();
    }
}

/* Random bytes behind a header that is often right in part. DISCONNECT is left
 * out: a false one would disturb the end of the test. */
static void noise_send(int rank)
{
    struct {
        struct amg_mpi_header header;
        uint8_t body[BODY_MAX];
    } message;
    uint32_t kind = random_next() % AMG_MPI_DISCONNECT;

    message.header.kind = (uint8_t)(AMG_MPI_MAGIC | kind);
    if (random_next() % 8 == 0)
        message.header.kind = (uint8_t)random_next() | 0x0f;
    message.header.context = (uint8_t)(random_next() % 3);
    message.header.credits =
        random_next() % 4 == 0 ? (uint16_t)(random_next() | 0x8000) : 0;
    message.header.cookie = random_next() % 4 == 0 ? random_next() : 0;
    if (kind == AMG_MPI_REQUEST)
        message.header.cookie = UINT32_MAX; /* its answer fits no call here */
    for (int i = 0; i < BODY_MAX; i++)
        message.body[i] = (uint8_t)random_next();
    message_send(&message, (int)(random_next() % sizeof(message)), rank);
}

/* The key is right; one word of the access is not. */
static void access_send(const struct amg_key *key, unsigned variant, int rank)
{
    struct {
        struct amg_mpi_header header;
        struct amg_mpi_bulk_request access;
    } message = {{AMG_MPI_MAGIC | AMG_MPI_PUT, 0, 0, 0},
        {.fragment_len = 4096, .len = EXPOSED}};

    memcpy(&message.access, key->bytes, key->len);
    if (variant % 2 == 0)
        message.header.kind = AMG_MPI_MAGIC | AMG_MPI_GET;
    switch (variant / 2 % 6) {
    case 0:
        message.access.fragment_len = 0;
        break;
    case 1:
        message.access.fragment_len = UINT32_MAX;
        break;
    case 2:
        message.access.offset = UINT64_MAX;
        break;
    case 3:
        message.access.len = UINT64_MAX;
        break;
    case 4:
        message.access.segment = 1;
        break;
    default:
        message.access.key.salt ^= 1;
        break;
    }
    message_send(&message, (int)sizeof(message), rank);
}

int main(void)
{
    static uint8_t memory[EXPOSED];
    const struct amg_segment segment = {memory, sizeof(memory)};
    struct amg_mem *mem = NULL;
    struct amg_key key;
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    pair_open(0);
    CHECK(pair_t->bulk.reg(pair_domain, &segment, 1,
              AMG_MEM_READ | AMG_MEM_WRITE, &mem) == HG_SUCCESS);
    pair_t->bulk.key(mem, &key);
    pair_key(&key, 0);
    if (pair_rank == 1) {
        for (unsigned i = 0; i < 24; i++)
            access_send(&key, i, 0);
        for (unsigned i = 0; i < ROUNDS; i++)
            noise_send(0);
        pair_ask(0, 0); /* does not overtake the noise */
    }
    pair_sync(false);
    for (size_t i = 0; i < sizeof(memory); i++)
        CHECK(memory[i] == 0);
    for (uint32_t i = 0; i < 100; i++)
        pair_ask(1 - pair_rank, i);
    pair_sync(false);
    CHECK(pair_t->bulk.unreg(pair_domain, mem, 1000) == HG_SUCCESS);
    pair_close();
    MPI_Finalize();
    return EXIT_SUCCESS;
}
