/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of a provider of the hash table.
 *
 * Each handler runs as a user-level thread: while it waits for locks and
 * transfers, other threads run. A handler checks the arguments of a client
 * before it does anything: a wrong key or length gets an error in the reply,
 * and changes nothing. */
#include "jobs/apps/kv/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/apps/kv/wire.h"

static struct provider *provider_of(hg_handle_t handle)
{
    return margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);
}

/* Replies, and ends the handler. */
static void handler_end(hg_handle_t handle, void *out)
{
    hg_return_t ret = margo_respond(handle, out);

    if (ret != HG_SUCCESS)
        fprintf(stderr, "kv: an answer could not be sent: %s\n",
            HG_Error_to_string(ret));
    margo_destroy(handle);
}

/* False: the arguments cannot be decoded; the handler has ended, and its answer
 * `out` says why in `ret_code`. */
static bool input_get(
    hg_handle_t handle, void *in, void *out, int32_t *ret_code)
{
    hg_return_t ret = margo_get_input(handle, in);

    if (ret == HG_SUCCESS)
        return true;
    fprintf(stderr, "kv: %s is not understood: %s\n",
        margo_handle_get_name(handle), HG_Error_to_string(ret));
    *ret_code = (int32_t)ret;
    handler_end(handle, out);
    return false;
}

static bool key_is_valid(const char *key)
{
    return key != NULL && key[0] != '\0' && strlen(key) <= KV_KEY_MAX;
}

static int32_t put_small(struct provider *provider, const kv_put_in_t *in)
{
    struct entry *entry = NULL;
    void *value = NULL;

    if (!key_is_valid(in->key))
        return HG_INVALID_ARG;
    value = malloc(in->value.len + 1);
    entry = value == NULL ? NULL : table_make(&provider->table, in->key);
    if (entry == NULL) {
        free(value);
        return HG_NOMEM;
    }
    memcpy(value, in->value.data, in->value.len);
    entry_set(entry, value, in->value.len);
    return HG_SUCCESS;
}

static void kv_put(hg_handle_t handle)
{
    kv_put_in_t in;
    kv_put_out_t out = {HG_SUCCESS};

    if (!input_get(handle, &in, &out, &out.ret))
        return;
    out.ret = put_small(provider_of(handle), &in);
    margo_free_input(handle, &in);
    handler_end(handle, &out);
}
DEFINE_MARGO_RPC_HANDLER(kv_put)

/* Transfers between memory of this provider and memory of a client. */
static hg_return_t zone_move(hg_handle_t handle, hg_bulk_op_t op,
    const kv_zone_in_t *in, void *memory, hg_size_t len)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    hg_bulk_t here = HG_BULK_NULL;
    hg_return_t ret = margo_bulk_create(mid, 1, &memory, &len,
        op == HG_BULK_PULL ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY, &here);

    if (ret != HG_SUCCESS)
        return ret;
    ret = margo_bulk_transfer(
        mid, op, margo_get_info(handle)->addr, in->zone, 0, here, 0, len);
    margo_bulk_free(here);
    return ret;
}

/* Pulls the value into new memory that is not in the table yet: readers of the
 * key meanwhile get the previous value. */
static int32_t put_zone(hg_handle_t handle, const kv_zone_in_t *in)
{
    struct provider *provider = provider_of(handle);
    struct entry *entry = NULL;
    void *value = NULL;
    hg_return_t ret = HG_NOMEM;

    if (!key_is_valid(in->key) || in->len == 0 || in->len > KV_VALUE_MAX)
        return HG_INVALID_ARG;
    value = malloc(in->len);
    if (value != NULL)
        ret = zone_move(handle, HG_BULK_PULL, in, value, in->len);
    if (ret == HG_SUCCESS)
        entry = table_make(&provider->table, in->key);
    if (entry == NULL) {
        free(value);
        return ret == HG_SUCCESS ? HG_NOMEM : (int32_t)ret;
    }
    entry_set(entry, value, in->len);
    return HG_SUCCESS;
}

static void kv_put_zone(hg_handle_t handle)
{
    kv_zone_in_t in;
    kv_zone_out_t out = {HG_SUCCESS, 0};

    if (!input_get(handle, &in, &out, &out.ret))
        return;
    out.ret = put_zone(handle, &in);
    out.len = in.len;
    margo_free_input(handle, &in);
    handler_end(handle, &out);
}
DEFINE_MARGO_RPC_HANDLER(kv_put_zone)

/* A copy of a small value, which travels in the reply. */
static int32_t get_small(
    struct provider *provider, const char *key, kv_get_out_t *out)
{
    struct entry *entry = NULL;
    int32_t ret = HG_NOENTRY;

    if (!key_is_valid(key))
        return HG_INVALID_ARG;
    entry = table_find(&provider->table, key);
    if (entry == NULL)
        return HG_NOENTRY;
    ABT_rwlock_rdlock(entry->lock);
    if (entry->value != NULL) {
        out->len = entry->len;
        ret = HG_SUCCESS;
    }
    if (entry->value != NULL && entry->len <= KV_SMALL_MAX) {
        memcpy(out->value.data, entry->value, entry->len);
        out->value.len = (uint32_t)entry->len;
    }
    ABT_rwlock_unlock(entry->lock);
    return ret;
}

static void kv_get(hg_handle_t handle)
{
    unsigned char copy[KV_SMALL_MAX];
    kv_get_in_t in;
    kv_get_out_t out = {HG_SUCCESS, 0, {0, copy}};

    if (!input_get(handle, &in, &out, &out.ret))
        return;
    out.ret = get_small(provider_of(handle), in.key, &out);
    margo_free_input(handle, &in);
    handler_end(handle, &out);
}
DEFINE_MARGO_RPC_HANDLER(kv_get)

/* Pushes the value to the client's memory. The read lock keeps the value
 * unchanged meanwhile, and other readers need not wait. */
static int32_t get_zone(
    hg_handle_t handle, const kv_zone_in_t *in, uint64_t *ret_len)
{
    struct provider *provider = provider_of(handle);
    struct entry *entry = NULL;
    int32_t ret = HG_NOENTRY;

    if (!key_is_valid(in->key))
        return HG_INVALID_ARG;
    entry = table_find(&provider->table, in->key);
    if (entry == NULL)
        return HG_NOENTRY;
    ABT_rwlock_rdlock(entry->lock);
    if (entry->value != NULL) {
        *ret_len = entry->len;
        ret =
            HG_OVERFLOW; /* it has grown: the client exposes a larger buffer */
    }
    if (entry->value != NULL && entry->len <= in->len)
        ret = entry->len == 0 ? HG_SUCCESS
                              : (int32_t)zone_move(handle, HG_BULK_PUSH, in,
                                    entry->value, entry->len);
    ABT_rwlock_unlock(entry->lock);
    return ret;
}

static void kv_get_zone(hg_handle_t handle)
{
    kv_zone_in_t in;
    kv_zone_out_t out = {HG_SUCCESS, 0};

    if (!input_get(handle, &in, &out, &out.ret))
        return;
    out.ret = get_zone(handle, &in, &out.len);
    margo_free_input(handle, &in);
    handler_end(handle, &out);
}
DEFINE_MARGO_RPC_HANDLER(kv_get_zone)

static void kv_add(hg_handle_t handle)
{
    struct entry *entry = NULL;
    kv_add_in_t in;
    kv_add_out_t out = {HG_NOENTRY, 0};

    if (!input_get(handle, &in, &out, &out.ret))
        return;
    if (!key_is_valid(in.key))
        out.ret = HG_INVALID_ARG;
    else
        entry = table_find(&provider_of(handle)->table, in.key);
    if (entry != NULL)
        out.ret =
            entry_add(entry, in.addend, &out.sum) ? HG_SUCCESS : HG_INVALID_ARG;
    margo_free_input(handle, &in);
    handler_end(handle, &out);
}
DEFINE_MARGO_RPC_HANDLER(kv_add)

static void rpcs_register(struct provider *provider)
{
    margo_instance_id mid = provider->mid;
    uint16_t id = provider->id;

    provider->rpcs[0] = MARGO_REGISTER_PROVIDER(
        mid, "kv_put", kv_put_in_t, kv_put_out_t, kv_put, id, ABT_POOL_NULL);
    provider->rpcs[1] = MARGO_REGISTER_PROVIDER(mid, "kv_put_zone",
        kv_zone_in_t, kv_zone_out_t, kv_put_zone, id, ABT_POOL_NULL);
    provider->rpcs[2] = MARGO_REGISTER_PROVIDER(
        mid, "kv_get", kv_get_in_t, kv_get_out_t, kv_get, id, ABT_POOL_NULL);
    provider->rpcs[3] = MARGO_REGISTER_PROVIDER(mid, "kv_get_zone",
        kv_zone_in_t, kv_zone_out_t, kv_get_zone, id, ABT_POOL_NULL);
    provider->rpcs[4] = MARGO_REGISTER_PROVIDER(
        mid, "kv_add", kv_add_in_t, kv_add_out_t, kv_add, id, ABT_POOL_NULL);
}

bool provider_open(
    struct provider *provider, margo_instance_id mid, uint16_t id)
{
    provider->mid = mid;
    provider->id = id;
    if (!table_init(&provider->table)) {
        fprintf(stderr, "kv: no memory for the table of provider %u\n", id);
        return false;
    }
    rpcs_register(provider);
    for (unsigned i = 0; i < PROVIDER_RPCS; i++)
        if (provider->rpcs[i] == 0 ||
            margo_register_data(mid, provider->rpcs[i], provider, NULL) !=
                HG_SUCCESS) {
            fprintf(stderr, "kv: provider %u cannot be registered\n", id);
            return false;
        }
    return true;
}

void provider_close(struct provider *provider)
{
    table_fini(&provider->table);
}
