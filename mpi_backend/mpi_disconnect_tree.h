/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol of the collective disconnect, as a state machine of one rank: its
 * inputs are messages and the time, its outputs messages; it does not call MPI.
 *
 * The ranks form a tree. A subtree is a range of ranks, whose first rank r is
 * the root; the others are cut into at most AMG_MPI_TREE_CHILDREN equal ranges
 * (the last may be shorter), which are the subtrees of r's children.
 *
 *   rank      0                          of 14, with 4 children
 *           / |  \   \
 *   ranks  1   5   9   13
 *         /|\ /|\ /|\
 *        2 3 4 ...   12
 *
 *   DISCONNECT          to the parent   the sender's whole subtree is closing,
 *                                       or the sender gave up; also answers ASK
 *   DISCONNECT_AGAIN    to children     all ranks have closed; close again
 *   DISCONNECT_ALL      to children*    the end: all but the named ranks close
 *   DISCONNECT_ASK      to children     which ranks below are missing?
 *   DISCONNECT_MISSING  to the parent   answers ASK: the missing ranks
 *
 * A rank that is closing still serves the others, and its handlers may make
 * calls. So the ranks close in phases: when all ranks have closed, all close
 * once more, and each tells whether it made calls since its previous close. The
 * last phase is the first after phase 0 in which no rank made calls. No call is
 * lost: let T be the moment when rank 0 ended the phase before the last one. By
 * then each rank had closed in that phase, after its calls were handled and
 * answered; each rank closed again only after T, and told that it had made no
 * call in between. So at T no call was in flight, and no running handler would
 * make one. The phases end as soon as handlers stop making calls.
 *
 * Each rank computes its parent and children: nothing is exchanged when the
 * class opens, and there is no table of ranks. Launchers place neighbours on
 * one node, so most subtrees lie within a node: with 128 ranks on each of
 * 10,000 nodes, 26 messages per node leave the node. A rank sends and receives
 * at most 2 (children + 1) messages for each phase, and as many each time that
 * rank 0 asks. There are two phases if handlers make no calls. The depth of the
 * tree is the logarithm of the number of ranks to the base of
 * AMG_MPI_TREE_CHILDREN. A tree of node leaders would save twenty messages per
 * node, and cost an exchange between all ranks when the class opens.
 *
 * A rank that is asked answers when its children have answered, or after a time
 * that grows with the height of its subtree. The answer names silent children,
 * and counts the ranks below them, which cannot be asked. (*) DISCONNECT_ALL
 * goes to a named child's children in place of that child. Model:
 * tests/models/class_end.pml. */
#ifndef AMG_MPI_BACKEND_MPI_DISCONNECT_TREE_H
#define AMG_MPI_BACKEND_MPI_DISCONNECT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi_backend/mpi_wire.h"

enum {
    AMG_MPI_TREE_CHILDREN = 4,
    AMG_MPI_TREE_ANSWER_MS = 300, /* per level below the rank that asks */
};

#define AMG_MPI_TREE_GONE UINT32_MAX

/* Owned by the struct that embeds it, and guarded by its lock. */
struct amg_mpi_tree {
    uint32_t rank;
    uint32_t size;
    uint32_t parent;    /* rank 0 is its own parent */
    uint32_t count;     /* ranks of the subtree whose root is `rank` */
    uint32_t down_next; /* the next rank that may get DISCONNECT_ALL */
    uint32_t round;     /* number of the only open question; an answer to
                         * another question is ignored */
    uint32_t phase;     /* of the disconnect, from 0 on */
    uint32_t posted;    /* calls that this rank had made at its last close */
    uint64_t until_ns;  /* answers are awaited until this time */
    /* A bit per child: */
    uint8_t closing;   /* the child's subtree is closing */
    uint8_t asked;     /* the child's answer is awaited */
    uint8_t to_ask;    /* subset of `asked`: DISCONNECT_ASK is to be sent */
    uint8_t to_repeat; /* DISCONNECT_AGAIN is to be sent */
    uint8_t gone;      /* subset of `closing`: gave up, gets no more phases */
    bool is_dirty;     /* the subtree made calls since the previous phase */
    bool is_closing;   /* `rank` has closed in this phase */
    bool has_told;     /* DISCONNECT of this phase was sent, or is not due */
    bool is_asking;    /* a question is open at this rank */
    bool is_over;      /* the disconnect is complete, or given up */
    bool is_broken;    /* ranks are missing: this rank or rank 0 gave up */
    struct amg_mpi_missing missing; /* the answer; if `is_over`: the outcome */
};

struct amg_mpi_tree_message {
    uint32_t rank; /* the sender; before sending: the receiver */
    /* Of ASK, MISSING: number of the question; of DISCONNECT_AGAIN: the phase
     * that begins; of DISCONNECT: twice the phase, plus 1 if the sender is
     * dirty, or AMG_MPI_TREE_GONE if the sender has given up. */
    uint32_t round;
    enum amg_mpi_kind kind;
    struct amg_mpi_missing missing; /* of DISCONNECT_ALL, DISCONNECT_MISSING */
};

void amg_mpi_tree_init(struct amg_mpi_tree *tree, uint32_t rank, uint32_t size);
/* Closes this rank in the present phase; `posted` is the number of its calls
 * since the start, modulo 2^32. To be called whenever this rank's calls are
 * over and `is_closing` is not set. */
void amg_mpi_tree_close(struct amg_mpi_tree *tree, uint32_t posted);
/* False: the sender violates the protocol; nothing has changed. */
bool amg_mpi_tree_receive(struct amg_mpi_tree *tree,
    const struct amg_mpi_tree_message *message, uint64_t now_ns);
/* Rank 0 asks which ranks are missing. */
void amg_mpi_tree_ask(struct amg_mpi_tree *tree, uint64_t now_ns);
/* After `until_ns`: ends the wait for answers; silent children are missing. */
void amg_mpi_tree_look(struct amg_mpi_tree *tree, uint64_t now_ns);
/* True once, at rank 0: the answer has come, and is in `missing`. */
bool amg_mpi_tree_is_answered(struct amg_mpi_tree *tree);
/* Ends the disconnect here without the missing ranks. Rank 0 names them in
 * `missing`, with each child that has not answered. */
void amg_mpi_tree_give_up(struct amg_mpi_tree *tree);
/* The next message to be sent; false: none. */
bool amg_mpi_tree_next(
    struct amg_mpi_tree *tree, struct amg_mpi_tree_message *ret_message);

/* The disconnect is over, and this rank has nothing more to send. */
static inline bool amg_mpi_tree_is_done(const struct amg_mpi_tree *tree)
{
    return tree->is_over && tree->down_next == tree->rank + tree->count;
}

/* The longest time until rank 0 has an answer. */
unsigned amg_mpi_tree_answer_ms(const struct amg_mpi_tree *tree);

#endif
