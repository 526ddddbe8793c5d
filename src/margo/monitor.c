/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor of an instance: its choice, and the public calls about it. */
#include <json-c/json.h>

#include "base/assert.h"
#include "margo/config.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/json.h"
#include "margo/monitor_default.h"
#include "margo/request.h"

/* The requested monitor, or NULL. */
static const struct margo_monitor *monitor_wanted(
    margo_instance_id mid, const struct margo_init_info *info)
{
    if (info != NULL && info->monitor != NULL)
        return info->monitor;
    if (amg_json_get(mid->config->json, "monitoring") != NULL ||
        amg_monitor_env_is_on(AMG_ENV_MONITORING))
        return margo_default_monitor;
    return NULL;
}

bool amg_margo_monitoring_open(
    margo_instance_id mid, const struct margo_init_info *info)
{
    struct amg_margo_monitoring *monitoring = &mid->monitoring;
    const struct margo_monitor *wanted = monitor_wanted(mid, info);
    struct json_object *section = NULL;
    struct json_object *config = NULL;

    AMG_ASSERT(monitoring->monitor == NULL);
    if (ABT_key_create(NULL, &monitoring->current_rpc) != ABT_SUCCESS) {
        monitoring->current_rpc = ABT_KEY_NULL;
        margo_error(mid, "no memory for the thread key of monitoring");
        return false;
    }
    if (wanted == NULL)
        return true;
    if (!amg_json_section(mid->log, "", mid->config->json, "monitoring",
            json_type_object, &section) ||
        !amg_json_section(mid->log, "monitoring", section, "config",
            json_type_object, &config))
        return false;
    monitoring->own = *wanted;
    if (wanted->initialize != NULL) {
        void *uargs = wanted->initialize(mid, wanted->uargs, config);

        /* NULL is a failure of the default monitor, not of other monitors. */
        if (uargs == NULL && wanted == margo_default_monitor)
            return false;
        monitoring->own.uargs = uargs;
    }
    monitoring->monitor = &monitoring->own;
    return true;
}

void amg_margo_monitoring_close(margo_instance_id mid)
{
    const struct margo_monitor *monitor = mid->monitoring.monitor;

    mid->monitoring.monitor = NULL;
    if (monitor != NULL && monitor->finalize != NULL)
        monitor->finalize(monitor->uargs);
    if (mid->monitoring.current_rpc != ABT_KEY_NULL)
        (void)ABT_key_free(&mid->monitoring.current_rpc);
}

hg_return_t margo_monitor_dump(margo_instance_id mid,
    margo_monitor_dump_fn dump_fn, void *dump_args, bool reset)
{
    const struct margo_monitor *monitor = NULL;

    if (mid == MARGO_INSTANCE_NULL || dump_fn == NULL)
        return HG_INVALID_ARG;
    monitor = mid->monitoring.monitor;
    if (monitor == NULL || monitor->dump == NULL)
        return HG_NOENTRY;
    monitor->dump(monitor->uargs, dump_fn, dump_args, reset);
    return HG_SUCCESS;
}

hg_return_t margo_monitor_call_user(margo_instance_id mid,
    margo_monitor_event_t event_type, margo_monitor_user_args_t args)
{
    const struct margo_monitor *monitor = NULL;

    if (mid == MARGO_INSTANCE_NULL || event_type < MARGO_MONITOR_FN_START ||
        event_type > MARGO_MONITOR_POINT)
        return HG_INVALID_ARG;
    monitor = mid->monitoring.monitor;
    if (monitor == NULL)
        return HG_NOENTRY;
    if (monitor->on_user != NULL)
        monitor->on_user(monitor->uargs, ABT_get_wtime(), event_type, args);
    return HG_SUCCESS;
}

hg_return_t margo_set_monitoring_data(
    hg_handle_t handle, margo_monitor_data_t data)
{
    struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    if (handle == HG_HANDLE_NULL)
        return HG_INVALID_ARG;
    if (kept == NULL)
        return HG_NOENTRY;
    kept->monitor_data = data;
    return HG_SUCCESS;
}

hg_return_t margo_get_monitoring_data(
    hg_handle_t handle, margo_monitor_data_t *data)
{
    const struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    if (handle == HG_HANDLE_NULL || data == NULL)
        return HG_INVALID_ARG;
    if (kept == NULL)
        return HG_NOENTRY;
    *data = kept->monitor_data;
    return HG_SUCCESS;
}

hg_return_t margo_request_set_monitoring_data(
    margo_request req, margo_monitor_data_t data)
{
    if (req == MARGO_REQUEST_NULL)
        return HG_INVALID_ARG;
    req->monitor_data = data;
    return HG_SUCCESS;
}

hg_return_t margo_request_get_monitoring_data(
    margo_request req, margo_monitor_data_t *data)
{
    if (req == MARGO_REQUEST_NULL || data == NULL)
        return HG_INVALID_ARG;
    *data = req->monitor_data;
    return HG_SUCCESS;
}

/* Breadcrumbs, which attribute calls to the handlers that make the calls: each
 * instance has a thread key, so that only handlers of this instance count. In a
 * thread that serves a request, the value of the key is the id of the served
 * RPC, as a number in the place of a pointer. */
_Static_assert(sizeof(void *) >= sizeof(hg_id_t), "an id fits into a pointer");

hg_return_t margo_set_current_rpc_id(
    margo_instance_id mid, hg_id_t parent_rpc_id)
{
    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    if (mid->monitoring.current_rpc == ABT_KEY_NULL ||
        ABT_self_set_specific(mid->monitoring.current_rpc,
            (void *)(uintptr_t)parent_rpc_id) != ABT_SUCCESS)
        return HG_OTHER_ERROR;
    return HG_SUCCESS;
}

hg_return_t margo_get_current_rpc_id(
    margo_instance_id mid, hg_id_t *parent_rpc_id)
{
    void *value = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(parent_rpc_id))
        return HG_INVALID_ARG;
    if (mid->monitoring.current_rpc == ABT_KEY_NULL ||
        ABT_self_get_specific(mid->monitoring.current_rpc, &value) !=
            ABT_SUCCESS)
        return HG_OTHER_ERROR;
    *parent_rpc_id = (hg_id_t)(uintptr_t)value;
    return HG_SUCCESS;
}
