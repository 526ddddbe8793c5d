/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table spread over all ranks, and the ways to insert and to find. */
#ifndef BENCH_DHT_H
#define BENCH_DHT_H

#include "jobs/bench/benches/dht_data.h"
#include "jobs/bench/frame/duel.h"
#include "mercury_bulk.h"

struct dht;

enum { INSERT, FIND, COMMIT, LOCATE, DHT_CALLS };

/* A way to do it; each function but `place` is called by all ranks. */
struct dht_way {
    /* The address of the value of plan.owned[position], NULL: none; or, with
     * `is_new`, its new address: then it is found from now on. */
    unsigned char *(*place)(struct dht *dht, unsigned position, bool is_new);
    /* Before and after each batch. */
    void (*begin)(struct dht *dht);
    void (*end)(struct dht *dht);
    /* Posts the next operation of a slot; and one look for news, which serves
     * other ranks, too. */
    void (*post)(struct flight_slot *slot);
    bool (*look)(struct flight *flight);
    /* Serves until all ranks have come. */
    void (*meet)(struct dht *dht);
};

/* State of a batch. Owned by bench_dht(). */
struct dht {
    struct pair *team;
    bool is_find; /* or inserts */
    size_t size;  /* bytes of a value */
    size_t stride;
    unsigned window;
    struct dht_plan plan;
    struct dht_table table; /* its slots are the zone */
    unsigned char *room;    /* a slot for each operation: what is inserted, or
                             * comes back */
    hg_bulk_t room_handle;
    hg_bulk_t zone;   /* memory of the library */
    hg_bulk_t *zones; /* of all ranks */
    hg_addr_t *addrs;
    uint32_t *granted; /* the slot at each rank that this one may fill */
    hg_id_t ids[DHT_CALLS];
    struct dht_mpi *mpi; /* of dht_way_mpi, within a batch */
    MPI_Win win;         /* of dht_way_window: slots by position */
    unsigned char *win_slots;
    unsigned next; /* the operation to be posted next */
    unsigned under_way[OPTIONS_WINDOW_MAX]; /* the operation of each slot */
    struct flight flight;
};

extern const struct dht_way dht_way_rpc;     /* values within the calls */
extern const struct dht_way dht_way_landing; /* values by bulk transfers */
extern const struct dht_way dht_way_mpi;     /* requests and replies of MPI */
extern const struct dht_way dht_way_window;  /* values by MPI_Put, MPI_Get */

/* By all ranks; once the class is open. Registers what the ways need. */
void dht_register(struct dht *dht);

/* The value of an operation, in the room; in front of it is its header. */
static inline unsigned char *dht_room_value(const struct dht *dht, unsigned op)
{
    return dht->room + (size_t)op * dht->stride + DHT_HEADER;
}

#endif
