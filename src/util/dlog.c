/* SPDX-License-Identifier: BSD-3-Clause */
/* A log in memory: a ring of entries, and counters. */
#include "mercury_dlog.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

struct hg_dlog *hg_dlog_alloc(char *name, unsigned int lesize, int leloop)
{
    struct hg_dlog *d = NULL;

    if (!AMG_GIVEN(name) ||
        !AMG_CONTRACT(lesize > 0, "lesize is 0; a log has at least 1 entry"))
        return NULL;
    d = amg_mem_zalloc(sizeof(*d));
    if (d == NULL)
        return NULL;
    d->le = amg_mem_zalloc(lesize * sizeof(*d->le));
    if (d->le == NULL ||
        hg_thread_mutex_init_fast(&d->dlock) != HG_UTIL_SUCCESS) {
        amg_mem_free(d->le);
        amg_mem_free(d);
        return NULL;
    }
    snprintf(d->dlog_magic, sizeof(d->dlog_magic), "%s%.*s", HG_DLOG_STDMAGIC,
        (int)(sizeof(d->dlog_magic) - sizeof(HG_DLOG_STDMAGIC)), name);
    STAILQ_INIT(&d->cnts32);
    STAILQ_INIT(&d->cnts64);
    d->lesize = lesize;
    d->leloop = leloop;
    d->mallocd = 1;
    return d;
}

void hg_dlog_free(struct hg_dlog *d)
{
    if (d == NULL)
        return;
    while (!STAILQ_EMPTY(&d->cnts32)) {
        struct hg_dlog_dcount32 *first = STAILQ_FIRST(&d->cnts32);

        STAILQ_REMOVE_HEAD(&d->cnts32, l);
        amg_mem_free(first);
    }
    while (!STAILQ_EMPTY(&d->cnts64)) {
        struct hg_dlog_dcount64 *first = STAILQ_FIRST(&d->cnts64);

        STAILQ_REMOVE_HEAD(&d->cnts64, l);
        amg_mem_free(first);
    }
    if (d->mallocd == 0)
        return;
    hg_thread_mutex_destroy(&d->dlock);
    amg_mem_free(d->le);
    amg_mem_free(d);
}

void hg_dlog_mkcount32(struct hg_dlog *d, hg_atomic_int32_t **cptr,
    const char *name, const char *descr)
{
    struct hg_dlog_dcount32 *made = amg_mem_zalloc(sizeof(*made));

    if (made == NULL) {
        AMG_LOG_ERROR("hg_util", "no memory for the counter %s", name);
        return;
    }
    made->name = name;
    made->descr = descr;
    hg_atomic_init32(&made->c, 0);
    hg_thread_mutex_lock(&d->dlock);
    if (*cptr == NULL) {
        STAILQ_INSERT_TAIL(&d->cnts32, made, l);
        *cptr = &made->c;
        made = NULL;
    }
    hg_thread_mutex_unlock(&d->dlock);
    amg_mem_free(made);
}

void hg_dlog_mkcount64(struct hg_dlog *d, hg_atomic_int64_t **cptr,
    const char *name, const char *descr)
{
    struct hg_dlog_dcount64 *made = amg_mem_zalloc(sizeof(*made));

    if (made == NULL) {
        AMG_LOG_ERROR("hg_util", "no memory for the counter %s", name);
        return;
    }
    made->name = name;
    made->descr = descr;
    hg_atomic_init64(&made->c, 0);
    hg_thread_mutex_lock(&d->dlock);
    if (*cptr == NULL) {
        STAILQ_INSERT_TAIL(&d->cnts64, made, l);
        *cptr = &made->c;
        made = NULL;
    }
    hg_thread_mutex_unlock(&d->dlock);
    amg_mem_free(made);
}

unsigned int hg_dlog_addlog(struct hg_dlog *d, const char *file,
    unsigned int line, const char *func, const char *msg, const void *data)
{
    struct hg_dlog_entry entry = {
        .file = file, .line = line, .func = func, .msg = msg, .data = data};
    bool has_room = false;

    hg_time_get_current(&entry.time);
    hg_thread_mutex_lock(&d->dlock);
    has_room = d->lestop == 0 && d->lesize > 0 &&
               (d->leadds < d->lesize || d->leloop != 0);
    if (has_room) {
        d->le[d->lefree] = entry;
        d->lefree = (d->lefree + 1) % d->lesize;
        if (d->leadds < d->lesize)
            d->leadds++;
    }
    hg_thread_mutex_unlock(&d->dlock);
    return has_room;
}

void hg_dlog_setlogstop(struct hg_dlog *d, int stop)
{
    hg_thread_mutex_lock(&d->dlock);
    d->lestop = stop;
    hg_thread_mutex_unlock(&d->dlock);
}

void hg_dlog_resetlog(struct hg_dlog *d)
{
    hg_thread_mutex_lock(&d->dlock);
    d->lefree = 0;
    d->leadds = 0;
    hg_thread_mutex_unlock(&d->dlock);
}

/* Locks the log, or only tries to. True: the caller holds the lock. */
static bool log_lock(struct hg_dlog *d, int trylock)
{
    return (trylock != 0 ? hg_thread_mutex_try_lock(&d->dlock)
                         : hg_thread_mutex_lock(&d->dlock)) == HG_UTIL_SUCCESS;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void hg_dlog_dump(struct hg_dlog *d, int (*log_func)(FILE *, const char *, ...),
    FILE *stream, int trylock)
{
    if (!log_lock(d, trylock))
        return;
    log_func(stream, "# debug log %.*s: %u entries\n",
        (int)(HG_DLOG_MAGICLEN - strlen(HG_DLOG_STDMAGIC)),
        d->dlog_magic + strlen(HG_DLOG_STDMAGIC), d->leadds);
    for (unsigned i = 0; i < d->leadds; i++) {
        const struct hg_dlog_entry *entry =
            &d->le[(d->lefree + d->lesize - d->leadds + i) % d->lesize];

        log_func(stream, "# %.6f %s:%u %s() %s %p\n",
            hg_time_to_double(entry->time), text_or_empty(entry->file),
            entry->line, text_or_empty(entry->func), text_or_empty(entry->msg),
            entry->data);
    }
    hg_thread_mutex_unlock(&d->dlock);
}

void hg_dlog_dump_counters(struct hg_dlog *d,
    int (*log_func)(FILE *, const char *, ...), FILE *stream, int trylock)
{
    struct hg_dlog_dcount32 *at32 = NULL;
    struct hg_dlog_dcount64 *at64 = NULL;

    if (!log_lock(d, trylock))
        return;
    STAILQ_FOREACH(at32, &d->cnts32, l)
    log_func(stream, "# %s: %ld (%s)\n", at32->name,
        (long)hg_atomic_get32(&at32->c), text_or_empty(at32->descr));
    STAILQ_FOREACH(at64, &d->cnts64, l)
    log_func(stream, "# %s: %lld (%s)\n", at64->name,
        (long long)hg_atomic_get64(&at64->c), text_or_empty(at64->descr));
    hg_thread_mutex_unlock(&d->dlock);
}

void hg_dlog_dump_file(
    struct hg_dlog *d, const char *base, int addpid, int trylock)
{
    char path[PATH_MAX];
    FILE *file = NULL;
    int len = 0;

    if (addpid != 0)
        len = snprintf(path, sizeof(path), "%s-%ld.log", base, (long)getpid());
    else
        len = snprintf(path, sizeof(path), "%s.log", base);
    if (len >= (int)sizeof(path)) {
        AMG_LOG_ERROR("hg_util", "path of a log file too long: %d bytes", len);
        return;
    }
    file = fopen(path, "we");
    if (file != NULL) {
        hg_dlog_dump_counters(d, fprintf, file, trylock);
        hg_dlog_dump(d, fprintf, file, trylock);
    }
    if (file == NULL || fclose(file) != 0)
        AMG_LOG_ERROR("hg_util", "cannot write %s: %s", path, strerror(errno));
}
