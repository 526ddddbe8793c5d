/* SPDX-License-Identifier: BSD-3-Clause */
/* Wire format of messages between ranks: every message begins with eight bytes.
 *
 *   byte  0      1        2  3     4  5  6  7    8 ...
 *       +------+---------+--------+------------+----------------------+
 *       | kind | context | credits|   cookie   | body, by the kind    |
 *       +------+---------+--------+------------+----------------------+
 *   kind     the magic bits 0xa0 and one of the kinds below
 *   context  the context of the sender, to which answers go; of PACK: unused
 *   credits  number of the receiver's one-way requests that the sender released
 *   cookie   index in the origin's table of calls or of transfers, and a
 *            generation of ten bits (transport/table.h). No other entry of that
 *            table has the cookie until the last answer has come; a table has
 *            up to 4 million entries. In the DISCONNECT kinds: `round` of
 *            mpi_disconnect_tree.h; in CREDIT: a note of flow control
 *            (transport/flow.h); in PACK: the number of calls
 *
 *   kind            from       body, amg_mpi_*       means
 *   REQUEST         origin     the poster's bytes    wants a reply
 *   ONEWAY          origin     the poster's bytes    no reply
 *   REPLY           target     the poster's bytes    returns one credit
 *   REFUSE          target     refuse                one credit, and a code
 *   CREDIT          either     -                     credits, and a note
 *   PACK            either     calls                 several REQUEST, ONEWAY,
 *                                                    REPLY or REFUSE: see
 *                                                    transport/pack.h
 *   LONG            either     long                  a REQUEST, ONEWAY or REPLY
 *                                                    follows on `data`
 *   GET             initiator  bulk_request          send these bytes
 *   PUT             initiator  bulk_request          bytes to be written
 *   PUT_AHEAD       initiator  bulk_request          a PUT whose first
 *                                                    fragments are in flight
 *   PUT_NOW         initiator  bulk_request, bytes   a PUT with its bytes
 *   GET_DATA        exposer    the bytes             a small get's answer
 *   PUT_READY       exposer    -                     receives are posted
 *   DONE            exposer    done                  a code, and a length
 *   STOP            initiator  stop                  end early; of a put, how
 *                                                    many bytes were sent
 *   HALT            exposer    -                     asks for STOP
 *   SYNC            either     sync                  asks for progress and an
 *                                                    answer; or is the answer
 *   DISCONNECT          child  -                     its subtree is closing
 *   DISCONNECT_AGAIN    parent -                     all closed: close again
 *   DISCONNECT_ALL      above  missing               all but the missing close
 *   DISCONNECT_ASK      parent -                     which ranks are missing?
 *   DISCONNECT_MISSING  child  missing               the missing ranks
 *
 * Integers have the byte order of the machine: all ranks of a job share one
 * order. Fragments of large transfers are messages without a header, on the
 * communicator `data`, with the tag of their transfer. Long messages, which
 * LONG announces, use that communicator, too, with higher tags, each of which
 * is a queue (mpi_long.c). */
#ifndef AMG_MPI_BACKEND_MPI_WIRE_H
#define AMG_MPI_BACKEND_MPI_WIRE_H

#include <assert.h>
#include <stdint.h>

enum amg_mpi_kind {
    AMG_MPI_REQUEST,
    AMG_MPI_ONEWAY,
    AMG_MPI_REPLY,
    AMG_MPI_REFUSE,
    AMG_MPI_CREDIT,
    AMG_MPI_PACK,
    AMG_MPI_LONG,
    AMG_MPI_GET,
    AMG_MPI_PUT,
    AMG_MPI_PUT_AHEAD,
    AMG_MPI_PUT_NOW,
    AMG_MPI_GET_DATA,
    AMG_MPI_PUT_READY,
    AMG_MPI_DONE,
    AMG_MPI_STOP,
    AMG_MPI_HALT,
    AMG_MPI_SYNC,
    AMG_MPI_DISCONNECT,
    AMG_MPI_DISCONNECT_ALL,
    AMG_MPI_DISCONNECT_ASK,
    AMG_MPI_DISCONNECT_MISSING,
    AMG_MPI_DISCONNECT_AGAIN,
    AMG_MPI_KIND_COUNT
};

enum {
    AMG_MPI_WIRE_VERSION = 5, /* to be raised with each change of the format */
    AMG_MPI_MAGIC = 0xa0,     /* the three high bits of the first byte */
    AMG_MPI_MAGIC_MASK = 0xe0,
    AMG_MPI_NAMED_MAX = 16, /* missing ranks that are named; more are counted */
};

struct amg_mpi_header {
    uint8_t kind;
    uint8_t context;
    uint16_t credits;
    uint32_t cookie;
};

struct amg_mpi_refuse {
    uint32_t code;
};

/* An announcement and its long message have the same context and cookie, and go
 * to the same endpoint. */
struct amg_mpi_long {
    uint32_t len;    /* of the long message, with its header */
    uint8_t kind;    /* REQUEST, ONEWAY or REPLY */
    uint8_t context; /* to which the announcement goes */
    uint16_t unused;
};

/* Key of exposed memory. */
struct amg_mpi_key {
    uint32_t cookie; /* index in the exposer's table */
    uint32_t serial; /* of the registration; `salt` changes when the serial
                      * wraps, so no key becomes valid again */
    uint32_t salt;   /* of the exposer */
    uint32_t desc;   /* way << 30 | index of the descriptor; 0: by messages */
};

/* The initiator chooses the fragment length, which both sides then use. */
struct amg_mpi_bulk_request {
    struct amg_mpi_key key;
    uint32_t segment;
    uint32_t fragment_len;
    uint64_t offset;
    uint64_t len;
};

struct amg_mpi_done {
    uint32_t code;
    uint32_t unused;
    uint64_t len; /* bytes moved, from the start: whole fragments, or all */
};

struct amg_mpi_stop {
    uint64_t len; /* of a put: bytes that were sent; of a get: all */
    uint32_t is_put;
    uint32_t unused;
};

/* Sent after puts through a window; see mpi_rma_op.c. */
struct amg_mpi_sync {
    uint32_t is_answer;
    /* Counts the SYNCs to a target, and wraps. At most AMG_MPI_TRANSFERS SYNCs
     * have no answer, one per transfer in flight: so the sign of the difference
     * of two numbers tells which is later. */
    uint32_t number;
};

/* Ranks that are not closing, or do not answer. */
struct amg_mpi_missing {
    uint32_t count;
    uint32_t unasked; /* ranks in the subtrees of ranks that do not answer */
    uint32_t ranks[AMG_MPI_NAMED_MAX]; /* the lowest ones */
};

static inline unsigned amg_mpi_kind_of(const struct amg_mpi_header *header)
{
    return header->kind & ~(unsigned)AMG_MPI_MAGIC_MASK;
}

static_assert(sizeof(struct amg_mpi_header) == 8, "the table above");
static_assert(sizeof(struct amg_mpi_long) == 8, "no holes on the wire");
static_assert(AMG_MPI_KIND_COUNT <= 0x20, "a kind has five bits");
static_assert(
    sizeof(struct amg_mpi_bulk_request) == 40, "no holes on the wire");
static_assert(sizeof(struct amg_mpi_done) == 16, "no holes on the wire");

#endif
