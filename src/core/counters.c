/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of classes, for the program and the log.
 *
 * Every context counts for itself; the counters of a class are the sum of its
 * open contexts plus those of closed ones. */

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "core/context.h"
#include "mercury_class.h"
#include "transport/pack.h"

/* All open classes. The lock is taken before that of a class. */
static struct amg_lock classes_lock;
static struct amg_list classes = {{&classes.head, &classes.head}};

/* Served calls that have not ended. Handles created or destroyed meanwhile may
 * appear in only one of the two counts. */
static uint64_t active_count(const hg_class_t *cls, int handles)
{
    int made_here = amg_class_counted(cls, AMG_CLASS_HANDLES);

    return handles > made_here ? (uint64_t)(handles - made_here) : 0;
}

static void packs_add(const hg_class_t *cls, struct hg_diag_counters *counters)
{
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        const struct amg_domain *domain = cls->domains[route];

        if (domain == NULL || domain->packs == NULL)
            continue;
        counters->packed_msg_count += atomic_load_explicit(
            &domain->packs->messages, memory_order_relaxed);
        counters->packed_call_count +=
            atomic_load_explicit(&domain->packs->calls, memory_order_relaxed);
    }
}

static void class_look(hg_class_t *cls, struct hg_diag_counters *ret_counters)
{
    uint64_t sums[AMG_COUNTERS] = {0};
    int handles = amg_context_sum_all(cls, sums);

    *ret_counters = (struct hg_diag_counters){
        .rpc_req_sent_count = sums[AMG_COUNT_REQUESTS_SENT],
        .rpc_req_recv_count = sums[AMG_COUNT_REQUESTS_CAME],
        .rpc_resp_sent_count = sums[AMG_COUNT_REPLIES_SENT],
        .rpc_resp_recv_count = sums[AMG_COUNT_REPLIES_CAME],
        .rpc_req_extra_count = sums[AMG_COUNT_LONG_REQUESTS],
        .rpc_resp_extra_count = sums[AMG_COUNT_LONG_REPLIES],
        .rpc_req_recv_active_count = active_count(cls, handles),
        .bulk_count = sums[AMG_COUNT_TRANSFERS],
        .packed_msg_count = sums[AMG_COUNT_PACKED_MESSAGES],
        .packed_call_count = sums[AMG_COUNT_PACKED_CALLS],
    };
    packs_add(cls, ret_counters);
}

/* The user asked for it, so it is logged at any level, unless the log, or this
 * outlet, is off. */
static void counters_log(
    const char *protocol, const struct hg_diag_counters *counters)
{
    char text[AMG_LOG_LINE_CAP];

    if (!amg_outlet_shows(amg_outlet_find("diag"), HG_LOG_LEVEL_FATAL))
        return;
    snprintf(text, sizeof(text),
        "diag: %s: requests sent %llu, long %llu, received %llu, in work %llu; "
        "replies sent %llu, long %llu, received %llu; bulk transfers %llu; "
        "%llu messages with %llu calls",
        protocol, (unsigned long long)counters->rpc_req_sent_count,
        (unsigned long long)counters->rpc_req_extra_count,
        (unsigned long long)counters->rpc_req_recv_count,
        (unsigned long long)counters->rpc_req_recv_active_count,
        (unsigned long long)counters->rpc_resp_sent_count,
        (unsigned long long)counters->rpc_resp_extra_count,
        (unsigned long long)counters->rpc_resp_recv_count,
        (unsigned long long)counters->bulk_count,
        (unsigned long long)counters->packed_msg_count,
        (unsigned long long)counters->packed_call_count);
    amg_log_put(AMG_LOG_LEVEL_INFO, "amalgam", text, "\n");
}

void amg_diag_join(hg_class_t *cls)
{
    amg_lock_lock(&classes_lock);
    amg_list_push(&classes, &cls->opened);
    amg_lock_unlock(&classes_lock);
}

void amg_diag_leave(hg_class_t *cls)
{
    struct hg_diag_counters counters;

    amg_lock_lock(&classes_lock);
    amg_list_remove(&cls->opened);
    amg_lock_unlock(&classes_lock);
    if (!cls->plan.wants_stats)
        return;
    class_look(cls, &counters);
    counters_log(cls->plan.protocol, &counters);
}

hg_return_t HG_Class_get_counters(
    const hg_class_t *hg_class, struct hg_diag_counters *counters)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(counters))
        return HG_INVALID_ARG;
    class_look((hg_class_t *)(uintptr_t)hg_class, counters);
    return HG_SUCCESS;
}

/* The counters of open class number `index`; false: no such class. */
static bool classes_look(unsigned index, char ret_protocol[AMG_PROTOCOL_CAP],
    struct hg_diag_counters *ret_counters)
{
    struct amg_link *link = NULL;

    amg_lock_lock(&classes_lock);
    link = amg_list_first(&classes);
    for (; link != NULL && index > 0; index--)
        link = amg_list_next(&classes, link);
    if (link != NULL) {
        hg_class_t *cls = amg_container_of(link, struct hg_class, opened);

        memcpy(ret_protocol, cls->plan.protocol, AMG_PROTOCOL_CAP);
        /* NOTE(not a leaf): the lock of a class comes after this one. */
        class_look(cls, ret_counters);
    }
    amg_lock_unlock(&classes_lock);
    return link != NULL;
}

void HG_Diag_dump_counters(void)
{
    struct hg_diag_counters counters;
    char protocol[AMG_PROTOCOL_CAP];
    unsigned i = 0;

    /* Logs without the lock: the log function may be the user's. */
    for (i = 0; classes_look(i, protocol, &counters); i++)
        counters_log(protocol, &counters);
}
