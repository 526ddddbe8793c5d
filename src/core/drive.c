/* SPDX-License-Identifier: BSD-3-Clause */
/* How the contexts of a class are driven: what was asked for, and what the
 * machine made of it.
 *
 * Whose the cores beyond one's own binding are is known only where the ranks of
 * a node have told each other. Elsewhere a thread that is asked for keeps to
 * the own binding, unless its core is named. And where nothing is asked for,
 * the callers drive, and the machine is not even looked at: to load it takes
 * milliseconds. */
#include "core/drive.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/class.h"
#include "core/drive_tell.h"
#include "place/bind.h"
#include "place/topo.h"

static void texts_free(struct amalgam_progress_options *options)
{
    amg_mem_free((char *)options->progress_cpus);
    amg_mem_free((char *)options->handler_cpus);
    options->progress_cpus = options->handler_cpus = NULL;
}

void amg_drive_fini(struct amg_drive *drive)
{
    texts_free(&drive->asked);
    amg_mem_free(drive->ranks);
    amg_mem_free(drive->placement);
    drive->ranks = NULL;
    drive->placement = NULL;
}

static bool options_are_valid(const struct amalgam_progress_options *options)
{
    if (options->size != sizeof(*options)) {
        AMG_LOG_ERROR("cls",
            "progress options of %zu bytes: start from "
            "AMALGAM_PROGRESS_OPTIONS_INITIALIZER, and run with the version "
            "compiled against",
            options->size);
        return false;
    }
    if ((unsigned)options->progress > AMALGAM_PROGRESS_NONE) {
        AMG_LOG_ERROR("cls",
            "progress mode %d: there are %d (AMALGAM_PROGRESS_AUTO) to %d "
            "(AMALGAM_PROGRESS_NONE)",
            (int)options->progress, AMALGAM_PROGRESS_AUTO,
            AMALGAM_PROGRESS_NONE);
        return false;
    }
    if ((unsigned)options->wait > AMALGAM_WAIT_SLEEP) {
        AMG_LOG_ERROR("cls",
            "way to wait %d: there are %d (AMALGAM_WAIT_AUTO) to %d "
            "(AMALGAM_WAIT_SLEEP)",
            (int)options->wait, AMALGAM_WAIT_AUTO, AMALGAM_WAIT_SLEEP);
        return false;
    }
    if (options->handlers > AMALGAM_HANDLERS_MAX &&
        options->handlers != AMALGAM_HANDLERS_AUTO) {
        AMG_LOG_ERROR("cls",
            "%u handler threads: at most %d, or AMALGAM_HANDLERS_AUTO",
            options->handlers, AMALGAM_HANDLERS_MAX);
        return false;
    }
    return true;
}

/* NULL stays NULL. */
static hg_return_t text_copy(const char *text, const char **ret_copy)
{
    *ret_copy = text == NULL ? NULL : amg_mem_strdup(text);
    return text != NULL && *ret_copy == NULL ? HG_NOMEM : HG_SUCCESS;
}

hg_return_t amg_drive_ask(
    struct amg_drive *drive, const struct amalgam_progress_options *options)
{
    struct amalgam_progress_options asked =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    hg_return_t rc = HG_SUCCESS;

    if (options != NULL) {
        if (!options_are_valid(options))
            return HG_INVALID_ARG;
        asked = *options;
        rc = text_copy(options->progress_cpus, &asked.progress_cpus);
        if (rc == HG_SUCCESS)
            rc = text_copy(options->handler_cpus, &asked.handler_cpus);
        else
            asked.handler_cpus = NULL; /* the caller's still */
    }
    if (rc != HG_SUCCESS) {
        texts_free(&asked);
        return rc;
    }
    texts_free(&drive->asked);
    drive->asked = asked;
    return HG_SUCCESS;
}

void amg_drive_set_ranks(struct amg_drive *drive, struct amg_place_rank *ranks,
    uint32_t count, uint32_t self, bool has_far)
{
    AMG_ASSERT(ranks != NULL && self < count);
    amg_mem_free(drive->ranks);
    drive->ranks = ranks;
    drive->rank_count = count;
    drive->self = self;
    drive->has_far = has_far;
}

void amg_drive_borrow(struct amg_drive *drive, const struct amg_drive *lender)
{
    size_t len = lender->rank_count * sizeof(*lender->ranks);
    struct amg_place_rank *ranks = NULL;

    if (drive->asked.progress == AMALGAM_PROGRESS_AUTO)
        drive->asked.progress = lender->asked.progress;
    if (drive->asked.wait == AMALGAM_WAIT_AUTO)
        drive->asked.wait = lender->asked.wait;
    memcpy(drive->nic, lender->nic, sizeof(drive->nic));
    if (lender->ranks != NULL)
        ranks = amg_mem_alloc(len);
    if (ranks == NULL)
        return; /* as if the neighbours were not known */
    memcpy(ranks, lender->ranks, len);
    amg_drive_set_ranks(
        drive, ranks, lender->rank_count, lender->self, lender->has_far);
    drive->has_strangers = lender->has_strangers;
}

/* Is there a route that no thread of the library may move? */
static bool has_bound(const hg_class_t *cls)
{
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        if (cls->domains[route] != NULL && !cls->is_idle[route] &&
            amg_class_is_user_bound(cls, route))
            return true;
    return false;
}

/* Who asks for a thread is told, once, that it does not reach all. */
static void bound_tell(const hg_class_t *cls)
{
    static atomic_bool warned;

    if (atomic_exchange_explicit(&warned, true, memory_order_relaxed))
        return;
    AMG_LOG_WARNING("cls",
        "MPI was started below MPI_THREAD_MULTIPLE, where no thread of the "
        "library may call it: %s; start it by "
        "MPI_Init_thread(MPI_THREAD_MULTIPLE)",
        cls->limits.is_user_bound
            ? "there is no progress thread, the calls that wait make progress"
            : "the progress thread serves shared memory and libfabric alone");
}

/* Where a thread would serve nobody, there is none. True: so it is here, and
 * one was asked for, or might have been taken. */
static bool wish_cut(
    const hg_class_t *cls, struct amalgam_progress_options *wanted)
{
    bool is_cut = cls->limits.is_user_bound &&
                  (wanted->progress == AMALGAM_PROGRESS_AUTO ||
                      amg_policy_has_thread(wanted->progress));

    if (is_cut)
        wanted->progress = AMALGAM_PROGRESS_CALLER;
    return is_cut;
}

/* What leads to other nodes, as every rank of the node has to see it, since all
 * of them make the same map: what a driver names, or the NIC that is nearest
 * to each of them. Where that is not the same one for all, they have one each
 * on their own side, and the own NUMA node says all there is. */
static const char *nic_find(
    const struct amg_drive *drive, const struct amg_machine *machine)
{
    uint32_t first = UINT32_MAX;

    if (drive->has_far && drive->nic[0] != '\0')
        return drive->nic;
    if (!drive->has_far || machine->nic_count == 0)
        return NULL;
    for (uint32_t i = 0; i < drive->rank_count; i++) {
        uint32_t order[AMG_NICS_MAX];

        amg_machine_nic_order(machine, &drive->ranks[i].binding, 0, order);
        if (i > 0 && order[0] != first)
            return NULL;
        first = order[0];
    }
    return machine->nics[first].name;
}

/* Do the programs of the node run more threads than they have cpus? What it
 * takes to know that without the machine. */
static bool node_is_crowded(const struct amg_drive *drive)
{
    struct amg_cpuset all = {{0}};
    uint64_t threads = 0;

    for (uint32_t i = 0; i < drive->rank_count; i++) {
        const struct amg_place_rank *rank = &drive->ranks[i];

        if (amg_cpuset_count(&rank->binding) == 0)
            return false;
        amg_cpuset_unite(&all, &rank->binding);
        threads += rank->threads > 0 ? rank->threads : 1;
    }
    return threads > amg_cpuset_count(&all);
}

/* May others, that are not known, run wherever this rank may? */
static bool is_unbound_among_strangers(
    const struct amg_drive *drive, uint32_t self)
{
    return drive->has_strangers &&
           amg_cpuset_covers(
               &drive->ranks[self].binding, &amg_topo_this()->allowed);
}

static void question_make(const struct amg_drive *drive,
    const struct amalgam_progress_options *wanted, uint32_t self,
    struct amg_place_ask *ret_ask)
{
    const struct amg_machine *machine = amg_topo_this();

    *ret_ask = (struct amg_place_ask){
        .machine = machine,
        .ranks = drive->ranks,
        .rank_count = drive->rank_count,
        .self = self,
        .has_strangers = drive->has_strangers,
        .nic = nic_find(drive, machine),
        .progress = wanted->progress,
        .is_mercury = drive->is_mercury,
        .handlers = wanted->handlers,
        .progress_cpus = wanted->progress_cpus,
        .handler_cpus = wanted->handler_cpus,
    };
    if (wanted->progress == AMALGAM_PROGRESS_AUTO &&
        is_unbound_among_strangers(drive, self))
        ret_ask->progress = AMALGAM_PROGRESS_CALLER;
}

bool amg_drive_question(
    const hg_class_t *cls, uint32_t index, struct amg_place_ask *ret_ask)
{
    struct amalgam_progress_options wanted;

    if (index >= cls->drive.rank_count)
        return false;
    amg_drive_wanted(&cls->drive, &wanted);
    wish_cut(cls, &wanted);
    question_make(&cls->drive, &wanted, index, ret_ask);
    return true;
}

/* What else runs on the node is not known: this process is all that is, in
 * `alone`. */
static void question_close(
    struct amg_place_ask *ask, struct amg_place_rank *alone)
{
    *alone = (struct amg_place_rank){
        .binding = *amg_bind_process(),
        .threads = amg_bind_app_threads(),
    };
    ask->ranks = alone;
    ask->rank_count = 1;
    ask->self = 0;
    ask->has_strangers = true;
    if (ask->progress == AMALGAM_PROGRESS_AUTO)
        ask->progress = AMALGAM_PROGRESS_CALLER;
}

/* Asks the policy. */
static void settle(
    hg_class_t *cls, const struct amalgam_progress_options *wanted, bool is_cut)
{
    struct amg_placement *placement = amg_mem_zalloc(sizeof(*placement));
    struct amg_place_rank alone;
    struct amg_place_ask ask;

    cls->drive.placement = placement;
    if (placement == NULL) {
        AMG_LOG_WARNING("cls", "no memory to place threads: the calls that "
                               "wait make progress");
        cls->drive.reason = "there is no memory";
        return;
    }
    question_make(&cls->drive, wanted, cls->drive.self, &ask);
    if (ask.ranks == NULL)
        question_close(&ask, &alone);
    amg_policy_place(&ask, placement);
    cls->drive.is_crowded = placement->is_crowded;
    if (is_cut || (wanted->progress == AMALGAM_PROGRESS_AUTO &&
                      ask.progress == AMALGAM_PROGRESS_CALLER))
        snprintf(placement->reason, sizeof(placement->reason), "%s",
            cls->drive.reason);
}

/* Is there a thread to be placed, or may there be one? */
static bool must_place(const struct amg_drive *drive,
    const struct amalgam_progress_options *wanted)
{
    switch (wanted->progress) {
    case AMALGAM_PROGRESS_AUTO:
        return wanted->handlers > 0 || drive->ranks != NULL;
    case AMALGAM_PROGRESS_CALLER:
        return wanted->handlers > 0;
    default:
        return true;
    }
}

void amg_drive_settle(hg_class_t *cls)
{
    struct amg_drive *drive = &cls->drive;
    struct amalgam_progress_options wanted;
    bool is_cut = false;

    amg_mem_free(drive->placement);
    drive->placement = NULL;
    amg_drive_wanted(drive, &wanted);
    drive->wait = cls->plan.no_block ? AMALGAM_WAIT_SPIN : wanted.wait;
    if (amg_policy_has_thread(wanted.progress) && has_bound(cls))
        bound_tell(cls);
    is_cut = wish_cut(cls, &wanted);
    drive->reason = is_cut ? "MPI was started below MPI_THREAD_MULTIPLE"
                    : wanted.progress == AMALGAM_PROGRESS_CALLER
                        ? "as was asked for"
                        : "who else runs on the node is not known";
    drive->is_crowded = node_is_crowded(drive);
    if (must_place(drive, &wanted))
        settle(cls, &wanted, is_cut);
    cls->limits.must_yield = cls->limits.must_yield || drive->is_crowded;
    amg_drive_tell(cls);
}

hg_return_t amalgam_set_progress(
    hg_class_t *hg_class, const struct amalgam_progress_options *options)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class))
        return HG_INVALID_ARG;
    if (amg_class_counted(hg_class, AMG_CLASS_CONTEXTS) > 0) {
        AMG_LOG_WARNING("cls",
            "amalgam_set_progress: %d contexts are open; call it before "
            "HG_Context_create()",
            amg_class_counted(hg_class, AMG_CLASS_CONTEXTS));
        return HG_BUSY;
    }
    rc = amg_drive_ask(&hg_class->drive, options);
    if (rc == HG_SUCCESS)
        amg_drive_settle(hg_class);
    return rc;
}
