/* SPDX-License-Identifier: BSD-3-Clause */
/* Deaths of ranks.
 *
 * The ranks of a node form a ring. In each tick a rank checks the next rank of
 * the ring that has neither died nor left: /proc tells if its process has
 * ended, and its status page if the class had ended there before. The rank that
 * notices a death tells its neighbours in the job: the ranks whose numbers are
 * 1, 2, 4, 8 ... higher or lower, modulo the number of ranks. A rank that hears
 * of a death for the first time does the same, and tells its drivers.
 *
 * No living rank is called dead: pid and start time name one process of a pid
 * namespace, and that process has ended, or called exec(). Nor is a rank that
 * has left when all had begun to close: the page of the checked rank, mapped
 * while that rank lives, tells so; without a page, an end before this rank
 * closes is a death, and a later one is not. After a death ranks also leave
 * when they have waited for 5 s: a rank that did not look meanwhile, and comes
 * later, may call such ranks dead, whose calls end in the same way.
 *
 * No death is missed: while a rank of the node makes progress, it checks, after
 * other deaths, the dead ranks that follow it in the ring. No notice is lost to
 * all: the jumps are convex, so the graph of neighbours stays connected while
 * fewer ranks die than a rank has neighbours, about 2 log2 of the number of
 * ranks (Boesch and Felzer, Networks 2, 1972), or only ranks of one run of
 * numbers, as on a node. In a tree, two inner ranks that die at once would cut
 * each other's notices off. A rank that hears nothing waits as without notices.
 *
 * Nothing waits: a notice needs no answer and no credit, and each rank enters,
 * and passes on, each death once. Model: tests/models/deaths.pml. */
#include "rpc/handle.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "transport/calls.h"

enum {
    HOST_CAP = 24,
};

/* Least time between two looks, as ticks come from several sources. */
#define LEAST_NS (AMG_TICK_NS / 5 * 4)

/* Contents of a notice. */
struct death {
    uint32_t rank, pid;
    char host[HOST_CAP];
};

_Static_assert(sizeof(struct death) == AMG_CONTROL_LEN, "fits");

enum rank_state { HERE, DEAD, LEFT };

/* State of a class; but for the states, guarded by the lock. */
struct amg_deaths {
    struct amg_lock lock;    /* NOTE(not a leaf): held while /proc is read */
    uint64_t next_ns;        /* of the next look */
    uint32_t own;            /* index of this rank among its mates */
    uint32_t checked;        /* index of the mate that was checked last */
    struct amg_status *page; /* of that mate; NULL: not found */
    atomic_uchar states[]; /* enum rank_state, by rank; the first writer wins */
};

static struct amg_deaths *deaths_of(const hg_class_t *cls)
{
    return amg_rpc_class_of(cls)->deaths;
}

/* Had the class ended at the mate, whose process has ended? */
static bool has_left(const hg_class_t *cls, const struct amg_class_mate *mate,
    const struct amg_status *page)
{
    bool has_left = page != NULL || cls->patience.start_ns != 0;

    for (unsigned i = 0; i < AMG_STATUS_CLASSES && page != NULL; i++) {
        const struct amg_status_class *part = &page->classes[i];

        if (atomic_load_explicit(&part->is_open, memory_order_acquire) != 0 &&
            part->rank == mate->rank && part->size == cls->job.size &&
            atomic_load_explicit(&part->has_left, memory_order_acquire) == 0)
            has_left = false;
    }
    return has_left;
}

/* Maps the page of the mate to be checked, in place of the last one. */
static void page_find_locked(
    struct amg_deaths *deaths, const struct amg_class_job *job, uint32_t at)
{
    const struct amg_class_mate *mate = &job->mates[at];

    AMG_ASSERT_HELD(&deaths->lock);
    if (deaths->checked != at && deaths->page != NULL) {
        amg_status_drop(deaths->page);
        deaths->page = NULL;
    }
    deaths->checked = at;
    if (deaths->page == NULL)
        (void)amg_status_find(mate->pid, mate->start_time, &deaths->page);
}

/* The first dead mate; NULL: the next mate of the ring lives, or none is left.
 */
static const struct amg_class_mate *dead_find_locked(
    struct amg_deaths *deaths, const hg_class_t *cls)
{
    const struct amg_class_job *job = &cls->job;

    AMG_ASSERT_HELD(&deaths->lock);
    for (uint32_t i = 1; i < job->mate_count; i++) {
        uint32_t at = (deaths->own + i) % job->mate_count;
        const struct amg_class_mate *mate = &job->mates[at];

        if (atomic_load_explicit(
                &deaths->states[mate->rank], memory_order_relaxed) != HERE ||
            mate->pid == 0)
            continue;
        page_find_locked(deaths, job, at);
        if (amg_process_life(mate->pid, mate->start_time) != AMG_LIFE_DEAD)
            return NULL;
        if (!has_left(cls, mate, deaths->page))
            return mate;
        atomic_store_explicit(
            &deaths->states[mate->rank], LEFT, memory_order_relaxed);
    }
    return NULL;
}

static void neighbour_tell(
    hg_context_t *context, uint64_t number, const struct death *death)
{
    uint32_t rank = (uint32_t)(number % context->cls->job.size);
    struct hg_addr to;

    if (atomic_load_explicit(&deaths_of(context->cls)->states[rank],
            memory_order_relaxed) != HERE ||
        amg_addr_init_rank(context->cls, rank, &to) != HG_SUCCESS)
        return;
    (void)amg_control_send(
        context, &to, 0, AMG_CONTROL_DEAD, death, sizeof(*death));
    amg_addr_fini(&to);
}

/* Enters a death, and passes it on; no effect on a known one. */
static void death_enter(
    hg_context_t *context, const struct death *death, bool is_noticed)
{
    struct amg_class_job *job = &context->cls->job;
    unsigned char here = HERE;

    if (!atomic_compare_exchange_strong_explicit(
            &deaths_of(context->cls)->states[death->rank], &here, DEAD,
            memory_order_relaxed, memory_order_relaxed))
        return;
    /* A rank for which nothing is under way leaves the warning to others. */
    AMG_LOG(is_noticed || amg_tally_sum(&context->in_flight) > 0
                ? HG_LOG_LEVEL_WARNING
                : HG_LOG_LEVEL_INFO,
        "rpc",
        "rank %u (pid %u on %.*s) has died, or called exec(): calls and "
        "transfers to it end with HG_HOSTUNREACH",
        death->rank, death->pid, HOST_CAP - 1, death->host);
    atomic_fetch_add_explicit(&job->deaths, 1u, memory_order_relaxed);
    amg_addr_lose_rank(context->cls, death->rank);
    for (uint64_t jump = 1; jump < job->size; jump *= 2) {
        neighbour_tell(context, job->rank + jump, death);
        neighbour_tell(context, job->rank + job->size - jump, death);
    }
    amg_context_look_at(context, 0); /* ends a quiescence, and looks again */
}

void amg_deaths_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_deaths *deaths = deaths_of(context->cls);
    const struct amg_class_mate *mate = NULL;
    struct death death = {.rank = 0};

    if (deaths == NULL || context->id != 0)
        return;
    amg_lock_lock(&deaths->lock);
    if (now_ns >= deaths->next_ns) {
        mate = dead_find_locked(deaths, context->cls);
        deaths->next_ns = mate != NULL ? 0 : now_ns + LEAST_NS;
    }
    amg_lock_unlock(&deaths->lock);
    if (mate == NULL)
        return;
    death = (struct death){.rank = mate->rank, .pid = mate->pid};
    (void)gethostname(death.host, HOST_CAP - 1);
    death_enter(context, &death, true);
}

void amg_deaths_told(hg_context_t *context, const void *bytes)
{
    const struct amg_class_job *job = &context->cls->job;
    struct death death;

    memcpy(&death, bytes, sizeof(death));
    if (deaths_of(context->cls) != NULL && death.rank < job->size &&
        death.rank != job->rank)
        death_enter(context, &death, false);
}

void amg_deaths_attach(hg_class_t *cls)
{
    const struct amg_class_job *job = &cls->job;
    struct amg_deaths *deaths =
        job->size < 2 ? NULL : amg_mem_zalloc(sizeof(*deaths) + job->size);

    amg_rpc_class_of(cls)->deaths = deaths;
    if (deaths == NULL)
        return;
    amg_lock_init(&deaths->lock);
    while (deaths->own < job->mate_count &&
           job->mates[deaths->own].rank != job->rank)
        deaths->own++;
}

void amg_deaths_free(struct amg_deaths *deaths)
{
    if (deaths != NULL && deaths->page != NULL)
        amg_status_drop(deaths->page);
    amg_mem_free(deaths);
}
