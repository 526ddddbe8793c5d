/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of contexts for the trace, recorded between the layers: a traced
 * endpoint calls its driver through a copy of the driver's table of functions,
 * in which some functions also add an event. So calls cost nothing while their
 * context is not traced. A context that was traced once keeps the copy.
 *
 * Messages are the same with and without a trace. At the origin a call is named
 * by its operation, and when it ends also by the token that its request
 * carried; at the target by origin and token. One-way calls have no token, but
 * arrive in order.
 *
 * Clocks: the first rank of each node sends a control message to rank 0, which
 * answers with its time, when its context opens, every PERIOD_NS, and when the
 * class closes. By the three times amalgam_trace bounds the offset between two
 * clocks. No rank waits for these messages, so a lost one delays nothing. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "transport/calls.h"

#define PERIOD_NS (250 * AMG_NS_PER_MS)

enum { CACHE = 2048, ADDRESS_CAP = 256 };

/* Tables of drivers with the functions of this file; zero: free. Static, as
 * endpoints use them until they close. `tables_lock` guards filling one. */
static struct amg_transport tables[AMG_ROUTE_COUNT];
static struct amg_lock tables_lock AMG_LOCK_KEPT;

/* A hash of the address of a peer, whose text is written, too. */
AMG_NOINLINE static uint32_t address_hash(const struct amg_domain *domain,
    const struct amg_peer *peer, char ret_text[ADDRESS_CAP])
{
    size_t len = ADDRESS_CAP;

    ret_text[0] = '\0';
    (void)domain->transport->addr.format(domain, peer, ret_text, &len);
    return (uint32_t)amg_hash(AMG_HASH_EMPTY, ret_text, strlen(ret_text));
}

/* address_hash() by a cache, of which a word has the number below bits 14 to 45
 * of the peer; the bits from 3 to 13 follow from its place; higher bits are
 * equal in a process. The new peer in the memory of a freed one may get the
 * number of the old. */
static uint32_t peer_number(
    const struct amg_domain *domain, const struct amg_peer *peer)
{
    static _Atomic uint64_t cache[CACHE];
    uint64_t bits = (uintptr_t)peer;
    _Atomic uint64_t *place = &cache[(bits >> 3 ^ bits >> 14) % CACHE];
    uint64_t word = atomic_load_explicit(place, memory_order_relaxed);
    char text[ADDRESS_CAP];

    if (!AMG_LIKELY(word >> 32 == (uint32_t)(bits >> 14))) {
        word = bits >> 14 << 32 | address_hash(domain, peer, text);
        atomic_store_explicit(place, word, memory_order_relaxed);
    }
    return (uint32_t)word;
}

/* Adds the address of this process to the trace. */
static void self_note(struct amg_domain *domain)
{
    struct amg_peer *self = domain->transport->addr.self(domain);
    char text[ADDRESS_CAP];
    uint32_t number = address_hash(domain, self, text);

    amg_trace_note("self %08" PRIx32 " %s", number, text);
    domain->transport->addr.unref(domain, self);
}

/* An event of now about a message; AMG_TRACE_NONE if no trace runs. */
static struct amg_trace_event event_of(enum amg_trace_kind kind,
    const struct amg_ep *ep, const struct amg_peer *peer, const void *id,
    const uint8_t *message, uint64_t len)
{
    struct amg_trace_event event = {.kind = AMG_TRACE_NONE};

    if (!amg_trace_has(AMALGAM_TRACE_CALLS))
        return event;
    event.ticks = amg_trace_ticks();
    event.kind = (uint8_t)kind;
    event.medium = (uint8_t)ep->domain->transport->name[0];
    event.peer = peer_number(ep->domain, peer);
    event.id = (uintptr_t)id;
    event.len = len;
    event.flags = message[kind == AMG_TRACE_ANSWER ? 3 : 2];
    memcpy(&event.arg, message + AMG_HEADER_ID_AT, sizeof(event.arg));
    return event;
}

/* Adds an event that was made before its message was sent, if it was sent. */
static hg_return_t sent(const struct amg_trace_event *event, hg_return_t rc)
{
    if (rc == HG_SUCCESS && event->kind != AMG_TRACE_NONE)
        amg_trace_put(event);
    return rc;
}

static hg_return_t traced_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op)
{
    struct amg_trace_event event =
        event_of(AMG_TRACE_REQUEST, ep, to.peer, op, buf->data, len);

    return sent(&event, ep->domain->transport->msg.send_request(
                            ep, to, buf, len, wants_reply, op));
}

static hg_return_t traced_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    struct amg_trace_event event =
        event_of(AMG_TRACE_ANSWER, ep, arrival->from, arrival, buf->data, len);

    return sent(&event,
        ep->domain->transport->msg.send_reply(ep, arrival, buf, len, op));
}

/* Leaves out control messages of the library. `events` is empty before a poll
 * (core/progress.c). */
static unsigned traced_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *events)
{
    unsigned count = ep->domain->transport->ep.poll(ep, max, events);
    const struct amg_link *link = amg_list_first(&events->done);

    if (count == 0 || !amg_trace_has(AMALGAM_TRACE_CALLS))
        return count;
    for (; link != NULL; link = amg_list_next(&events->done, link)) {
        const struct amg_op *op =
            amg_container_of(link, const struct amg_op, link);

        amg_trace_put(&(struct amg_trace_event){.ticks = amg_trace_ticks(),
            .kind = AMG_TRACE_DONE,
            .flags = (uint8_t)op->ret,
            .id = (uintptr_t)op,
            .arg = op->cookie});
    }
    link = amg_list_first(&events->arrived);
    for (; link != NULL; link = amg_list_next(&events->arrived, link)) {
        const struct amg_arrival *arrival =
            amg_container_of(link, const struct amg_arrival, link);
        const uint8_t *message = arrival->data;
        struct amg_trace_event event;

        if (arrival->is_late || arrival->len < AMG_HEADER_LEN ||
            (message[2] & AMG_HEADER_ACK) != 0)
            continue;
        event = event_of(AMG_TRACE_ARRIVED, ep, arrival->from, arrival, message,
            arrival->token);
        (void)sent(&event, HG_SUCCESS);
    }
    return count;
}

/* The table for a driver, filled at its first use. */
static const struct amg_transport *table_of(const struct amg_transport *inner)
{
    struct amg_transport *table = tables;

    amg_lock_lock(&tables_lock);
    while (table->name != NULL && table->name != inner->name)
        table++;
    AMG_ASSERT(table < &tables[AMG_ROUTE_COUNT]);
    if (table->name == NULL) {
        *table = *inner;
        table->ep.poll = traced_poll;
        table->msg.send_request = traced_send_request;
        table->msg.send_reply = traced_send_reply;
        /* Functions that call send_request and send_reply of this table. */
        table->msg.request_now = amg_request_by_buf;
        table->msg.reply_now = amg_reply_by_buf;
    }
    amg_lock_unlock(&tables_lock);
    return table;
}

/* NOTE(not atomic): other threads read `transport` without an atomic load,
 * which would take 3 instructions of a null call. A pointer is written in one
 * piece, and both values lead to the functions of the driver. */
__attribute__((no_sanitize_thread)) static void ep_adopt(
    struct amg_ep *ep, const struct amg_transport *table)
{
    *(const struct amg_transport *volatile *)&ep->transport = table;
}

static void context_adopt(hg_context_t *context)
{
    const struct amg_class_job *job = &context->cls->job;

    for (unsigned i = 0; i < context->open_count; i++) {
        struct amg_ep *ep = context->eps[context->open[i]];

        if (ep->transport == ep->domain->transport) {
            self_note(ep->domain);
            ep_adopt(ep, table_of(ep->domain->transport));
        }
    }
    if (job->mate_count > 0)
        amg_trace_note("job %" PRIu32 " %" PRIu32 " %" PRIu32, job->rank,
            job->size, job->mates[0].rank);
    atomic_store_explicit(
        &context->rpc->run, amg_serve_run_counted, memory_order_relaxed);
    amg_context_look_at(context, 0);
}

static void class_adopt(hg_class_t *cls, void *arg)
{
    hg_context_t *context = NULL;

    (void)arg;
    if (cls->upper == NULL) /* an NA class */
        return;
    amg_lock_lock(&cls->report_lock); /* no context closes meanwhile */
    context = amg_class_context(cls, 0);
    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        if (context->is_reported)
            context_adopt(context);
    amg_lock_unlock(&cls->report_lock);
}

hg_return_t amalgam_trace_start(const char *folder, int level)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(folder) || !AMG_CONTRACT(level >= AMALGAM_TRACE_CALLS &&
                                                level <= AMALGAM_TRACE_THREADS,
                                  "%d is no level of a trace", level))
        return HG_INVALID_ARG;
    rc = amg_trace_start(folder, level);
    for (unsigned i = 0;
         rc == HG_SUCCESS && amg_classes_look(i, class_adopt, NULL);)
        i++;
    return rc;
}

void amalgam_trace_mark(const char *text)
{
    amg_status_mark(text == NULL ? "" : text);
    amg_trace_mark(text == NULL ? "" : text);
}

/* Fills the tables before other threads use the context: a later start only
 * changes pointers. No context is missed: if the level is read as 0 here, then
 * the start that sets it will take `report_lock` after the context was opened
 * under it. */
void amg_traced_take(hg_context_t *context)
{
    for (unsigned i = 0; i < context->open_count; i++)
        (void)table_of(context->eps[context->open[i]]->transport);
    if (amg_trace_has(AMALGAM_TRACE_CALLS))
        class_adopt(context->cls, NULL);
}

static bool has_clock(const hg_context_t *context)
{
    const struct amg_class_job *job = &context->cls->job;

    return amg_trace_has(AMALGAM_TRACE_CALLS) && context->id == 0 &&
           job->mate_count > 0 && job->rank == job->mates[0].rank &&
           job->rank != 0;
}

/* Sends a time of this process, and 0, or the answer to such a message. */
static void clock_send(
    hg_context_t *context, const struct hg_addr *to, uint64_t a, uint64_t b)
{
    const uint64_t times[2] = {a, b};

    (void)amg_control_send(
        context, to, 0, AMG_CONTROL_CLOCK, times, sizeof(times));
}

void amg_traced_ask(hg_context_t *context)
{
    struct hg_addr to;

    if (context == NULL || !has_clock(context) ||
        amg_addr_init_rank(context->cls, 0, &to) != HG_SUCCESS)
        return;
    clock_send(context, &to, amg_clock_ns(), 0);
    amg_addr_fini(&to);
}

void amg_traced_look(hg_context_t *context, uint64_t now_ns)
{
    if (now_ns == AMG_CONTEXT_NEVER || !has_clock(context))
        return;
    if (now_ns >= context->rpc->clock_ns) {
        context->rpc->clock_ns = now_ns + PERIOD_NS;
        amg_traced_ask(context);
    }
    amg_context_look_at(context, context->rpc->clock_ns);
}

void amg_traced_told(const struct hg_handle *handle, const void *bytes)
{
    uint64_t times[2];

    memcpy(times, bytes, sizeof(times));
    if (times[1] == 0)
        clock_send(
            handle->info.context, &handle->addr, times[0], amg_clock_ns());
    else if (amg_trace_has(AMALGAM_TRACE_CALLS))
        amg_trace_add(AMG_TRACE_CLOCK, times[0], times[1], amg_clock_ns());
}
