/* SPDX-License-Identifier: BSD-3-Clause */
/* What senders and servers say to each other.
 *
 *   checkpoint_part   one part of a file, at most PART_LEN bytes. The first has
 *                     offset 0 and opens the file, the one that reaches its
 *                     size commits it, so a small file is one call. Parts of a
 *                     file are sent in order, and several at once.
 *   checkpoint_beat   to rank 0: how far a sender has come; the reply is empty
 *
 * A file is known by the rank that sends it and its number in the list. */
#ifndef CHECKPOINT_PART_H
#define CHECKPOINT_PART_H

#include "mercury_macros.h"
#include "mercury_proc_string.h"

#define PART_RPC "checkpoint_part"
#define BEAT_RPC "checkpoint_beat"

enum {
    PIECE_LEN = 1 << 20, /* bytes that a server pulls at once */
    PART_PIECES = 4,     /* such pieces in flight for one file */
    PART_LEN = PART_PIECES * PIECE_LEN,
    FILE_PARTS = 2, /* parts of a file under way at once */
};

/* What a part asks for. */
enum part_verb {
    PART_STORE, /* take these bytes */
    PART_DROP,  /* forget the file: its sender could not read all of it */
};

MERCURY_GEN_PROC(
    part_in_t, ((uint64_t)(file))((uint64_t)(size))((uint64_t)(offset))(
                   (uint64_t)(len))((uint64_t)(hash))((uint32_t)(mode))(
                   (uint32_t)(verb))((hg_string_t)(name))((hg_bulk_t)(data)))

/* `error` is an errno, 0 when all went well; `text` says what failed. `hash` is
 * the server's, in the answer to the last part. */
MERCURY_GEN_PROC(
    part_out_t, ((uint64_t)(hash))((int32_t)(error))((hg_string_t)(text)))

/* What was verified since the last beat. */
MERCURY_GEN_PROC(
    beat_in_t, ((uint64_t)(files))((uint64_t)(bytes))((uint32_t)(is_done)))

#endif
