/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that makes progress while no caller does.
 *
 * It owns the context only while it looks. Before it sleeps it announces that
 * to all who bring news and gives the context away, so that a caller who waits
 * takes over at once. A caller's first poll ends what was announced, and the
 * caller tells the thread when it leaves: one system call, and the last one
 * while calls go on. From then on the thread stands by, in short naps on a
 * shared core, spinning on one of its own, and sees by the count of turns
 * whether callers still come. When none has for that long, it takes over.
 *
 *   drives --(nothing comes)--> sleeps, armed, owning nothing
 *   drives or sleeps --(a caller came)--> stands by
 *   stands by --(none came for one nap, or 10 us)--> drives
 *   stands by --(somebody keeps the context)--> sleeps until that one leaves
 *
 * A descriptor that tells of news again and again where there are none would
 * keep it running: after some of these it naps instead. */
#include "core/progress_thread.h"

#include "base/clock.h"
#include "base/relax.h"
#include "core/pace.h"
#include "core/progress.h"

enum {
    SERVE_MAX = 64,     /* callbacks between two looks for news */
    CLOCK_EVERY = 32,   /* polls between two looks at the clock */
    STANDBY_MS = 1,     /* a nap while callers make progress */
    STANDBY_NS = 4000,  /* a spin instead */
    CALM_SPINS = 3,     /* without a caller, and it takes over */
    CALM_NAPS = 1,      /* the same */
    KEPT_NAPS = 10,     /* after which it waits for the owner to leave */
    FRUITLESS_MAX = 16, /* wake-ups that brought nothing */
};

struct driver {
    hg_context_t *context;
    const atomic_bool *must_stop;
    struct amg_pace pace;
    uint64_t quiet_since_ns; /* 0: something came */
    unsigned moves;          /* as last seen */
    unsigned turns;          /* of callers, as last seen */
    unsigned calm;           /* looks at that since one came */
    unsigned kept;           /* naps in which the owner stayed */
    unsigned fruitless;
    bool is_left; /* callers leave to it what is served */
};

unsigned amg_progress_thread_serve(hg_context_t *context)
{
    struct amg_cq_entry *entry = NULL;
    unsigned count = 0;

    while (
        count < SERVE_MAX && (entry = amg_context_take_due(context)) != NULL) {
        amg_context_run_by_ours(context, entry);
        count++;
    }
    return count;
}

static bool is_over(const struct driver *driver)
{
    return atomic_load_explicit(driver->must_stop, memory_order_acquire);
}

static bool is_serving(const struct driver *driver)
{
    return driver->context->serve_by == AMG_SERVE_THREAD;
}

static bool has_served(const struct driver *driver)
{
    return is_serving(driver) && !amg_cq_is_empty(&driver->context->served);
}

static bool is_alone(const struct driver *driver)
{
    return driver->pace.core == AMG_PACE_DEDICATED;
}

static struct amg_pace_step pace_now(struct driver *driver, uint64_t now_ns)
{
    unsigned moves = atomic_load_explicit(
        &driver->context->sleep.moves, memory_order_relaxed);

    if (driver->quiet_since_ns == 0 || driver->moves != moves)
        driver->quiet_since_ns = now_ns;
    driver->moves = moves;
    return amg_pace_next(&driver->pace, now_ns - driver->quiet_since_ns);
}

/* Have callers come since the last look? */
static bool turns_changed(struct driver *driver)
{
    unsigned turns =
        atomic_load_explicit(&driver->context->turns, memory_order_relaxed);

    if (turns == driver->turns)
        return false;
    driver->turns = turns;
    driver->calm = 0;
    driver->kept = 0;
    driver->quiet_since_ns = 0;
    return true;
}

/* For a moment, on a core of its own. */
static void spin_by(uint64_t now_ns)
{
    while (amg_clock_ns() - now_ns < STANDBY_NS)
        amg_relax();
}

/* Until the owner leaves: that one sees the announcement, or this finds it
 * gone (base/bias.h). */
static void sleep_behind(struct driver *driver)
{
    hg_context_t *context = driver->context;
    unsigned epoch = amg_cq_epoch(&context->cq);

    if (amg_sleep_fd(context, AMG_CQ_THREAD) < 0 ||
        !amg_cq_arm(&context->cq, AMG_CQ_THREAD, epoch)) {
        amg_sleep_nap(context, AMG_CQ_THREAD,
            amg_clock_ns() + STANDBY_MS * AMG_NS_PER_MS);
        return;
    }
    if (!amg_progress_own(context)) {
        amg_sleep_nap(
            context, AMG_CQ_THREAD, amg_clock_ns() + AMG_PACE_FOR_LONG_NS);
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
        return;
    }
    amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
    amg_progress_disown(context);
}

/* Ends early when it is roused. */
static void nap(struct driver *driver, uint64_t now_ns)
{
    hg_context_t *context = driver->context;

    amg_sleep_nap(context, AMG_CQ_THREAD, now_ns + STANDBY_MS * AMG_NS_PER_MS);
    if (amg_sleep_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
}

/* Callers make progress, or did a moment ago. What is served is theirs for that
 * moment, and for no longer: they may never call HG_Trigger(). */
static void stand_by(struct driver *driver)
{
    uint64_t now_ns = amg_clock_ns();

    driver->is_left = has_served(driver);
    if (is_alone(driver) && pace_now(driver, now_ns).kind == AMG_PACE_LOOK) {
        spin_by(now_ns);
    } else if (driver->kept < KEPT_NAPS) {
        driver->kept++;
        nap(driver, now_ns);
        driver->is_left = true;
        driver->calm = CALM_SPINS; /* as good as all of them */
    } else {
        sleep_behind(driver);
        driver->is_left = true;
    }
    if (!turns_changed(driver))
        driver->calm++;
}

/* By the owner, who leaves: sleeps until there is news. */
static void drive_sleep(
    struct driver *driver, unsigned epoch, uint64_t now_ns, uint64_t ns)
{
    hg_context_t *context = driver->context;
    enum amg_sleep_end end = AMG_SLEEP_NEWS;
    bool is_armed = driver->fruitless < FRUITLESS_MAX &&
                    amg_sleep_fd(context, AMG_CQ_THREAD) >= 0;

    if (!is_armed) {
        amg_progress_disown(context);
        driver->fruitless = 0;
        amg_sleep_nap(
            context, AMG_CQ_THREAD, now_ns + STANDBY_MS * AMG_NS_PER_MS);
        return;
    }
    is_armed = amg_sleep_arm(context, AMG_CQ_THREAD, epoch);
    if (!is_armed) {
        amg_progress_disown(context);
    } else {
        if (amg_progress_leave(context))
            amg_cq_wake(&context->cq);
        end = amg_sleep_on(context, AMG_CQ_THREAD,
            now_ns + (ns < AMG_PACE_FOR_LONG_NS ? ns : AMG_PACE_FOR_LONG_NS));
    }
    if (end == AMG_SLEEP_BELL)
        driver->quiet_since_ns = 0;
    driver->fruitless = end == AMG_SLEEP_NEWS ? driver->fruitless + 1 : 0;
}

/* By the owner, who found nothing. False: it has left, and slept. */
static bool drive_rest(struct driver *driver, unsigned epoch)
{
    hg_context_t *context = driver->context;
    uint64_t now_ns = amg_clock_ns();
    struct amg_pace_step step = pace_now(driver, now_ns);

    if (step.kind == AMG_PACE_SLEEP) {
        drive_sleep(driver, epoch, now_ns, step.ns);
        return false;
    }
    if (step.kind == AMG_PACE_NAP) {
        amg_progress_disown(context);
        if (amg_sleep_doze(context, AMG_CQ_THREAD, epoch, now_ns + step.ns) ==
            AMG_SLEEP_BELL)
            driver->quiet_since_ns = 0;
        return false;
    }
    return true;
}

/* Something came, which the next wait of a caller is to know, too. */
static void drive_found(struct driver *driver)
{
    driver->quiet_since_ns = 0;
    driver->fruitless = 0;
    driver->context->sleep.quiet_since_ns = 0;
}

/* By the owner, who leaves: looks until nothing comes or somebody else does. */
static void drive(struct driver *driver)
{
    hg_context_t *context = driver->context;
    unsigned polls = 0;

    driver->kept = 0;
    driver->is_left = false;
    do {
        unsigned epoch = amg_cq_epoch(&context->cq);
        bool has_found = amg_progress_poll(context) > 0;

        polls++;
        if (has_found)
            drive_found(driver);
        if (amg_progress_is_awaited(context) || turns_changed(driver)) {
            driver->calm = 0;
            break;
        }
        if (has_served(driver))
            break;
        if (!has_found &&
            (driver->pace.core == AMG_PACE_SHARED ||
                polls % CLOCK_EVERY == 0) &&
            !drive_rest(driver, epoch))
            return;
    } while (!is_over(driver));
    amg_progress_disown(context);
}

static struct amg_pace pace_of(const hg_context_t *context, bool has_core)
{
    return (struct amg_pace){
        .wish = context->cls->drive.wait,
        .core = has_core ? AMG_PACE_DEDICATED : AMG_PACE_SHARED,
        .is_blind = context->sleep.is_thread_blind,
        .spin_ns = context->spin_ns,
    };
}

/* Has no caller come for long enough? */
static bool is_calm(const struct driver *driver)
{
    return driver->calm >= (is_alone(driver) ? CALM_SPINS : CALM_NAPS);
}

void amg_progress_thread_run(
    hg_context_t *context, const atomic_bool *must_stop, bool has_core)
{
    struct driver driver = {
        .context = context,
        .must_stop = must_stop,
        .pace = pace_of(context, has_core),
        .calm = CALM_SPINS,
    };

    driver.turns = atomic_load_explicit(&context->turns, memory_order_relaxed);
    if (amg_sleep_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
    while (!is_over(&driver)) {
        (void)turns_changed(&driver);
        if (is_calm(&driver) && amg_progress_own(context))
            drive(&driver);
        else
            stand_by(&driver);
        if (is_serving(&driver) && (is_calm(&driver) || driver.is_left))
            amg_progress_thread_serve(context);
        if (amg_context_look_ns(context) != AMG_CONTEXT_NEVER)
            amg_context_look(context, amg_clock_ns());
    }
    /* Nobody is to ring for who is gone: a poll ends what was announced. */
    if (amg_progress_own(context)) {
        amg_progress_poll(context);
        amg_progress_disown(context);
    }
}
