/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress configuration of a class: its options and resulting placement.
 *
 * Options of the program override the environment, which sets the options that
 * the program left open. A rank knows the idle cores outside its own binding
 * only if the ranks of a node have exchanged their bindings. Otherwise a
 * requested thread stays in the binding of its rank, unless its core is named.
 * With `caller`, or with `auto` and unknown bindings, application calls make
 * progress, and no machine description is loaded, which takes milliseconds. */
#include "core/progress_config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "affinity/bind.h"
#include "affinity/topo.h"

enum { LINE_CAP = 320, WAIT_CAP = 64 };

static const char *const progress_words[] = {
    [AMALGAM_PROGRESS_AUTO] = "auto",
    [AMALGAM_PROGRESS_CALLER] = "caller",
    [AMALGAM_PROGRESS_ASSIST] = "assist",
    [AMALGAM_PROGRESS_THREAD] = "thread",
};

static const char *const wait_words[] = {
    [AMALGAM_WAIT_AUTO] = "auto",
    [AMALGAM_WAIT_SPIN] = "spin",
    [AMALGAM_WAIT_SLEEP] = "sleep",
};

enum {
    PROGRESS_WORDS = sizeof(progress_words) / sizeof(progress_words[0]),
    WAIT_WORDS = sizeof(wait_words) / sizeof(wait_words[0]),
};

const char *amg_progress_config_progress_name(enum amalgam_progress progress)
{
    AMG_ASSERT((unsigned)progress < PROGRESS_WORDS);
    return progress_words[progress];
}

static int word_find(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return -1;
}

/* The index of the word in a variable; 0 (auto) if the variable is unset or
 * invalid. Warns of an invalid value once per process and variable. */
static int env_word(
    enum amg_env_id id, const char *const *words, int count, const char *known)
{
    static atomic_bool warned[AMG_ENV_COUNT];
    const char *text = amg_env_text(id);
    int found = text == NULL ? 0 : word_find(text, words, count);

    if (found >= 0)
        return found;
    if (!atomic_exchange_explicit(&warned[id], true, memory_order_relaxed))
        AMG_LOG_JOB_WARNING("cls",
            "%s is '%s', but must be %s; using auto, the default",
            amg_env_var(id)->name, text, known);
    return 0;
}

/* Returns the options with the environment applied; the strings stay those of
 * `config` and of the environment. Ignores invalid values, with a warning. */
static void options_wanted(const struct amg_progress_config *config,
    struct amalgam_progress_options *ret_wanted)
{
    *ret_wanted = config->asked;
    if (ret_wanted->progress == AMALGAM_PROGRESS_AUTO)
        ret_wanted->progress = (enum amalgam_progress)env_word(AMG_ENV_PROGRESS,
            progress_words, PROGRESS_WORDS, "auto, caller, assist or thread");
    if (ret_wanted->wait == AMALGAM_WAIT_AUTO)
        ret_wanted->wait = (enum amalgam_wait)env_word(
            AMG_ENV_WAIT, wait_words, WAIT_WORDS, "auto, spin or sleep");
    if (ret_wanted->progress_cpus == NULL)
        ret_wanted->progress_cpus = amg_env_text(AMG_ENV_PROGRESS_CPUS);
}

void amg_progress_config_fini(struct amg_progress_config *config)
{
    amg_mem_free((char *)config->asked.progress_cpus);
    amg_mem_free(config->ranks);
    config->asked.progress_cpus = NULL;
    config->ranks = NULL;
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
    if ((unsigned)options->progress > AMALGAM_PROGRESS_THREAD) {
        AMG_LOG_ERROR("cls",
            "progress mode %d: it must be from %d (AMALGAM_PROGRESS_AUTO) to "
            "%d (AMALGAM_PROGRESS_THREAD)",
            (int)options->progress, AMALGAM_PROGRESS_AUTO,
            AMALGAM_PROGRESS_THREAD);
        return false;
    }
    if ((unsigned)options->wait > AMALGAM_WAIT_SLEEP) {
        AMG_LOG_ERROR("cls",
            "wait mode %d: it must be from %d (AMALGAM_WAIT_AUTO) to %d "
            "(AMALGAM_WAIT_SLEEP)",
            (int)options->wait, AMALGAM_WAIT_AUTO, AMALGAM_WAIT_SLEEP);
        return false;
    }
    return true;
}

hg_return_t amg_progress_config_ask(struct amg_progress_config *config,
    const struct amalgam_progress_options *options)
{
    struct amalgam_progress_options asked =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    if (options != NULL) {
        if (!options_are_valid(options))
            return HG_INVALID_ARG;
        asked = *options;
    }
    if (asked.progress_cpus != NULL) {
        asked.progress_cpus = amg_mem_strdup(asked.progress_cpus);
        if (asked.progress_cpus == NULL)
            return HG_NOMEM;
    }
    amg_mem_free((char *)config->asked.progress_cpus);
    config->asked = asked;
    return HG_SUCCESS;
}

void amg_progress_config_set_ranks(struct amg_progress_config *config,
    struct amg_affinity_rank *ranks, uint32_t count, uint32_t self,
    bool has_far)
{
    AMG_ASSERT(ranks != NULL && self < count);
    amg_mem_free(config->ranks);
    config->ranks = ranks;
    config->rank_count = count;
    config->self = self;
    config->has_far = has_far;
}

void amg_progress_config_borrow(
    struct amg_progress_config *config, const struct amg_progress_config *owner)
{
    if (config->asked.progress == AMALGAM_PROGRESS_AUTO)
        config->asked.progress = owner->asked.progress;
    if (config->asked.wait == AMALGAM_WAIT_AUTO)
        config->asked.wait = owner->asked.wait;
    memcpy(config->nic, owner->nic, sizeof(config->nic));
    config->ranks = owner->ranks;
    config->rank_count = owner->rank_count;
    config->self = owner->self;
    config->has_far = owner->has_far;
    config->has_strangers = owner->has_strangers;
}

/* Warns, once, that threads of the library may not progress the MPI route. */
static void bound_warn(const struct amg_progress_config *config)
{
    static atomic_bool warned;

    if (atomic_exchange_explicit(&warned, true, memory_order_relaxed))
        return;
    AMG_LOG_JOB_WARNING("cls",
        "MPI was started below MPI_THREAD_MULTIPLE, where no thread of the "
        "library may call it: %s; start it by "
        "MPI_Init_thread(MPI_THREAD_MULTIPLE)",
        config->is_user_bound
            ? "there is no progress thread, the calls that wait make progress"
            : "the progress thread serves shared memory and libfabric alone");
}

/* If no library thread may progress any route: sets `caller` in place of a mode
 * that has, or may get, a progress thread. True: the mode was replaced. */
static bool hint_cut(const struct amg_progress_config *config,
    struct amalgam_progress_options *wanted)
{
    bool is_cut =
        config->is_user_bound && (wanted->progress == AMALGAM_PROGRESS_AUTO ||
                                     amg_policy_has_thread(wanted->progress));

    if (is_cut)
        wanted->progress = AMALGAM_PROGRESS_CALLER;
    return is_cut;
}

/* The NIC to other nodes: the NIC that a driver names, else the NIC nearest to
 * all ranks of the node. All ranks must find the same NIC, since all compute
 * the same map. NULL: no ranks on other nodes, no NIC known, or ranks with
 * different nearest NICs; the policy then considers only NUMA nodes. */
static const char *nic_find(
    const struct amg_progress_config *config, const struct amg_machine *machine)
{
    uint32_t first = UINT32_MAX;

    if (config->has_far && config->nic[0] != '\0')
        return config->nic;
    if (!config->has_far || machine->nic_count == 0)
        return NULL;
    for (uint32_t i = 0; i < config->rank_count; i++) {
        uint32_t order[AMG_NICS_MAX];

        amg_machine_nic_order(machine, &config->ranks[i].binding, 0, order);
        if (i > 0 && order[0] != first)
            return NULL;
        first = order[0];
    }
    return machine->nics[first].name;
}

/* Do the ranks of the node run more threads than their bindings have cpus?
 * Decided without loading the machine description. */
static bool node_is_crowded(const struct amg_progress_config *config)
{
    struct amg_cpuset all = {{0}};
    uint64_t threads = 0;

    for (uint32_t i = 0; i < config->rank_count; i++) {
        const struct amg_affinity_rank *rank = &config->ranks[i];

        if (amg_cpuset_count(&rank->binding) == 0)
            return false;
        amg_cpuset_unite(&all, &rank->binding);
        threads += rank->threads > 0 ? rank->threads : 1;
    }
    return threads > amg_cpuset_count(&all);
}

/* Is rank `self` unbound, on a node that may have unknown processes? */
static bool is_unbound_among_unknown(
    const struct amg_progress_config *config, uint32_t self)
{
    return config->has_strangers &&
           amg_cpuset_covers(
               &config->ranks[self].binding, &amg_topo_this()->allowed);
}

static void question_make(const struct amg_progress_config *config,
    const struct amalgam_progress_options *wanted, uint32_t self,
    struct amg_affinity_ask *ret_ask)
{
    const struct amg_machine *machine = amg_topo_this();

    *ret_ask = (struct amg_affinity_ask){
        .machine = machine,
        .ranks = config->ranks,
        .rank_count = config->rank_count,
        .self = self,
        .has_strangers = config->has_strangers,
        .nic = nic_find(config, machine),
        .progress = wanted->progress,
        .is_mercury = config->is_mercury,
        .progress_cpus = wanted->progress_cpus,
    };
    if (wanted->progress == AMALGAM_PROGRESS_AUTO &&
        is_unbound_among_unknown(config, self))
        ret_ask->progress = AMALGAM_PROGRESS_CALLER;
}

bool amg_progress_config_question(const struct amg_progress_config *config,
    uint32_t index, struct amg_affinity_ask *ret_ask)
{
    struct amalgam_progress_options wanted;

    if (index >= config->rank_count)
        return false;
    options_wanted(config, &wanted);
    hint_cut(config, &wanted);
    question_make(config, &wanted, index, ret_ask);
    return true;
}

/* Completes `ask` where the ranks of the node are unknown: this process becomes
 * the only rank, stored in `alone`. */
static void question_close(
    struct amg_affinity_ask *ask, struct amg_affinity_rank *alone)
{
    *alone = (struct amg_affinity_rank){
        .binding = *amg_bind_process(),
        .threads = amg_bind_app_threads(),
    };
    ask->ranks = alone;
    ask->rank_count = 1;
    ask->self = 0;
    ask->has_strangers = true;
}

/* Asks the policy for a placement. */
static void policy_ask(struct amg_progress_config *config,
    const struct amalgam_progress_options *wanted)
{
    struct amg_placement *placement = &config->placed;
    struct amg_affinity_rank alone;
    struct amg_affinity_ask ask;

    config->placement = placement;
    question_make(config, wanted, config->self, &ask);
    if (ask.ranks == NULL)
        question_close(&ask, &alone);
    amg_policy_place(&ask, placement);
    config->is_oversubscribed = placement->is_oversubscribed;
    if (wanted->progress == AMALGAM_PROGRESS_AUTO &&
        ask.progress == AMALGAM_PROGRESS_CALLER)
        snprintf(
            placement->reason, sizeof(placement->reason), "%s", config->reason);
}

/* Must the policy place a thread, or decide whether there is one? */
static bool must_place(const struct amg_progress_config *config,
    const struct amalgam_progress_options *wanted)
{
    return wanted->progress == AMALGAM_PROGRESS_AUTO
               ? config->ranks != NULL
               : wanted->progress != AMALGAM_PROGRESS_CALLER;
}

/* The wait policy to print: of a thread on `slot`, or, if `slot` is NULL, of
 * the calls of the application. */
static struct amg_wait_policy shown_policy(
    const struct amg_progress_config *config, const struct amg_core_slot *slot)
{
    enum amg_core_use core =
        config->is_oversubscribed ? AMG_CORE_SHARED : AMG_CORE_OWN;
    struct amg_wait_policy policy;

    if (slot != NULL)
        core = slot->is_dedicated ? AMG_CORE_DEDICATED : AMG_CORE_SHARED;
    policy = amg_progress_config_wait_policy(
        config, core, amg_env_number(AMG_ENV_SPIN_US) * 1000);
    policy.is_not_pollable = config->is_not_pollable;
    return policy;
}

struct amg_wait_policy amg_progress_config_wait(
    const struct amg_progress_config *config, const struct amg_core_slot *slot,
    char *ret_text, size_t cap)
{
    struct amg_wait_policy policy = shown_policy(config, slot);
    uint64_t spin_us = amg_wait_policy_spin_ns(&policy) / 1000;
    const char *rest = policy.is_not_pollable ? "nap" : "sleep";

    if (amg_wait_policy_spin_ns(&policy) == AMG_WAIT_FOR_EVER_NS)
        snprintf(ret_text, cap, "spin");
    else if (spin_us == 0)
        snprintf(ret_text, cap, "%s", rest);
    else
        snprintf(ret_text, cap, "spin %u %s, then %s",
            (unsigned)(spin_us < 10000 ? spin_us : spin_us / 1000),
            spin_us < 10000 ? "us" : "ms", rest);
    return policy;
}

/* "progress: thread on cpu 7 (idle core); mode assist (as asked); waiting: ..."
 */
static void progress_line(
    const struct amg_progress_config *config, char *ret_text, size_t cap)
{
    const struct amg_placement *placement = config->placement;
    const struct amg_core_slot *slot = NULL;
    char wait[WAIT_CAP];
    char cpu[WAIT_CAP] = "";

    if (placement != NULL && amg_policy_has_thread(placement->progress))
        slot = &placement->slot;
    (void)amg_progress_config_wait(config, slot, wait, sizeof(wait));
    if (slot == NULL) {
        snprintf(ret_text, cap,
            "progress: in application calls only (%s); waiting: %s",
            placement == NULL ? config->reason : placement->reason, wait);
        return;
    }
    if (slot->cpu >= 0)
        snprintf(cpu, sizeof(cpu), " on cpu %d", (int)slot->cpu);
    snprintf(ret_text, cap,
        "progress: thread%s (%s); mode %s (%s); waiting: %s", cpu, slot->reason,
        amg_progress_config_progress_name(placement->progress),
        placement->reason, wait);
}

/* Logs `notes` as a warning, unless the last warning had the same text, because
 * all classes of a process get the same notes. */
static void notes_warn(const char *notes)
{
    static struct amg_lock last_lock AMG_LOCK_KEPT;
    static char last[AMG_NOTES_CAP]; /* guarded by the lock */
    bool is_new = false;

    amg_lock_lock(&last_lock);
    is_new = notes[0] != '\0' && strcmp(last, notes) != 0;
    if (is_new)
        snprintf(last, sizeof(last), "%s", notes);
    amg_lock_unlock(&last_lock);
    if (is_new)
        AMG_LOG_WARNING("cls", "%s", notes);
}

/* Logs the notes and the progress line; the first rank of a job also prints the
 * progress line if AMALGAM_REPORT is set. */
static void lines_log(const struct amg_progress_config *config)
{
    char progress[LINE_CAP];

    if (config->placement != NULL)
        notes_warn(config->placement->notes);
    progress_line(config, progress, sizeof(progress));
    AMG_LOG_INFO("cls", "%s", progress);
    if (config->is_reporting && amg_env_number(AMG_ENV_REPORT) != 0)
        fprintf(stderr, "amalgam: %s\n", progress);
}

void amg_progress_config_settle(struct amg_progress_config *config)
{
    struct amalgam_progress_options wanted;
    bool is_cut = false;

    config->placement = NULL;
    options_wanted(config, &wanted);
    config->wait = config->no_block ? AMALGAM_WAIT_SPIN : wanted.wait;
    if (amg_policy_has_thread(wanted.progress) && config->has_bound)
        bound_warn(config);
    is_cut = hint_cut(config, &wanted);
    config->reason = is_cut ? "MPI below MPI_THREAD_MULTIPLE"
                     : wanted.progress == AMALGAM_PROGRESS_CALLER
                         ? "as asked"
                         : "other processes of the node unknown";
    config->is_oversubscribed = node_is_crowded(config);
    if (must_place(config, &wanted))
        policy_ask(config, &wanted);
    lines_log(config);
}
