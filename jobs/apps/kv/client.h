/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of the hash table: put, get, add. */
#ifndef KV_CLIENT_H
#define KV_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "margo.h"

/* Owned by its opener; used by any number of user-level threads. */
struct client {
    margo_instance_id mid;
    unsigned ranks;
    unsigned providers; /* of each rank; their ids are 1 to this number */
    hg_addr_t *addrs;   /* of the ranks */
    hg_id_t put_id;
    hg_id_t put_zone_id;
    hg_id_t get_id;
    hg_id_t get_zone_id;
    hg_id_t add_id;
};

/* `mid` is an instance of amalgam_margo_init(). */
hg_return_t client_open(
    struct client *client, margo_instance_id mid, unsigned providers);
void client_close(struct client *client);

/* Functions that wait for the owner of a key; HG_TIMEOUT: no answer. */

/* Stores a value for the key. */
hg_return_t client_put(
    struct client *client, const char *key, const void *value, size_t len);
/* The value of the key; the caller frees it by free(). HG_NOENTRY: none. */
hg_return_t client_get(
    struct client *client, const char *key, void **ret_value, size_t *ret_len);
/* Adds to the 64-bit number at the start of the value. */
hg_return_t client_add(
    struct client *client, const char *key, uint64_t addend, uint64_t *ret_sum);

#endif
