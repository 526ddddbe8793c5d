/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a call exposes: made before the call, released after it or while
 * it is under way, and checked byte by byte.
 *
 * A byte within the range of a push is old or new if the call did not end well
 * or the memory was released early, else new; all others are old. After
 * HG_Bulk_free() none changes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "faults.h"
#include "job.h"
#include "later.h"
#include "origin.h"

enum { FREE_TRIES = 4 };

static unsigned memory_kind(const struct origin *origin)
{
    unsigned kind = origin->call.bulk.memory;

    if (kind == PLAN_MEMORY_HANDLE &&
        plan_has_way(&origin->call, PLAN_WAY_FREE_EARLY))
        return PLAN_MEMORY_HEAP;
    if (kind == PLAN_MEMORY_CLASS && !origin->world->plan.is_job)
        return PLAN_MEMORY_HEAP;
    if (kind == PLAN_MEMORY_TYPE &&
        !(origin->world->plan.is_job && origin->world->plan.is_threaded))
        return PLAN_MEMORY_HEAP; /* a datatype needs a thread that may call MPI
                                  */
    return kind;
}

static uint8_t flags_of(const struct plan_call *call)
{
    if (!call->bulk.is_restricted)
        return HG_BULK_READWRITE;
    return call->pushes ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY;
}

/* Memory that the library allocates: finds the segments. */
static void handle_memory(struct origin *origin, const hg_size_t *lens)
{
    const struct plan_bulk *bulk = &origin->call.bulk;
    hg_size_t at = 0;
    hg_return_t rc = HG_SUCCESS;

    do
        rc = HG_Bulk_create(origin->cls->cls, bulk->segments, NULL, lens,
            flags_of(&origin->call), &origin->bulk);
    while (faults_again(origin->world, rc));
    EXPECT_OK(origin->world, rc);
    for (unsigned i = 0; i < bulk->segments; i++) {
        void *start = NULL;
        hg_size_t len = 0;
        uint32_t count = 0;

        if (lens[i] == 0)
            continue;
        EXPECT_OK(
            origin->world, HG_Bulk_access(origin->bulk, at, lens[i],
                               HG_BULK_READWRITE, 1, &start, &len, &count));
        if (count != 1 || len != lens[i])
            book_finding(origin->world->book,
                "HG_Bulk_access gave %u pieces, %zu of %zu bytes", count,
                (size_t)len, (size_t)lens[i]);
        origin->segments[i] = start;
        at += lens[i];
    }
}

static void program_memory(struct origin *origin, const hg_size_t *lens)
{
    const struct plan_bulk *bulk = &origin->call.bulk;
    void *starts[PLAN_SEGMENTS_MAX];
    size_t at = 0;
    hg_return_t rc = HG_SUCCESS;

    origin->memory_len = bulk->total + (size_t)bulk->gap * bulk->segments + 1;
    origin->memory = memory_kind(origin) == PLAN_MEMORY_CLASS
                         ? job_alloc(origin->cls, origin->memory_len)
                         : malloc(origin->memory_len);
    if (origin->memory == NULL)
        abort();
    memset(origin->memory, 0x33, origin->memory_len);
    for (unsigned i = 0; i < bulk->segments; i++) {
        origin->segments[i] = origin->memory + at;
        starts[i] = origin->segments[i];
        at += bulk->segment_len[i] + bulk->gap;
    }
    do
        rc = memory_kind(origin) == PLAN_MEMORY_TYPE
                 ? job_bulk_type(origin->cls, bulk, origin->memory,
                       flags_of(&origin->call), &origin->bulk)
                 : HG_Bulk_create(origin->cls->cls, bulk->segments, starts,
                       lens, flags_of(&origin->call), &origin->bulk);
    while (faults_again(origin->world, rc));
    EXPECT_OK(origin->world, rc);
}

void exposed_make(struct origin *origin)
{
    const struct plan_call *call = &origin->call;
    uint64_t key = content_key(call->id, CONTENT_EXPOSED);
    hg_size_t lens[PLAN_SEGMENTS_MAX];
    size_t at = 0;

    for (unsigned i = 0; i < call->bulk.segments; i++)
        lens[i] = call->bulk.segment_len[i];
    if (memory_kind(origin) == PLAN_MEMORY_HANDLE)
        handle_memory(origin, lens);
    else
        program_memory(origin, lens);
    for (unsigned i = 0; i < call->bulk.segments; i++) {
        content_fill(origin->segments[i], lens[i], key, at);
        at += lens[i];
    }
    if (plan_has_way(call, PLAN_WAY_BIND)) {
        hg_return_t rc = HG_SUCCESS;

        do
            rc = HG_Bulk_bind(origin->bulk,
                origin->cls->contexts[call->origin_context].context);
        while (faults_again(origin->world, rc));
        EXPECT_OK(origin->world, rc);
    }
}

/* HG_BUSY means that a peer still accesses the memory: it ends at some time. */
static void bulk_free(struct origin *origin)
{
    hg_return_t rc = HG_Bulk_free(origin->bulk);

    for (int i = 0; rc == HG_BUSY && i < FREE_TRIES; i++)
        rc = HG_Bulk_free(origin->bulk);
    if (rc != HG_SUCCESS)
        book_finding(origin->world->book,
            "HG_Bulk_free of call %016" PRIx64 ": %s", origin->call.id,
            HG_Error_to_string(rc));
}

static uint64_t memory_sum(const struct origin *origin)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < origin->memory_len; i++)
        sum = sum * 31 + origin->memory[i];
    return sum;
}

void exposed_free_early(struct origin *origin)
{
    if (atomic_exchange(&origin->is_freed, true))
        return;
    origin->was_freed_early = true;
    bulk_free(origin);
    origin->sum = memory_sum(origin);
}

/* Returns the place of the first wrong byte of a segment. */
static size_t segment_differs(
    const struct origin *origin, unsigned segment, size_t at, bool is_complete)
{
    const struct plan_call *call = &origin->call;
    uint64_t old_key = content_key(call->id, CONTENT_EXPOSED);
    uint64_t new_key = content_key(call->id, CONTENT_PUSHED);
    size_t len = call->bulk.segment_len[segment];
    const uint8_t *bytes = origin->segments[segment];

    if (!call->pushes)
        return content_differs(bytes, len, old_key, at);
    for (size_t i = 0; i < len; i++) {
        size_t place = at + i;
        bool is_in = place >= call->bulk.offset &&
                     place - call->bulk.offset < call->bulk.size;
        uint8_t byte = *(const volatile uint8_t *)&bytes[i]; /* may change */
        bool is_new = is_in && byte == content_byte(new_key, place);
        bool is_old = byte == content_byte(old_key, place);

        if (is_complete && is_in ? !is_new : !is_new && !is_old)
            return i;
    }
    return len;
}

static void contents_check(struct origin *origin)
{
    const struct plan_call *call = &origin->call;
    bool is_complete = origin->code == HG_SUCCESS && origin->status == 0;
    size_t at = 0;

    for (unsigned i = 0; i < call->bulk.segments; i++) {
        size_t len = call->bulk.segment_len[i];
        size_t wrong = segment_differs(origin, i, at, is_complete);

        if (wrong < len) {
            book_finding(origin->world->book,
                "%s %016" PRIx64 " of rank %u ended with %s, transfer %s: "
                "byte %zu of %u (offset %u, size %u) is wrong",
                plan_kind_name(call->kind), call->id, call->target,
                HG_Error_to_string(origin->code),
                HG_Error_to_string((hg_return_t)origin->status), at + wrong,
                call->bulk.total, call->bulk.offset, call->bulk.size);
            return;
        }
        at += len;
    }
    origin->is_checked = true;
}

void exposed_end(struct origin *origin)
{
    if (memory_kind(origin) == PLAN_MEMORY_HANDLE)
        contents_check(origin);
    if (atomic_exchange(&origin->is_freed, true))
        return;
    bulk_free(origin);
    if (memory_kind(origin) == PLAN_MEMORY_HANDLE)
        memset(origin->segments, 0, sizeof(origin->segments));
    else if (exposed_is_kept(origin))
        origin->sum = memory_sum(origin);
}

bool exposed_is_kept(struct origin *origin)
{
    return origin->memory != NULL &&
           (origin->was_freed_early || origin->code != HG_SUCCESS ||
               origin->status != 0);
}

static void memory_free(struct origin *origin)
{
    if (origin->memory != NULL && memory_kind(origin) == PLAN_MEMORY_CLASS)
        EXPECT_OK(origin->world, job_free(origin->cls, origin->memory));
    else
        free(origin->memory);
    origin->memory = NULL;
}

void exposed_check(struct origin *origin)
{
    if (memory_kind(origin) != PLAN_MEMORY_HANDLE)
        contents_check(origin);
    if (!exposed_is_kept(origin))
        memory_free(origin);
}

void exposed_finish(struct origin *origin)
{
    if (memory_sum(origin) != origin->sum)
        book_finding(origin->world->book,
            "memory of call %016" PRIx64 " changed after HG_Bulk_free",
            origin->call.id);
    memory_free(origin);
}
