/* SPDX-License-Identifier: BSD-3-Clause */
/* Client of the hash table.
 *
 * A small value travels in the call or its reply. For a large value the client
 * exposes memory - the value, or a buffer for it - and the provider moves the
 * bytes while the call waits. */
#include "jobs/apps/kv/client.h"

#include <stdlib.h>
#include <string.h>

#include "amalgam_margo.h"
#include "jobs/apps/kv/wire.h"

/* Limit of a call; a rank that is silent for longer is not going to answer. */
static const double patience_ms = 30000.0;

static void rpcs_register(struct client *client)
{
    margo_instance_id mid = client->mid;

    client->put_id =
        MARGO_REGISTER(mid, "kv_put", kv_put_in_t, kv_put_out_t, NULL);
    client->put_zone_id =
        MARGO_REGISTER(mid, "kv_put_zone", kv_zone_in_t, kv_zone_out_t, NULL);
    client->get_id =
        MARGO_REGISTER(mid, "kv_get", kv_get_in_t, kv_get_out_t, NULL);
    client->get_zone_id =
        MARGO_REGISTER(mid, "kv_get_zone", kv_zone_in_t, kv_zone_out_t, NULL);
    client->add_id =
        MARGO_REGISTER(mid, "kv_add", kv_add_in_t, kv_add_out_t, NULL);
}

hg_return_t client_open(
    struct client *client, margo_instance_id mid, unsigned providers)
{
    int ranks = 0;
    hg_return_t ret = amalgam_class_ranks(margo_get_class(mid), NULL, &ranks);

    if (ret != HG_SUCCESS)
        return ret;
    client->mid = mid;
    client->ranks = 0;
    client->providers = providers;
    client->addrs = calloc((size_t)ranks, sizeof(*client->addrs));
    if (client->addrs == NULL)
        return HG_NOMEM;
    for (int rank = 0; rank < ranks && ret == HG_SUCCESS; rank++) {
        ret =
            amalgam_addr_rank(margo_get_class(mid), rank, &client->addrs[rank]);
        if (ret == HG_SUCCESS)
            client->ranks++;
    }
    rpcs_register(client);
    return ret;
}

void client_close(struct client *client)
{
    for (unsigned i = 0; i < client->ranks; i++)
        margo_addr_free(client->mid, client->addrs[i]);
    free(client->addrs);
    client->addrs = NULL;
    client->ranks = 0;
}

/* Calls the owner of the key. On success the caller frees `out` by call_end();
 * else there is nothing to free. */
static hg_return_t call_make(struct client *client, hg_id_t id, const char *key,
    void *in, void *out, hg_handle_t *ret_handle)
{
    uint64_t hash = kv_hash(key);
    unsigned rank = (unsigned)(hash % client->ranks);
    unsigned provider = (unsigned)(hash / client->ranks % client->providers);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret =
        margo_create(client->mid, client->addrs[rank], id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = margo_provider_forward_timed(
        (uint16_t)(provider + 1), handle, in, patience_ms);
    if (ret == HG_SUCCESS)
        ret = margo_get_output(handle, out);
    if (ret == HG_SUCCESS)
        *ret_handle = handle;
    else
        margo_destroy(handle);
    return ret;
}

static void call_end(hg_handle_t handle, void *out)
{
    margo_free_output(handle, out);
    margo_destroy(handle);
}

static hg_return_t put_small(
    struct client *client, const char *key, const void *value, size_t len)
{
    kv_put_in_t in = {(char *)key, {(uint32_t)len, (void *)value}};
    kv_put_out_t out;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret =
        call_make(client, client->put_id, key, &in, &out, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = (hg_return_t)out.ret;
    call_end(handle, &out);
    return ret;
}

/* A call that gives the provider access to memory of the client. */
static hg_return_t zone_call(struct client *client, hg_id_t id, const char *key,
    void *memory, size_t len, uint8_t flags, uint64_t *ret_len)
{
    hg_size_t size = len;
    kv_zone_in_t in = {(char *)key, len, HG_BULK_NULL};
    kv_zone_out_t out;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret =
        margo_bulk_create(client->mid, 1, &memory, &size, flags, &in.zone);

    if (ret != HG_SUCCESS)
        return ret;
    ret = call_make(client, id, key, &in, &out, &handle);
    if (ret == HG_SUCCESS) {
        ret = (hg_return_t)out.ret;
        *ret_len = out.len;
        call_end(handle, &out);
    }
    margo_bulk_free(in.zone);
    return ret;
}

hg_return_t client_put(
    struct client *client, const char *key, const void *value, size_t len)
{
    uint64_t moved = 0;

    if (len <= KV_SMALL_MAX)
        return put_small(client, key, value, len);
    return zone_call(client, client->put_zone_id, key, (void *)value, len,
        HG_BULK_READ_ONLY, &moved);
}

/* Gets the value if it is small; else only its length. */
static hg_return_t get_small(
    struct client *client, const char *key, void **ret_value, size_t *ret_len)
{
    kv_get_in_t in = {(char *)key};
    kv_get_out_t out;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret =
        call_make(client, client->get_id, key, &in, &out, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = (hg_return_t)out.ret;
    /* A reply has two lengths; decoding checks only that of `value`. */
    if (ret == HG_SUCCESS && out.value.len != out.len &&
        out.len <= KV_SMALL_MAX)
        ret = HG_PROTOCOL_ERROR;
    if (ret == HG_SUCCESS)
        *ret_len = out.len;
    if (ret == HG_SUCCESS && out.len <= KV_SMALL_MAX) {
        *ret_value = malloc(out.len + 1);
        if (*ret_value == NULL)
            ret = HG_NOMEM;
        else
            memcpy(*ret_value, out.value.data, out.value.len);
    }
    call_end(handle, &out);
    return ret;
}

hg_return_t client_get(
    struct client *client, const char *key, void **ret_value, size_t *ret_len)
{
    void *value = NULL;
    size_t cap = 0;
    uint64_t len = 0;
    hg_return_t ret = get_small(client, key, &value, &cap);

    len = cap;
    while (ret == HG_SUCCESS && value == NULL) {
        cap = len;
        value = malloc(cap);
        if (value == NULL)
            return HG_NOMEM;
        ret = zone_call(client, client->get_zone_id, key, value, cap,
            HG_BULK_WRITE_ONLY, &len);
        /* A second client has stored a longer value meanwhile. */
        if (ret == HG_OVERFLOW && len > cap) {
            free(value);
            value = NULL;
            ret = HG_SUCCESS;
        }
    }
    if (ret != HG_SUCCESS) {
        free(value);
        return ret;
    }
    *ret_value = value;
    *ret_len = len;
    return HG_SUCCESS;
}

hg_return_t client_add(
    struct client *client, const char *key, uint64_t addend, uint64_t *ret_sum)
{
    kv_add_in_t in = {(char *)key, addend};
    kv_add_out_t out;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret =
        call_make(client, client->add_id, key, &in, &out, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = (hg_return_t)out.ret;
    *ret_sum = out.sum;
    call_end(handle, &out);
    return ret;
}
