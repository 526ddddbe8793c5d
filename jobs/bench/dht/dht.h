/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table spread over all ranks, and the ways to insert and to find. */
#ifndef BENCH_DHT_H
#define BENCH_DHT_H

#include "jobs/bench/base/clock.h"
#include "jobs/bench/dht/dht_plan.h"
#include "jobs/bench/dht/dht_table.h"
#include "jobs/bench/frame/duel.h"
#include "mercury_bulk.h"

struct dht;

/* One of the operations that may be under way. */
struct dht_turn {
    struct dht *dht;
    unsigned op; /* of dht->plan.mine */
    double posted_us;
    hg_handle_t handle; /* of those ways that need one */
};

/* A way to do it; each function but `place` is called by all ranks. */
struct dht_way {
    /* Where the value of plan.owned[position] lies, NULL: nowhere; or, with
     * `is_new`, is to lie: then it is found from now on. */
    unsigned char *(*place)(struct dht *dht, unsigned position, bool is_new);
    /* Before and after each batch. */
    void (*begin)(struct dht *dht);
    void (*end)(struct dht *dht);
    /* Ends dht->next to dht->last, with dht->window of them under way, and
     * serves meanwhile. */
    void (*run)(struct dht *dht);
    /* Serves until all ranks have come. */
    void (*meet)(struct dht *dht);
};

/* What a batch needs. Owned by bench_dht(). */
struct dht {
    struct pair *team;
    bool is_find; /* or inserts */
    size_t size;  /* bytes of a value */
    size_t stride;
    unsigned window;
    unsigned warm; /* operations before the clock starts, and then */
    unsigned ops;  /* of each rank */
    struct dht_plan plan;
    struct dht_table table;
    unsigned char *room; /* a slot for each operation: what is inserted, or
                          * comes back */
    hg_bulk_t room_handle;
    hg_bulk_t zone; /* the table's slots: memory of the library */
    size_t zone_len;
    hg_bulk_t *zones; /* of all ranks */
    hg_addr_t *addrs;
    uint32_t *granted; /* the slot at each rank that this one may fill */
    hg_id_t insert_id;
    hg_id_t find_id;
    hg_id_t commit_id;
    hg_id_t locate_id;
    struct dht_mpi *mpi; /* of dht_way_mpi, within a batch */
    MPI_Win win;         /* of dht_way_window: slots by position */
    unsigned char *win_slots;
    unsigned next; /* the operation to be posted next */
    unsigned last; /* and the end of them */
    unsigned under_way;
    double *samples; /* of the operations after the warm-up; NULL: not kept */
    struct dht_turn turns[OPTIONS_WINDOW_MAX];
};

extern const struct dht_way dht_way_rpc;     /* values within the calls */
extern const struct dht_way dht_way_landing; /* values by bulk transfers */
extern const struct dht_way dht_way_mpi;     /* requests and replies of MPI */
extern const struct dht_way dht_way_window;  /* values by MPI_Put, MPI_Get */

/* How many operations go before those of a batch. */
unsigned dht_warm_of(unsigned ops);

/* By all ranks; once the class is open. Registers what the ways need. */
void dht_rpc_register(struct dht *dht);
void dht_landing_register(struct dht *dht);

/* The place() of the ways that keep values in `table`. */
unsigned char *dht_table_place(struct dht *dht, unsigned position, bool is_new);
/* A slot that is free; ends the job when there is none. */
uint32_t dht_slot_take(struct dht *dht);
/* That of a key; ends the job when it has none. */
uint32_t dht_slot_find(struct dht *dht, uint64_t key);

/* The value of an operation, in the room; in front of it is its header. */
static inline unsigned char *dht_room_value(const struct dht *dht, unsigned op)
{
    return dht->room + (size_t)op * dht->stride + DHT_HEADER;
}

static inline const struct dht_op *dht_turn_op(const struct dht_turn *turn)
{
    return &turn->dht->plan.mine[turn->op];
}

/* The turn gets the next operation; false: there is none. */
static inline bool dht_turn_take(struct dht_turn *turn, double now_us)
{
    struct dht *dht = turn->dht;

    if (dht->next == dht->last)
        return false;
    turn->op = dht->next++;
    turn->posted_us = now_us;
    dht->under_way++;
    return true;
}

/* Its operation has ended; returns the time. */
static inline double dht_turn_end(struct dht_turn *turn)
{
    struct dht *dht = turn->dht;
    double now_us = clock_now_us();

    dht->under_way--;
    if (dht->samples != NULL)
        dht->samples[turn->op - dht->warm] = now_us - turn->posted_us;
    return now_us;
}

#endif
