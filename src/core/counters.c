/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of classes, for the program and the log, and the report of what
 * classes have under way.
 *
 * Every context has counters of its own; the counters of a class are the sums
 * over its open and closed contexts, and what its drivers count. */
#include <stdio.h>
#include <string.h>

#include "amalgam_counters.h"
#include "amalgam_state.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "core/addr.h"
#include "core/context.h"
#include "mercury_class.h"
#include "na.h"
#include "transport/boot.h"
#include "transport/state.h"

/* Served calls that have not ended. A handle that is created or destroyed
 * between the two counts may be in only one count. */
static uint64_t active_count(const hg_class_t *cls, int handles)
{
    int made_here = amg_class_counted(cls, AMG_CLASS_HANDLES);

    return handles > made_here ? (uint64_t)(handles - made_here) : 0;
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
}

/* The counters of amalgam_counters(): later ones are added at the end. */
static const struct {
    enum amg_counter counter;
    const char *name;
    const char *unit;
    const char *meaning;
} table[] = {
    {AMG_COUNT_REQUESTS_SENT, "calls_sent", "calls",
        "calls made here, with and without an answer"},
    {AMG_COUNT_REQUESTS_CAME, "calls_received", "calls",
        "calls that came here"},
    {AMG_COUNT_REPLIES_SENT, "answers_sent", "answers",
        "answers to calls that came here"},
    {AMG_COUNT_REPLIES_CAME, "answers_received", "answers",
        "answers to calls made here"},
    {AMG_COUNT_LONG_REQUESTS, "long_calls", "calls",
        "calls made here whose arguments did not fit into a usual message"},
    {AMG_COUNT_LONG_REPLIES, "long_answers", "answers",
        "answers sent that did not fit into a usual message"},
    {AMG_COUNT_LONG_BYTES, "long_bytes", "bytes",
        "arguments of long_calls and long_answers"},
    {AMG_COUNT_PACKED_MESSAGES, "packed_messages", "messages",
        "messages sent that took several calls or answers"},
    {AMG_COUNT_PACKED_CALLS, "packed_calls", "calls",
        "calls and answers in packed_messages"},
    {AMG_COUNT_TRANSFERS, "bulk_transfers", "transfers",
        "bulk transfers of the program"},
    {AMG_COUNT_TRANSFER_BYTES, "bulk_bytes", "bytes",
        "data that bulk_transfers ask for"},
    {AMG_COUNT_WAITS, "waits", "waits", "waits that found nothing at once"},
    {AMG_COUNT_SLEEPS, "sleeps", "sleeps",
        "system calls in which a waiting thread slept"},
    {AMG_COUNT_WAKES, "wakeups", "wakeups",
        "system calls that woke a waiting thread of this class or a peer"},
    {AMG_COUNT_CREDITS_SHORT, "credits_short", "calls",
        "calls that waited, because their target had all that it allows"},
    {AMG_COUNT_RETRIES, "retries", "messages",
        "messages that found no room or no connection at first"},
};

enum { TABLE_LEN = sizeof(table) / sizeof(table[0]) };

const char *amg_counter_name(unsigned counter)
{
    for (unsigned i = 0; i < TABLE_LEN; i++)
        if (table[i].counter == counter)
            return table[i].name;
    return NULL;
}

size_t amalgam_counters(
    const hg_class_t *hg_class, struct amalgam_counter *counters, size_t count)
{
    uint64_t sums[AMG_COUNTERS] = {0};

    if ((hg_class != NULL && !AMG_CLASS_OK(hg_class)) ||
        (count > 0 && !AMG_GIVEN(counters))) {
        (void)amg_refusal();
        return 0;
    }
    if (hg_class != NULL)
        (void)amg_context_sum_all((hg_class_t *)(uintptr_t)hg_class, sums);
    for (size_t i = 0; i < count && i < TABLE_LEN; i++)
        counters[i] = (struct amalgam_counter){
            .name = table[i].name,
            .unit = table[i].unit,
            .meaning = table[i].meaning,
            .value = sums[table[i].counter],
        };
    return TABLE_LEN;
}

/* Logs the counters at any log level, as the user asked for them, unless the
 * log or its outlet "diag" is off. */
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
    amg_log_put(HG_LOG_LEVEL_INFO, "amalgam", text, "\n");
}

void amg_diag_end(hg_class_t *cls)
{
    struct hg_diag_counters counters;

    if (!cls->plan.wants_stats)
        return;
    class_look(cls, &counters);
    counters_log(cls->plan.protocol, &counters);
}

hg_return_t HG_Class_get_counters(
    const hg_class_t *hg_class, struct hg_diag_counters *counters)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(counters))
        return amg_refusal();
    class_look((hg_class_t *)(uintptr_t)hg_class, counters);
    return HG_SUCCESS;
}

/* Counters of an open class. */
struct look {
    char protocol[AMG_PROTOCOL_CAP];
    struct hg_diag_counters counters;
    bool has_calls; /* false: an NA class */
};

static void look_take(hg_class_t *cls, void *arg)
{
    struct look *look = arg;

    memcpy(look->protocol, cls->plan.protocol, AMG_PROTOCOL_CAP);
    look->has_calls = cls->upper != NULL;
    class_look(cls, &look->counters);
}

/* Logs the counters of HG classes, or of NA classes, which have no calls. */
static void classes_log(bool has_calls)
{
    struct look look;

    /* Logs without the lock: the log function may be the user's. */
    for (unsigned i = 0; amg_classes_look(i, look_take, &look); i++)
        if (look.has_calls == has_calls)
            counters_log(look.protocol, &look.counters);
}

void NA_Diag_dump_counters(void)
{
    classes_log(false);
}

void HG_Diag_dump_counters(void)
{
    classes_log(true);
    NA_Diag_dump_counters();
}

enum { STATE_CAP = 1 << 17 /* bytes: some hundred lines */ };

static void context_write_state(hg_context_t *context, struct amg_state *state)
{
    uint64_t unsent =
        atomic_load_explicit(&context->unsent, memory_order_relaxed);
    char part[32];

    snprintf(part, sizeof(part), "context %u", (unsigned)context->id);
    amg_state_begin(state, part);
    amg_state_add(state, "callbacks waiting for HG_Trigger()",
        atomic_load_explicit(&context->cq.count, memory_order_relaxed));
    amg_state_add(state, "calls waiting for a thread that runs handlers",
        atomic_load_explicit(&context->incoming.count, memory_order_relaxed));
    amg_state_add(state, "begun messages of one-way calls",
        (size_t)__builtin_popcountll(unsent));
    context->ops.write_state(context, state);
    amg_state_add(state, "callers whose calls wait behind long arguments",
        atomic_load_explicit(&context->gates, memory_order_relaxed) &
            ~AMG_CONTEXT_UNPOSTED);
    amg_state_add(state, "bulk transfers without their callback",
        amg_pool_live(context->transfers));
    amg_state_add(state, "operations in flight",
        (size_t)amg_tally_sum(&context->in_flight));
    amg_state_end(state);
}

static void class_write_state(hg_class_t *cls, struct amg_state *state)
{
    hg_context_t *context = amg_class_context(cls, 0);
    uint64_t sums[AMG_COUNTERS] = {0};

    amg_state_begin(state, "class");
    amg_state_add(state, "calls of peers being handled, or kept by the program",
        active_count(cls, amg_context_sum_all(cls, sums)));
    amg_state_end(state);
    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        if (context->is_reported)
            context_write_state(context, state);
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        if (cls->domains[route] != NULL)
            cls->domains[route]->transport->domain.write_state(
                cls->domains[route], state);
}

static struct amg_state state_write(hg_class_t *cls, FILE *out)
{
    struct amg_state state;
    struct hg_addr self;
    char reach[AMG_CLASS_REACH_CAP] = "closed";
    int rank = -1;
    char *text = out == NULL ? NULL : amg_mem_alloc(STATE_CAP);

    /* NOTE(not a leaf lock): a report takes the locks of drivers. */
    amg_lock_lock(&cls->report_lock);
    if (cls->is_reported) {
        amg_addr_init_self(cls, &self);
        rank = amg_addr_rank(&self);
        amg_addr_fini(&self);
        memcpy(reach, cls->reach, sizeof(reach));
    }
    amg_state_init(&state, text, STATE_CAP, rank);
    if (cls->is_reported)
        class_write_state(cls, &state);
    amg_lock_unlock(&cls->report_lock);
    if (text != NULL)
        (void)fwrite(text, 1, state.len, out);
    if (out != NULL)
        fprintf(out,
            "amalgam [%s] state: things under way %zu, peers with nothing "
            "under way %zu, lines left out %zu%s; %s\n",
            state.who, state.count, state.quiet, state.lacked,
            text == NULL ? " (all: no memory)" : "", reach);
    amg_mem_free(text);
    return state;
}

size_t amalgam_write_state(hg_class_t *hg_class, FILE *out)
{
    if (!AMG_CLASS_OK(hg_class)) {
        (void)amg_refusal();
        return (size_t)-1;
    }
    return state_write(hg_class, out).count;
}

bool amg_class_owes_nothing(hg_class_t *cls)
{
    return state_write(cls, NULL).owed == 0 ||
           state_write(cls, stderr).owed == 0;
}
