/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: outlets of the library, and outlets that programs register.
 *
 * An outlet is a source of lines, for instance a module of a program; a
 * sub-system is an outlet with a parent. There is one log: HG_LOG_LEVEL and
 * HG_LOG_SUBSYS in the environment, HG_Set_log_*() and the calls below apply
 * to the lines of the library and of all registered outlets.
 *
 *   HG_LOG_DECL_REGISTER(my_tool);
 *   HG_LOG_SUBSYS_DECL_REGISTER(my_disk, my_tool);
 *
 *   HG_LOG_WRITE(my_disk, HG_LOG_LEVEL_ERROR, "no room for %zu bytes", size);
 *
 * prints "my_tool: error: my_disk: no room for 5 bytes (disk.c:12 save)".
 *
 * The list "a,b,~c" of names selects the outlets that are shown. The library
 * asks of an outlet, then of its parent, the parent's parent and so on: is it
 * in the list (shown; with ~ hidden), has it a level of its own (shown), or the
 * state HG_LOG_ON or HG_LOG_OFF? The first yes decides. Without a yes, the
 * outlet is shown unless the list shows other outlets.
 *
 * Outlets of the library: hg with cls, ctx, addr, rpc, bulk, proc, poll, diag,
 * and rpc_ref, poll_loop, perf, which are off; na with op, msg, mem, rma, mpi,
 * shm, ofi; and hg_util. */
#ifndef MERCURY_LOG_H
#define MERCURY_LOG_H

#include <stdarg.h>
#include <stdio.h>

#include "mercury_atomic.h"
#include "mercury_dlog.h"
#include "mercury_queue.h"
#include "mercury_util_config.h"

/* The levels, as a list of X(enumerator, name, stream); a program may define
 * X. */
#define HG_LOG_LEVELS                                                          \
    X(HG_LOG_LEVEL_NONE, "none", NULL)                                         \
    X(HG_LOG_LEVEL_FATAL, "fatal", &stderr)                                    \
    X(HG_LOG_LEVEL_ERROR, "error", &stderr)                                    \
    X(HG_LOG_LEVEL_WARNING, "warning", &stderr)                                \
    X(HG_LOG_LEVEL_MIN_DEBUG, "min_debug", &stderr)                            \
    X(HG_LOG_LEVEL_INFO, "info", &stderr)                                      \
    X(HG_LOG_LEVEL_DEBUG, "debug", &stderr)                                    \
    X(HG_LOG_LEVEL_MAX, "", NULL)

/* A line is written if its level is not above the level of its outlet. From
 * MIN_DEBUG on, debug lines of an outlet with a log in memory are kept there,
 * and the library prints that log after the next error line of the outlet. */
#define X(level, name, stream) level,
enum hg_log_level { HG_LOG_LEVELS };
#undef X

/* State of an outlet that no list names. */
enum hg_log_state {
    HG_LOG_PASS, /* like its parent */
    HG_LOG_OFF,
    HG_LOG_ON,
    HG_LOG_STATE_MAX
};

typedef int (*hg_log_func_t)(FILE *stream, const char *format, ...);

/* The program owns the outlet, and sets it by an initialiser below. The outlet
 * must live until hg_log_outlet_deregister(). */
struct hg_log_outlet {
    HG_LIST_ENTRY(hg_log_outlet) entry; /* in the list of the library */
    const char *name;
    enum hg_log_state state;
    hg_atomic_int32_t level; /* set by the library, read by HG_LOG_WRITE */
    struct hg_log_outlet *parent;
    struct hg_dlog *debug_log;
    bool registered;
};

/* clang-format off: related lines stay together. */

#define HG_UTIL_CAT_(a, b)   a##b
#define HG_UTIL_CAT(a, b)    HG_UTIL_CAT_(a, b)
#define HG_UTIL_STRINGIFY(x) #x

/* The root of the library's outlets; a program may define its own root. */
#ifndef HG_LOG_OUTLET_ROOT_NAME
#define HG_LOG_OUTLET_ROOT_NAME hg
#endif

/* The variable of an outlet, and its declaration. */
#define HG_LOG_OUTLET(name)      HG_UTIL_CAT(name, _log_outlet_g)
#define HG_LOG_OUTLET_DECL(name) struct hg_log_outlet HG_LOG_OUTLET(name)

/* Declarations of a sub-system; the parent's name is not used. */
#define HG_LOG_SUBSYS_DECL(name, parent_name)        HG_LOG_OUTLET_DECL(name)
#define HG_LOG_OUTLET_SUBSYS_DECL(name, parent_name) HG_LOG_OUTLET_DECL(name)

/* Initial values of an outlet, and of an outlet below `parent_name`. */
#define HG_LOG_OUTLET_INITIALIZER(name, state, parent, dlog)                   \
    {                                                                          \
        {NULL, NULL}, #name, state, HG_ATOMIC_VAR_INIT(HG_LOG_LEVEL_NONE),     \
            parent, dlog, false                                                \
    }
#define HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, parent_name)                    \
    HG_LOG_OUTLET_INITIALIZER(                                                 \
        name, HG_LOG_PASS, &HG_LOG_OUTLET(parent_name), NULL)
#define HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent_name, state)       \
    HG_LOG_OUTLET_INITIALIZER(name, state, &HG_LOG_OUTLET(parent_name), NULL)
#define HG_LOG_OUTLET_SUBSYS_DLOG_INITIALIZER(name, parent_name)               \
    HG_LOG_OUTLET_INITIALIZER(name, HG_LOG_PASS, &HG_LOG_OUTLET(parent_name),  \
        &HG_LOG_DEBUG_DLOG(name))

/* The log in memory of an outlet, for its last 256 debug lines. */
#define HG_LOG_DEBUG_LESIZE          256
#define HG_LOG_DEBUG_DLOG(name)      HG_UTIL_CAT(name, _dlog_g)
#define HG_LOG_DEBUG_LE(name)        HG_UTIL_CAT(name, _dlog_entries_g)
#define HG_LOG_DEBUG_DECL_DLOG(name) struct hg_dlog HG_LOG_DEBUG_DLOG(name)
#define HG_LOG_DEBUG_DECL_LE(name)                                             \
    struct hg_dlog_entry HG_LOG_DEBUG_LE(name)[HG_LOG_DEBUG_LESIZE]
#define HG_LOG_DLOG_INITIALIZER(name)                                          \
    HG_DLOG_INITIALIZER("", HG_LOG_DEBUG_DLOG(name), HG_LOG_DEBUG_LE(name),    \
        HG_LOG_DEBUG_LESIZE, 1)

/* Registers an outlet when the program or library that defines it is loaded,
 * and deregisters the outlet at the unload. */
#define HG_LOG_REGISTER(name)                                                  \
    static void HG_UTIL_CAT(name, _log_register)(void) HG_ATTR_CONSTRUCTOR;    \
    static void HG_UTIL_CAT(name, _log_register)(void)                         \
    {                                                                          \
        hg_log_outlet_register(&HG_LOG_OUTLET(name));                          \
    }                                                                          \
    static void HG_UTIL_CAT(name, _log_deregister)(void) HG_ATTR_DESTRUCTOR;   \
    static void HG_UTIL_CAT(name, _log_deregister)(void)                       \
    {                                                                          \
        hg_log_outlet_deregister(&HG_LOG_OUTLET(name));                        \
    }                                                                          \
    struct hg_log_outlet
#define HG_LOG_SUBSYS_REGISTER(sub_name, name) HG_LOG_REGISTER(sub_name)

/* Declares an outlet, with its initial value, and registers it. */
#define HG_LOG_DECL_REGISTER(name)                                             \
    HG_LOG_OUTLET_DECL(name) =                                                 \
        HG_LOG_OUTLET_INITIALIZER(name, HG_LOG_PASS, NULL, NULL);              \
    HG_LOG_REGISTER(name)
#define HG_LOG_SUBSYS_DECL_REGISTER(name, parent_name)                         \
    HG_LOG_OUTLET_DECL(name) =                                                 \
        HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, parent_name);                   \
    HG_LOG_REGISTER(name)
#define HG_LOG_SUBSYS_DECL_STATE_REGISTER(name, parent_name, state)            \
    HG_LOG_OUTLET_DECL(name) =                                                 \
        HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent_name, state);      \
    HG_LOG_REGISTER(name)

/* Declares and registers an outlet that has a log in memory. */
#define HG_LOG_DLOG_DECL_REGISTER(name)                                        \
    HG_LOG_DEBUG_DECL_LE(name);                                                \
    HG_LOG_DEBUG_DECL_DLOG(name) = HG_LOG_DLOG_INITIALIZER(name);              \
    HG_LOG_OUTLET_DECL(name) = HG_LOG_OUTLET_INITIALIZER(                      \
        name, HG_LOG_PASS, NULL, &HG_LOG_DEBUG_DLOG(name));                    \
    HG_LOG_REGISTER(name)
#define HG_LOG_SUBSYS_DLOG_DECL_REGISTER(name, parent_name)                    \
    HG_LOG_DEBUG_DECL_LE(name);                                                \
    HG_LOG_DEBUG_DECL_DLOG(name) = HG_LOG_DLOG_INITIALIZER(name);              \
    HG_LOG_OUTLET_DECL(name) =                                                 \
        HG_LOG_OUTLET_SUBSYS_DLOG_INITIALIZER(name, parent_name);              \
    HG_LOG_REGISTER(name)

/* Writes a line: `HG_LOG_WRITE(outlet, level, format, ...)`. If the outlet does
 * not show the level, the macro takes one load and one comparison. */
#define HG_LOG_WRITE(name, log_level, ...)                                     \
    (hg_atomic_get32(&HG_LOG_OUTLET(name).level) >= (int32_t)(log_level)       \
            ? hg_log_write(&HG_LOG_OUTLET(name), log_level, __FILE__,          \
                  __LINE__, __func__, false, __VA_ARGS__)                      \
            : (void)0)
#define HG_LOG_SUBSYS_WRITE(sub_name, name, log_level, ...)                    \
    HG_LOG_WRITE(sub_name, log_level, __VA_ARGS__)

/* HG_LOG_WRITE() with given file, line and function; and with a va_list. */
#define HG_LOG_WRITE_FUNC(name, log_level, file, line, func, no_return, ...)   \
    (hg_atomic_get32(&HG_LOG_OUTLET(name).level) >= (int32_t)(log_level)       \
            ? hg_log_write(&HG_LOG_OUTLET(name), log_level, file, line, func,  \
                  no_return, __VA_ARGS__)                                      \
            : (void)0)
#define HG_LOG_VWRITE_FUNC(                                                    \
    name, log_level, file, line, func, no_return, format, ap)                  \
    (hg_atomic_get32(&HG_LOG_OUTLET(name).level) >= (int32_t)(log_level)       \
            ? hg_log_vwrite(&HG_LOG_OUTLET(name), log_level, file, line, func, \
                  no_return, format, ap)                                       \
            : (void)0)

/* Writes a line of level DEBUG. If the outlet's level is MIN_DEBUG or above,
 * also keeps file, line, function and format in the outlet's log in memory. */
#define HG_LOG_WRITE_DEBUG(name, ...)                                          \
    (hg_atomic_get32(&HG_LOG_OUTLET(name).level) >=                            \
                (int32_t)HG_LOG_LEVEL_MIN_DEBUG                                \
            ? hg_log_write_debug(&HG_LOG_OUTLET(name), __FILE__, __LINE__,     \
                  __func__, __VA_ARGS__)                                       \
            : (void)0)

/* Creates a counter in the outlet's log in memory. */
#define HG_LOG_ADD_COUNTER32(name, counter_ptr, counter_name, counter_desc)    \
    hg_dlog_mkcount32(HG_LOG_OUTLET(name).debug_log, counter_ptr,              \
        counter_name, counter_desc)
#define HG_LOG_ADD_COUNTER64(name, counter_ptr, counter_name, counter_desc)    \
    hg_dlog_mkcount64(HG_LOG_OUTLET(name).debug_log, counter_ptr,              \
        counter_name, counter_desc)

/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Set the level of all outlets; levels of single outlets are dropped.
 *
 * @param log_level  [in]  the least important level that is shown
 * Owns:      nothing changes hands.
 * Errors:    an unknown level changes nothing.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_set_level(enum hg_log_level log_level);

/**
 * Get the level of all outlets without a level of their own.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4; at first HG_LOG_LEVEL of the environment, or
 *            warning.
 */
HG_UTIL_PUBLIC enum hg_log_level hg_log_get_level(void);

/**
 * Choose the outlets that are shown; as HG_Set_log_subsys().
 *
 * @param log_subsys  [in]  "a,b,~c"; NULL or "" shows all outlets not off
 * Owns:      nothing changes hands.
 * Errors:    a list of 1024 bytes or more changes nothing; the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_set_subsys(const char *log_subsys);

/**
 * Get the list of outlets that are shown.
 *
 * Owns:      the result is borrowed from the library, until a list is set.
 * Errors:    none.
 * Threads:   any thread, while no other sets a list; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4; at first HG_LOG_SUBSYS of the environment.
 */
HG_UTIL_PUBLIC const char *hg_log_get_subsys(void);

/**
 * Set the level of an outlet, and of the outlets below that lack a level of
 * their own. The outlet is then shown even if its state is HG_LOG_OFF.
 *
 * @param subsys     [in]  name of at most 31 bytes; may be registered later
 * @param log_level  [in]  the least important level that is shown
 * Owns:      nothing changes hands.
 * Errors:    subsys is NULL or too long, the level is unknown, or 32 outlets
 *            have a level of their own: nothing changes, and the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_set_subsys_level(
    const char *subsys, enum hg_log_level log_level);

/**
 * Get the level that has a name.
 *
 * @param log_level  [in]  the name, in lower or upper case
 * Owns:      nothing changes hands.
 * Errors:    HG_LOG_LEVEL_MAX: unknown name, or NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC enum hg_log_level hg_log_name_to_level(const char *log_level);

/**
 * Get the name of a level.
 *
 * @param log_level  [in]  the level to name
 * Owns:      the result is borrowed from the library, for ever.
 * Errors:    NULL: unknown level.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC const char *hg_log_level_to_string(enum hg_log_level log_level);

/**
 * Set the function that writes log lines; as HG_Set_log_func().
 *
 * @param log_func  [in]  called as fprintf() would be; NULL: fprintf() itself
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; may wait while a line is written. `log_func` may be
 *            called by any thread that calls the library, one at a time.
 * Undefined: `log_func` calls the library.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_set_func(hg_log_func_t log_func);

/**
 * Get the function that writes log lines: fprintf() or the program's.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; may wait while a line is written.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_log_func_t hg_log_get_func(void);

/**
 * Set the stream for lines of some levels: _debug for min_debug, info and
 * debug; _warning for warning; _error for error and fatal.
 *
 * @param stream  [in]  NULL: stderr again
 * Owns:      the stream stays the caller's, and open until another is set.
 * Errors:    none.
 * Threads:   any thread; may wait while a line is written.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_set_stream_debug(FILE *stream);
HG_UTIL_PUBLIC void hg_log_set_stream_warning(FILE *stream);
HG_UTIL_PUBLIC void hg_log_set_stream_error(FILE *stream);

/**
 * Get the stream for lines of some levels, as hg_log_set_stream_*() set it.
 *
 * Owns:      the result stays its owner's; initially it is stderr.
 * Errors:    none.
 * Threads:   any thread; may wait while a line is written.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC FILE *hg_log_get_stream_debug(void);
HG_UTIL_PUBLIC FILE *hg_log_get_stream_warning(void);
HG_UTIL_PUBLIC FILE *hg_log_get_stream_error(void);

/**
 * Register an outlet; before, the outlet writes nothing. The library sets the
 * level of the outlet now and at each change.
 *
 * @param outlet  [in]  its parent need not be registered
 * Owns:      the outlet stays the caller's and must live until
 *            hg_log_outlet_deregister(), and so must its parents.
 * Errors:    NULL, or an outlet that is registered, has no effect.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_outlet_register(struct hg_log_outlet *outlet);

/**
 * Deregister an outlet; it writes no more lines.
 *
 * @param outlet  [in]  the outlet of the line
 * Owns:      nothing changes hands.
 * Errors:    NULL, or an outlet that is not registered, has no effect.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_outlet_deregister(struct hg_log_outlet *outlet);

/**
 * Print the counters of an outlet's log in memory to the stream of debug lines.
 *
 * @param outlet  [in]  the outlet of the line
 * Owns:      nothing changes hands.
 * Errors:    NULL or an outlet without a log in memory has no effect.
 * Threads:   any thread; the log's lock is held while it prints.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_log_dump_counters(struct hg_log_outlet *outlet);

/**
 * Write a line, if its outlet shows the level; see HG_LOG_WRITE.
 *
 * @param outlet     [in]  the outlet of the line
 * @param log_level  [in]  of the line
 * @param file       [in]  the source file, or NULL
 * @param line       [in]  line of the source file
 * @param func       [in]  may be NULL
 * @param no_return  [in]  true: write no newline
 * @param format     [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    NULL as outlet has no effect. Text is cut at 1023 bytes.
 * Threads:   any thread; lines of several threads do not mix.
 * Undefined: format is NULL, or does not match the arguments.
 * Source:    as Mercury 2.4, but the format of a line is ours.
 */
HG_UTIL_PUBLIC void hg_log_write(struct hg_log_outlet *outlet,
    enum hg_log_level log_level, const char *file, unsigned int line,
    const char *func, bool no_return, const char *format, ...)
    HG_UTIL_PRINTF(7, 8);

/**
 * Write a line as hg_log_write() does, with a va_list of arguments.
 *
 * @param outlet     [in]  the outlet of the line
 * @param log_level  [in]  of the line
 * @param file       [in]  the source file, or NULL
 * @param line       [in]  line of the source file
 * @param func       [in]  may be NULL
 * @param no_return  [in]  true: write no newline
 * @param format     [in]  as for printf()
 * @param ap         [in]  the arguments of `format`
 * Owns:      nothing changes hands; `ap` is indeterminate afterwards.
 * Errors:    as hg_log_write().
 * Threads:   as hg_log_write().
 * Undefined: as hg_log_write().
 * Source:    as Mercury 2.4, but the format of a line is ours.
 */
HG_UTIL_PUBLIC void hg_log_vwrite(struct hg_log_outlet *outlet,
    enum hg_log_level log_level, const char *file, unsigned int line,
    const char *func, bool no_return, const char *format, va_list ap)
    HG_UTIL_PRINTF(7, 0);

/**
 * Write a debug line, and keep its format in memory; see HG_LOG_WRITE_DEBUG.
 *
 * @param outlet  [in]  the outlet of the line
 * @param file    [in]  must live as long as the log, like func and format
 * @param line    [in]  line of the source file
 * @param func    [in]  name of the function that logs
 * @param format  [in]  kept without its arguments
 * Owns:      nothing changes hands.
 * Errors:    as hg_log_write().
 * Threads:   as hg_log_write().
 * Undefined: as hg_log_write().
 * Source:    ours; Mercury's macro does the same inline.
 */
HG_UTIL_PUBLIC void hg_log_write_debug(struct hg_log_outlet *outlet,
    const char *file, unsigned int line, const char *func, const char *format,
    ...) HG_UTIL_PRINTF(5, 6);

#ifdef __cplusplus
}
#endif

#endif
