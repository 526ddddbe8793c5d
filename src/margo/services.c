/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs that every instance serves: the identity of a provider, and shutdown by
 * another process. */
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "mercury_proc_string.h"

MERCURY_GEN_PROC(identity_out_t, ((int32_t)(ret))((hg_const_string_t)(text)))

static void identity_serve(hg_handle_t handle);
static DECLARE_MARGO_RPC_HANDLER(identity_serve);

/* Copies a provider's identity. HG_NOENTRY: the provider has none. */
static hg_return_t text_copy(
    margo_instance_id mid, uint16_t provider_id, char **ret_copy)
{
    const char *text = NULL;
    hg_return_t rc = HG_NOENTRY;

    amg_lock_lock(&mid->services->lock);
    text = amg_map_get(&mid->services->identities, provider_id);
    if (text != NULL) {
        *ret_copy = amg_mem_strdup(text);
        rc = *ret_copy != NULL ? HG_SUCCESS : HG_NOMEM;
    }
    amg_lock_unlock(&mid->services->lock);
    return rc;
}

static void identity_serve(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    identity_out_t out;
    uint16_t provider_id = 0;
    char *text = NULL;
    hg_return_t rc = margo_get_input(handle, &provider_id);

    if (rc == HG_SUCCESS) {
        rc = text_copy(mid, provider_id, &text);
        (void)margo_free_input(handle, &provider_id);
    }
    out = (identity_out_t){.ret = rc, .text = text == NULL ? "" : text};
    (void)margo_respond(handle, &out);
    amg_mem_free(text);
    (void)margo_destroy(handle);
}
static DEFINE_MARGO_RPC_HANDLER(identity_serve);

hg_return_t margo_provider_register_identity(
    margo_instance_id mid, uint16_t provider_id, const char *identity)
{
    hg_return_t rc = HG_INVALID_ARG;
    char *copy = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(identity))
        return HG_INVALID_ARG;
    copy = amg_mem_strdup(identity);
    if (copy == NULL)
        return HG_NOMEM;
    amg_lock_lock(&mid->services->lock);
    if (amg_map_get(&mid->services->identities, provider_id) == NULL)
        rc = amg_map_put(&mid->services->identities, provider_id, copy);
    amg_lock_unlock(&mid->services->lock);
    if (rc == HG_INVALID_ARG)
        margo_error(mid,
            "provider %u has an identity already; "
            "margo_provider_deregister_identity() removes it",
            (unsigned)provider_id);
    if (rc != HG_SUCCESS)
        amg_mem_free(copy);
    return rc;
}

hg_return_t margo_provider_deregister_identity(
    margo_instance_id mid, uint16_t provider_id)
{
    char *text = NULL;

    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    amg_lock_lock(&mid->services->lock);
    text = amg_map_remove(&mid->services->identities, provider_id);
    amg_lock_unlock(&mid->services->lock);
    if (text == NULL)
        return HG_NOENTRY;
    amg_mem_free(text);
    return HG_SUCCESS;
}

const char *margo_provider_registered_identity(
    margo_instance_id mid, uint16_t provider_id)
{
    const char *text = NULL;

    if (!AMG_GIVEN(mid))
        return NULL;
    amg_lock_lock(&mid->services->lock);
    text = amg_map_get(&mid->services->identities, provider_id);
    amg_lock_unlock(&mid->services->lock);
    return text;
}

/* Copies the identity into the caller's buffer. HG_NOMEM: too small. */
static hg_return_t answer_take(const identity_out_t *out, uint16_t provider_id,
    margo_instance_id mid, char *buffer, size_t *bufsize)
{
    size_t cap = *bufsize;
    size_t len = 0;

    if (out->ret == HG_NOENTRY)
        return HG_NOENTRY;
    if (out->ret != HG_SUCCESS || out->text == NULL) {
        margo_error(mid,
            "the identity of provider %u cannot be read: the other process "
            "returned %s",
            (unsigned)provider_id, HG_Error_to_string((hg_return_t)out->ret));
        return HG_OTHER_ERROR;
    }
    len = strlen(out->text) + 1;
    *bufsize = len;
    if (len > cap)
        return HG_NOMEM;
    memcpy(buffer, out->text, len);
    return HG_SUCCESS;
}

hg_return_t margo_provider_get_identity(margo_instance_id mid,
    hg_addr_t address, uint16_t provider_id, char *buffer, size_t *bufsize)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    identity_out_t out;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(address) || !AMG_GIVEN(bufsize) ||
        !AMG_CONTRACT(buffer != NULL || *bufsize == 0,
            "buffer is NULL, but *bufsize is %zu", *bufsize))
        return HG_INVALID_ARG;
    rc = margo_create(mid, address, mid->services->identity_id, &handle);
    if (rc != HG_SUCCESS)
        return rc;
    rc = margo_forward(handle, &provider_id);
    if (rc == HG_SUCCESS)
        rc = margo_get_output(handle, &out);
    if (rc == HG_SUCCESS) {
        rc = answer_take(&out, provider_id, mid, buffer, bufsize);
        (void)margo_free_output(handle, &out);
    }
    (void)margo_destroy(handle);
    return rc;
}

static void shutdown_serve(hg_handle_t handle);
static DECLARE_MARGO_RPC_HANDLER(shutdown_serve);

static void shutdown_serve(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    bool is_allowed = atomic_load_explicit(
        &mid->services->allows_shutdown, memory_order_relaxed);
    int32_t out = is_allowed ? 0 : -1;

    if (!is_allowed)
        margo_warning(mid, "a remote shutdown was refused: this instance has "
                           "not called margo_enable_remote_shutdown()");
    (void)margo_respond(handle, &out);
    (void)margo_destroy(handle);
    if (is_allowed)
        margo_finalize(mid);
}
static DEFINE_MARGO_RPC_HANDLER(shutdown_serve);

bool amg_margo_services_open(margo_instance_id mid)
{
    hg_id_t shutdown_id = 0;

    amg_lock_init(&mid->services->lock);
    mid->services->identity_id = MARGO_REGISTER(
        mid, "__identity__", uint16_t, identity_out_t, identity_serve);
    shutdown_id =
        MARGO_REGISTER(mid, "__shutdown__", void, int32_t, shutdown_serve);
    return mid->services->identity_id != 0 && shutdown_id != 0;
}

void amg_margo_services_close(margo_instance_id mid)
{
    amg_map_fini(&mid->services->identities, amg_mem_free);
}

void margo_enable_remote_shutdown(margo_instance_id mid)
{
    if (mid == MARGO_INSTANCE_NULL)
        margo_error(mid, "%s: the instance is NULL", __func__);
    else
        atomic_store_explicit(
            &mid->services->allows_shutdown, true, memory_order_relaxed);
}

int margo_shutdown_remote_instance(margo_instance_id mid, hg_addr_t remote_addr)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    int32_t out = -1;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(remote_addr))
        return -1;
    rc = margo_create(mid, remote_addr,
        amg_margo_rpc_id("__shutdown__", MARGO_DEFAULT_PROVIDER_ID), &handle);
    if (rc == HG_SUCCESS)
        rc = margo_forward(handle, NULL);
    if (rc == HG_SUCCESS)
        rc = margo_get_output(handle, &out);
    if (rc == HG_SUCCESS)
        (void)margo_free_output(handle, &out);
    if (handle != HG_HANDLE_NULL)
        (void)margo_destroy(handle);
    if (rc != HG_SUCCESS)
        margo_error(mid, "the remote instance cannot be shut down: %s",
            HG_Error_to_string(rc));
    else if (out != 0)
        margo_error(mid, "the remote instance refused to shut down: it has not "
                         "called margo_enable_remote_shutdown()");
    return rc == HG_SUCCESS && out == 0 ? 0 : -1;
}
