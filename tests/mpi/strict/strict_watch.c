/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the user gave to MPI until a request is complete.
 *
 * Outgoing bytes have the same sum at the start and when MPI has completed the
 * request; the user may learn of that later. In between they may change: when
 * the receiver has all bytes, the memory behind them may be reused, although no
 * test has told its owner so. (By the letter of the standard that is too early;
 * no MPI reads bytes again that were received.) Incoming bytes
 * arrive in memory of the stand-in; the user's memory is full of garbage until
 * completion, so that early reads are seen by the reader, and early writes
 * here. What the message does not fill is as it was before. */
#include <stdlib.h>
#include <string.h>

#include "mpi/strict/strict_request.h"

enum { GARBAGE = 0xdb };

uint64_t strict_sum(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t sum = len;
    uint64_t word = 0;

    for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
        sum ^= sum >> 29;
    }
    word = 0;
    memcpy(&word, at, len);
    return (sum ^ word) * 0x9e3779b97f4a7c15ull;
}

MPI_Aint strict_type_len(MPI_Datatype type, MPI_Aint count)
{
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_low = 0;
    MPI_Aint true_extent = 0;
    int size = 0;

    if (type == MPI_BYTE)
        return count;
    if (type == MPI_DATATYPE_NULL || count < 0 ||
        PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0)
        return -1;
    (void)PMPI_Type_get_extent(type, &low, &extent);
    (void)PMPI_Type_get_true_extent(type, &true_low, &true_extent);
    if (low != 0 || true_low != 0 || extent != size || true_extent != size)
        return -1;
    return count * size;
}

/* Whether another request has the memory, too, and one of them fills it. */
static bool memory_is_shared(
    const unsigned char *user, size_t len, bool is_incoming)
{
    struct strict_request *other = NULL;
    bool is_shared = false;

    while ((other = strict_request_each(other)) != NULL) {
        bool fills = other->kind == STRICT_RECV || other->kind == STRICT_GET;

        if (other->user == NULL || (!is_incoming && !fills) ||
            user >= other->user + other->len || other->user >= user + len)
            continue;
        other->is_shared = true;
        is_shared = true;
        if (strict_choice(STRICT_OVERLAP) != 0)
            strict_finding(
                "%zu bytes at %p overlap %zu bytes at %p that %s uses", len,
                (const void *)user, other->len, (void *)other->user,
                other->call);
    }
    return is_shared;
}

void strict_watch_out(
    struct strict_request *request, const void *user, size_t len)
{
    request->is_shared = memory_is_shared(user, len, false);
    request->user = (void *)(uintptr_t)user;
    request->len = len;
    request->sum = strict_sum(user, len);
}

void *strict_watch_in(struct strict_request *request, void *user, size_t len)
{
    request->is_shared = memory_is_shared(user, len, true);
    request->user = user;
    request->len = len;
    if (request->is_shared || strict_choice(STRICT_POISON) == 0)
        return user;
    request->shadow = malloc(len > 0 ? len : 1);
    if (request->shadow == NULL)
        abort();
    memcpy(request->shadow, user, len);
    memset(user, GARBAGE, len);
    return request->shadow;
}

static bool is_garbage(const unsigned char *bytes, size_t len)
{
    return len == 0 ||
           (bytes[0] == GARBAGE && memcmp(bytes, bytes + 1, len - 1) == 0);
}

void strict_watch_out_end(struct strict_request *request)
{
    if (request->user != NULL && !request->is_shared &&
        strict_sum(request->user, request->len) != request->sum)
        strict_finding("%zu bytes that %s sends changed before completion",
            request->len, request->call);
    request->user = NULL;
}

void strict_watch_end(struct strict_request *request)
{
    if (request->user == NULL || request->shadow == NULL)
        return;
    if (!request->is_shared && !is_garbage(request->user, request->len))
        strict_finding("%zu bytes for %s were written before completion",
            request->len, request->call);
    memcpy(request->user, request->shadow, request->len);
}
