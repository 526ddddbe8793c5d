/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines: sources, levels, and streams, and the functions of mercury_log.h
 * that set them. */
#include "base/log.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "mercury_param.h"

/* Every change of a level, or of the list of outlets to show, recomputes the
 * level of every outlet, so that a writer reads one number. HG_LOG_LEVEL and
 * HG_LOG_SUBSYS (the list) are read at first use. */

enum { LIST_CAP = 1024, NAME_CAP = 32, OWN_LEVELS = 32 };

/* A level that was set for one outlet. */
struct own_level {
    char name[NAME_CAP];
    enum hg_log_level level;
};

enum {
    OUTLET_HG,
    OUTLET_NA,
    OUTLET_HG_UTIL,
    OUTLET_ROOTS, /* the outlets above have no parent */
};

/* Outlets of the library, roots first, in the order of the enum. */
static struct hg_log_outlet outlets[] = {
#define ROOT(name) HG_LOG_OUTLET_INITIALIZER(name, HG_LOG_PASS, NULL, NULL)
#define BELOW(root, name, state)                                               \
    HG_LOG_OUTLET_INITIALIZER(name, state, &outlets[root], NULL)
    ROOT(hg),
    ROOT(na),
    ROOT(hg_util),
    BELOW(OUTLET_HG, cls, HG_LOG_PASS),
    BELOW(OUTLET_HG, ctx, HG_LOG_PASS),
    BELOW(OUTLET_HG, addr, HG_LOG_PASS),
    BELOW(OUTLET_HG, rpc, HG_LOG_PASS),
    BELOW(OUTLET_HG, bulk, HG_LOG_PASS),
    BELOW(OUTLET_HG, proc, HG_LOG_PASS),
    BELOW(OUTLET_HG, poll, HG_LOG_PASS),
    BELOW(OUTLET_HG, diag, HG_LOG_PASS),
    BELOW(OUTLET_HG, hang, HG_LOG_PASS),
    BELOW(OUTLET_HG, rpc_ref, HG_LOG_OFF),
    BELOW(OUTLET_HG, poll_loop, HG_LOG_OFF),
    BELOW(OUTLET_HG, perf, HG_LOG_OFF),
    BELOW(OUTLET_NA, op, HG_LOG_PASS),
    BELOW(OUTLET_NA, msg, HG_LOG_PASS),
    BELOW(OUTLET_NA, mem, HG_LOG_PASS),
    BELOW(OUTLET_NA, rma, HG_LOG_PASS),
    BELOW(OUTLET_NA, mpi, HG_LOG_PASS),
    BELOW(OUTLET_NA, shm, HG_LOG_PASS),
    BELOW(OUTLET_NA, ofi, HG_LOG_PASS),
#undef ROOT
#undef BELOW
};

enum { OUTLETS = sizeof(outlets) / sizeof(outlets[0]) };

static pthread_once_t outlet_once = PTHREAD_ONCE_INIT;
/* Guards the outlet settings below; writing a line does not take the mutex. */
static pthread_mutex_t outlet_mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guards log_who, log_print, log_streams; held while the log function runs. */
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static HG_LIST_HEAD(hg_log_outlet)
    outlets_of_programs = HG_LIST_HEAD_INITIALIZER(outlets_of_programs);
static enum hg_log_level outlet_level = HG_LOG_LEVEL_WARNING;
static struct own_level own_levels[OWN_LEVELS];
static unsigned own_level_count;
static char outlet_list[LIST_CAP]; /* "" names no outlet */
/* The highest level that any outlet of the library shows; publishes nothing. */
static hg_atomic_int32_t outlet_loudest =
    HG_ATOMIC_VAR_INIT(HG_LOG_LEVEL_WARNING);

/* The caller of the functions from here to all_update() holds outlet_mutex. */

/* Effect of `outlet_list` on the outlet of a name. */
enum said { SAID_NOTHING, SAID_SHOW, SAID_HIDE };

/* Returns the effect of the last word of the list that is `name`; also tells
 * whether the list shows any outlet. */
static enum said list_says(const char *name, bool *ret_shows_some)
{
    const char *word = outlet_list;
    enum said said = SAID_NOTHING;

    *ret_shows_some = false;
    while (*word != '\0') {
        size_t len = strcspn(word, ", ");
        bool hides = word[0] == '~';
        const char *named = word + (hides ? 1 : 0);
        size_t named_len = len - (hides ? 1 : 0);

        *ret_shows_some = *ret_shows_some || (named_len > 0 && !hides);
        if (named_len == strlen(name) && strncmp(named, name, named_len) == 0)
            said = hides ? SAID_HIDE : SAID_SHOW;
        word += len + (word[len] != '\0' ? 1 : 0);
    }
    return said;
}

static bool is_shown(const struct hg_log_outlet *outlet)
{
    bool shows_some = false;

    for (; outlet != NULL; outlet = outlet->parent) {
        enum said said = list_says(outlet->name, &shows_some);

        if (said != SAID_NOTHING)
            return said == SAID_SHOW;
        for (unsigned i = 0; i < own_level_count; i++) {
            if (strcmp(own_levels[i].name, outlet->name) == 0)
                return true;
        }
        if (outlet->state == HG_LOG_OFF)
            return false;
        if (outlet->state == HG_LOG_ON)
            return true;
    }
    return !shows_some;
}

/* The outlet's own level, or the level of the nearest ancestor that has one. */
static enum hg_log_level level_of(const struct hg_log_outlet *outlet)
{
    for (; outlet != NULL; outlet = outlet->parent) {
        for (unsigned i = 0; i < own_level_count; i++) {
            if (strcmp(own_levels[i].name, outlet->name) == 0)
                return own_levels[i].level;
        }
    }
    return outlet_level;
}

/* Recomputes the level of one outlet, and returns it. */
static int32_t outlet_update(struct hg_log_outlet *outlet)
{
    int32_t level =
        is_shown(outlet) ? (int32_t)level_of(outlet) : HG_LOG_LEVEL_NONE;

    hg_atomic_set32(&outlet->level, level);
    return level;
}

static void all_update(void)
{
    struct hg_log_outlet *at = NULL;
    int32_t loudest = HG_LOG_LEVEL_NONE;

    for (unsigned i = 0; i < OUTLETS; i++)
        loudest = MAX(loudest, outlet_update(&outlets[i]));
    HG_LIST_FOREACH(at, &outlets_of_programs, entry)
    (void)outlet_update(at);
    hg_atomic_set32(&outlet_loudest, loudest);
}

/* In a child of fork(): frees the mutexes. fork() does not wait for their
 * holder, which may be in a log function of the program for long. */
static void mutexes_free(void)
{
    const pthread_mutex_t free = PTHREAD_MUTEX_INITIALIZER;

    outlet_mutex = free;
    log_mutex = free;
}

static const char *const log_names[HG_LOG_LEVEL_MAX] = {
    [HG_LOG_LEVEL_NONE] = "none",
    [HG_LOG_LEVEL_FATAL] = "fatal",
    [HG_LOG_LEVEL_ERROR] = "error",
    [HG_LOG_LEVEL_WARNING] = "warning",
    [HG_LOG_LEVEL_MIN_DEBUG] = "min_debug",
    [HG_LOG_LEVEL_INFO] = "info",
    [HG_LOG_LEVEL_DEBUG] = "debug",
};

enum hg_log_level hg_log_name_to_level(const char *log_level)
{
    unsigned level = 0;

    while (level < HG_LOG_LEVEL_MAX &&
           (log_level == NULL || strcasecmp(log_level, log_names[level]) != 0))
        level++;
    return (enum hg_log_level)level;
}

const char *hg_log_level_to_string(enum hg_log_level log_level)
{
    return (unsigned)log_level < HG_LOG_LEVEL_MAX ? log_names[log_level] : NULL;
}

static void outlet_start(void)
{
    const char *level = amg_env_text(AMG_ENV_LOG_LEVEL);
    enum hg_log_level named = hg_log_name_to_level(level);
    const char *list = amg_env_text(AMG_ENV_LOG_SUBSYS);

    (void)pthread_atfork(NULL, NULL, mutexes_free);
    pthread_mutex_lock(&outlet_mutex);
    if (named != HG_LOG_LEVEL_MAX)
        outlet_level = named;
    else if (level != NULL)
        fprintf(stderr,
            "amalgam: HG_LOG_LEVEL is '%s', which is not a log level; using "
            "warning\n",
            level);
    if (list != NULL && strlen(list) < sizeof(outlet_list))
        strcpy(outlet_list, list);
    else if (list != NULL)
        fprintf(stderr,
            "amalgam: HG_LOG_SUBSYS has %zu bytes, more than the limit of %d; "
            "ignored\n",
            strlen(list), LIST_CAP - 1);
    all_update();
    pthread_mutex_unlock(&outlet_mutex);
}

/* Takes the mutex; before that, the first call reads the environment. */
static void outlet_lock(void)
{
    pthread_once(&outlet_once, outlet_start);
    pthread_mutex_lock(&outlet_mutex);
}

struct hg_log_outlet *amg_outlet_find(const char *name)
{
    for (unsigned i = 0; i < OUTLETS; i++) {
        if (strcmp(outlets[i].name, name) == 0)
            return &outlets[i];
    }
    return &outlets[OUTLET_HG];
}

void hg_log_outlet_register(struct hg_log_outlet *outlet)
{
    if (outlet == NULL)
        return;
    outlet_lock();
    if (!outlet->registered) {
        HG_LIST_INSERT_HEAD(&outlets_of_programs, outlet, entry);
        outlet->registered = true;
        (void)outlet_update(outlet);
    }
    pthread_mutex_unlock(&outlet_mutex);
}

void hg_log_outlet_deregister(struct hg_log_outlet *outlet)
{
    if (outlet == NULL)
        return;
    outlet_lock();
    if (outlet->registered) {
        HG_LIST_REMOVE(outlet, entry);
        outlet->registered = false;
        hg_atomic_set32(&outlet->level, HG_LOG_LEVEL_NONE);
    }
    pthread_mutex_unlock(&outlet_mutex);
}

void hg_log_set_level(enum hg_log_level log_level)
{
    if ((unsigned)log_level >= HG_LOG_LEVEL_MAX)
        return;
    outlet_lock();
    outlet_level = log_level;
    own_level_count = 0;
    all_update();
    pthread_mutex_unlock(&outlet_mutex);
}

enum hg_log_level hg_log_get_level(void)
{
    enum hg_log_level level = HG_LOG_LEVEL_NONE;

    outlet_lock();
    level = outlet_level;
    pthread_mutex_unlock(&outlet_mutex);
    return level;
}

/* Sets an outlet's own level. False: no room for the name, or for the level. */
static bool own_level_set(const char *name, enum hg_log_level level)
{
    unsigned at = 0;
    bool has_room = false;

    outlet_lock();
    while (at < own_level_count && strcmp(own_levels[at].name, name) != 0)
        at++;
    has_room = at < OWN_LEVELS && strlen(name) < NAME_CAP;
    if (has_room) {
        strcpy(own_levels[at].name, name);
        own_levels[at].level = level;
        own_level_count += at == own_level_count ? 1 : 0;
        all_update();
    }
    pthread_mutex_unlock(&outlet_mutex);
    return has_room;
}

void hg_log_set_subsys_level(const char *subsys, enum hg_log_level log_level)
{
    if (subsys == NULL || (unsigned)log_level >= HG_LOG_LEVEL_MAX ||
        !own_level_set(subsys, log_level))
        AMG_LOG_WARNING("cls",
            "the log level of outlet '%s' stays as it is: level %d is not 0 to "
            "%d, or the name has %zu bytes (31 at most), or 32 outlets have "
            "levels already",
            subsys != NULL ? subsys : "NULL", (int)log_level,
            (int)HG_LOG_LEVEL_DEBUG, subsys != NULL ? strlen(subsys) : 0);
}

void hg_log_set_subsys(const char *log_subsys)
{
    const char *text = log_subsys != NULL ? log_subsys : "";

    if (strlen(text) >= sizeof(outlet_list)) {
        AMG_LOG_WARNING("cls",
            "the list of log outlets stays as it was: a new list of %zu bytes "
            "is too long",
            strlen(text));
        return;
    }
    outlet_lock();
    if (text != outlet_list)
        strcpy(outlet_list, text);
    all_update();
    pthread_mutex_unlock(&outlet_mutex);
}

const char *hg_log_get_subsys(void)
{
    pthread_once(&outlet_once, outlet_start);
    return outlet_list;
}

bool amg_log_is_on(enum hg_log_level level)
{
    pthread_once(&outlet_once, outlet_start);
    return (int32_t)level <= hg_atomic_get32(&outlet_loudest);
}

/* A line is formatted in a buffer on the stack and written by one call, so
 * lines of several threads do not mix. */

enum { WHO_CAP = 64 };

/* Guarded by `log_mutex`, except `log_rank`: */
static char log_who[WHO_CAP];
static atomic_int log_rank = -1; /* -1: no rank of a job */
static hg_log_func_t log_print = fprintf;
static FILE *log_streams[HG_LOG_LEVEL_MAX]; /* NULL: stderr */

void amg_log_put(enum hg_log_level level, const char *program, const char *text,
    const char *end)
{
    bool has_who = false;
    FILE *stream = NULL;

    pthread_mutex_lock(&log_mutex);
    has_who = log_who[0] != '\0';
    stream = log_streams[level] != NULL ? log_streams[level] : stderr;
    log_print(stream, "%s%s%s%s: %s: %s%s", program, has_who ? " [" : "",
        log_who, has_who ? "]" : "", log_names[level], text, end);
    pthread_mutex_unlock(&log_mutex);
}

void amg_log_write(
    enum hg_log_level level, const char *outlet, const char *format, ...)
{
    char text[AMG_LOG_LINE_CAP];
    int len = 0;
    va_list args;

    if (!amg_outlet_shows(amg_outlet_find(outlet), level))
        return;
    len = snprintf(text, sizeof(text), "%s: ", outlet);
    va_start(args, format);
    vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
    va_end(args);
    amg_log_put(level, "amalgam", text, "\n");
}

void hg_log_set_func(hg_log_func_t log_func)
{
    pthread_mutex_lock(&log_mutex);
    log_print = log_func != NULL ? log_func : fprintf;
    pthread_mutex_unlock(&log_mutex);
}

hg_log_func_t hg_log_get_func(void)
{
    hg_log_func_t func = NULL;

    pthread_mutex_lock(&log_mutex);
    func = log_print;
    pthread_mutex_unlock(&log_mutex);
    return func;
}

/* Sets the stream of the levels from `first` to `last`. */
static void streams_set(
    enum hg_log_level first, enum hg_log_level last, FILE *stream)
{
    pthread_mutex_lock(&log_mutex);
    for (unsigned level = first; level <= last; level++)
        log_streams[level] = stream;
    pthread_mutex_unlock(&log_mutex);
}

static FILE *stream_get(enum hg_log_level level)
{
    FILE *stream = NULL;

    pthread_mutex_lock(&log_mutex);
    stream = log_streams[level];
    pthread_mutex_unlock(&log_mutex);
    return stream != NULL ? stream : stderr;
}

void hg_log_set_stream_debug(FILE *stream)
{
    streams_set(HG_LOG_LEVEL_MIN_DEBUG, HG_LOG_LEVEL_DEBUG, stream);
}

FILE *hg_log_get_stream_debug(void)
{
    return stream_get(HG_LOG_LEVEL_DEBUG);
}

void hg_log_set_stream_warning(FILE *stream)
{
    streams_set(HG_LOG_LEVEL_WARNING, HG_LOG_LEVEL_WARNING, stream);
}

FILE *hg_log_get_stream_warning(void)
{
    return stream_get(HG_LOG_LEVEL_WARNING);
}

void hg_log_set_stream_error(FILE *stream)
{
    streams_set(HG_LOG_LEVEL_FATAL, HG_LOG_LEVEL_ERROR, stream);
}

FILE *hg_log_get_stream_error(void)
{
    return stream_get(HG_LOG_LEVEL_ERROR);
}

void amg_log_rank_set(int rank)
{
    pthread_mutex_lock(&log_mutex);
    log_who[0] = '\0';
    if (rank >= 0)
        snprintf(log_who, sizeof(log_who), "rank %d", rank);
    pthread_mutex_unlock(&log_mutex);
    atomic_store_explicit(&log_rank, rank, memory_order_relaxed);
}

enum hg_log_level amg_log_job_level(enum hg_log_level level)
{
    return atomic_load_explicit(&log_rank, memory_order_relaxed) <= 0
               ? level
               : HG_LOG_LEVEL_INFO;
}
