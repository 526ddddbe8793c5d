/* SPDX-License-Identifier: BSD-3-Clause */
/* A log in memory: the latest events of a program, and counters, for the
 * analysis of failures. Adding an entry reads the clock, takes a lock and makes
 * a few stores; hg_dlog_dump() prints the entries.
 *
 *   static struct hg_dlog_entry entries[256];
 *   static struct hg_dlog dlog =
 *       HG_DLOG_INITIALIZER("mine", dlog, entries, 256, 1);
 *
 *   hg_dlog_addlog(&dlog, __FILE__, __LINE__, __func__, "began", ptr);
 */
#ifndef MERCURY_DLOG_H
#define MERCURY_DLOG_H

#include <stdio.h>

#include "mercury_atomic.h"
#include "mercury_queue.h"
#include "mercury_thread_mutex.h"
#include "mercury_time.h"
#include "mercury_util_config.h"

/* Magic at the start of a log, by which the log can be found in a core dump,
 * with space for the first characters of the log's name. */
#define HG_DLOG_MAGICLEN 16
#define HG_DLOG_STDMAGIC ">D.LO.G<"

struct hg_dlog_entry {
    const char *file;
    unsigned int line;
    const char *func;
    const char *msg;  /* a text that lives as long as the log, or NULL */
    const void *data; /* any pointer, or NULL; printed as an address */
    hg_time_t time;
};

/* A counter of a log. */
struct hg_dlog_dcount32 {
    const char *name;
    const char *descr;
    hg_atomic_int32_t c;
    STAILQ_ENTRY(hg_dlog_dcount32) l;
};

struct hg_dlog_dcount64 {
    const char *name;
    const char *descr;
    hg_atomic_int64_t c;
    STAILQ_ENTRY(hg_dlog_dcount64) l;
};

STAILQ_HEAD(hg_dlog_list32, hg_dlog_dcount32);
STAILQ_HEAD(hg_dlog_list64, hg_dlog_dcount64);

/* Owned by the program; `dlock` guards all members except the magic. */
struct hg_dlog {
    char dlog_magic[HG_DLOG_MAGICLEN];
    hg_thread_mutex_t dlock;
    struct hg_dlog_list32 cnts32;
    struct hg_dlog_list64 cnts64;
    struct hg_dlog_entry *le; /* array of entries */
    unsigned int lesize;      /* length of the array */
    int leloop;               /* not 0: if full, overwrite the oldest entry */
    unsigned int lefree;      /* index of the next entry to write */
    unsigned int leadds;      /* number of entries in the log */
    int lestop;               /* not 0: accept no more entries */
    int mallocd;              /* not 0: hg_dlog_alloc() allocated the log */
};

/* Initialiser of a log in the static variable VAR. */
#define HG_DLOG_INITIALIZER(NAME, VAR, LE, LESIZE, LELOOP)                     \
    {                                                                          \
        HG_DLOG_STDMAGIC NAME, HG_THREAD_MUTEX_INITIALIZER,                    \
            STAILQ_HEAD_INITIALIZER((VAR).cnts32),                             \
            STAILQ_HEAD_INITIALIZER((VAR).cnts64), LE, LESIZE, LELOOP, 0, 0,   \
            0, 0                                                               \
    }

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a log in memory.
 *
 * @param name    [in]  the first characters follow the magic
 * @param lesize  [in]  maximum number of entries, at least 1
 * @param leloop  [in]  not 0: if the log is full, the oldest entry is
 *                      overwritten
 * Owns:      the caller owns the result; hg_dlog_free() frees it.
 * Errors:    NULL: name is NULL, lesize is 0, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC struct hg_dlog *hg_dlog_alloc(
    char *name, unsigned int lesize, int leloop);

/**
 * Free a log's counters, and the log if hg_dlog_alloc() created it.
 *
 * @param d  [in]  NULL is allowed
 * Owns:      the counters are consumed, and a log of hg_dlog_alloc().
 * Errors:    none.
 * Threads:   one thread, when no other uses the log or a counter.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_free(struct hg_dlog *d);

/**
 * Create a 32-bit counter with value 0, unless `*cptr` is a counter already.
 *
 * @param d      [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param cptr   [in,out]  `*cptr` is NULL before, the counter afterwards
 * @param name   [in]      a text that lives as long as the log
 * @param descr  [in]      a text that lives as long as the log
 * Owns:      the counter is borrowed from the log.
 * Errors:    no memory: `*cptr` stays NULL, and the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: an argument is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_mkcount32(struct hg_dlog *d,
    hg_atomic_int32_t **cptr, const char *name, const char *descr);

/**
 * Create a 64-bit counter with value 0, unless `*cptr` is a counter already.
 *
 * @param d      [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param cptr   [in,out]  `*cptr` is NULL before, the counter afterwards
 * @param name   [in]      a text that lives as long as the log
 * @param descr  [in]      a text that lives as long as the log
 * Owns:      the counter is borrowed from the log.
 * Errors:    no memory: `*cptr` stays NULL, and the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: an argument is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_mkcount64(struct hg_dlog *d,
    hg_atomic_int64_t **cptr, const char *name, const char *descr);

/**
 * Add an entry to a log in memory.
 *
 * @param d     [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param file  [in]  a text that lives as long as the log, or NULL
 * @param line  [in]  line of the source file
 * @param func  [in]  a text that lives as long as the log, or NULL
 * @param msg   [in]  a text that lives as long as the log, or NULL
 * @param data  [in]  printed as an address; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    0: the log is stopped, or full and does not overwrite. 1: added.
 * Threads:   any thread; never blocks for long.
 * Undefined: d is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC unsigned int hg_dlog_addlog(struct hg_dlog *d, const char *file,
    unsigned int line, const char *func, const char *msg, const void *data);

/**
 * Stop a log in memory from accepting entries, or let it accept them again.
 *
 * @param d     [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param stop  [in]  not 0: accept no more entries
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks for long.
 * Undefined: d is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_setlogstop(struct hg_dlog *d, int stop);

/**
 * Remove all entries of a log in memory; counters stay.
 *
 * @param d  [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks for long.
 * Undefined: d is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_resetlog(struct hg_dlog *d);

/**
 * Print the entries, oldest first; hg_dlog_dump_counters() prints the counters.
 *
 * @param d         [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param log_func  [in]  called as fprintf() would be, once for each line
 * @param stream    [in]  passed to `log_func`
 * @param trylock   [in]  not 0: print nothing if another thread uses the log
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; the log's lock is held while it prints.
 * Undefined: d or log_func is NULL; log_func uses the log.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_dump(struct hg_dlog *d,
    int (*log_func)(FILE *, const char *, ...), FILE *stream, int trylock);

/**
 * Print the counters, in order of creation.
 *
 * @param d         [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param log_func  [in]  called as fprintf() would be, once for each line
 * @param stream    [in]  passed to `log_func`
 * @param trylock   [in]  not 0: print nothing if another thread uses the log
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; the log's lock is held while it prints.
 * Undefined: d or log_func is NULL; log_func uses the log.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_dump_counters(struct hg_dlog *d,
    int (*log_func)(FILE *, const char *, ...), FILE *stream, int trylock);

/**
 * Print counters and entries to a file, BASE.log or BASE-PID.log.
 *
 * @param d        [in]  a log of hg_dlog_alloc() or HG_DLOG_INITIALIZER
 * @param base     [in]  first part of the name of the file
 * @param addpid   [in]  not 0: with the process id
 * @param trylock  [in]  not 0: print nothing if another thread uses the log
 * Owns:      nothing changes hands.
 * Errors:    a file that cannot be written is logged.
 * Threads:   any thread; the log's lock is held while it prints.
 * Undefined: an argument is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_dlog_dump_file(
    struct hg_dlog *d, const char *base, int addpid, int trylock);

#ifdef __cplusplus
}
#endif

#endif
