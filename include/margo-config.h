/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of an instance as JSON text, and its pools and execution
 * streams, which a program may add and remove at run time. MARGO-CONFIG.md
 * describes the text.
 *
 * A pool or stream is found by handle, by name or by index. Names are unique
 * within their kind, and begin with a letter or "_". An index is a position in
 * a list: a removal changes the indices of all later elements. Macros of this
 * header, like margo_find_pool(), choose the function by the type of `what`.
 *
 * A pool or stream with references is not removed: an RPC holds its pool, a
 * stream holds the pools of its scheduler, and programs take references by
 * margo_pool_ref_incr() and margo_xstream_ref_incr(). */
#ifndef MARGO_CONFIG_H
#define MARGO_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "abt.h"
#include "margo-logging.h"
#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For margo_get_config_opt(). */
#define MARGO_CONFIG_PRETTY_JSON   0x1     /* in many lines, indented */
#define MARGO_CONFIG_HIDE_EXTERNAL 0x2     /* without external pools, streams */
#define MARGO_CONFIG_USE_NAMES     0x4     /* pools by name, not by index */
#define MARGO_CONFIG_AMALGAM       0x10000 /* with fields of Amalgam: ours */

/* A pool of an instance. */
struct margo_pool_info {
    ABT_pool pool;
    const char *name;
    uint32_t index;
};

/* An execution stream of an instance. */
struct margo_xstream_info {
    ABT_xstream xstream;
    const char *name;
    uint32_t index;
};

/**
 * Describe an instance as JSON text, from which margo_init_ext() makes a
 * similar instance.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      the caller owns the result; free() frees it.
 * Errors:    NULL mid is NULL, or no memory
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC char *margo_get_config(margo_instance_id mid);

/**
 * Describe an instance as JSON text, as margo_get_config() does, with options.
 *
 * @param mid      [in]  the Margo instance
 * @param options  [in]  bits MARGO_CONFIG_*; 0: none of them
 * Owns:      the caller owns the result; free() frees it.
 * Errors:    NULL mid is NULL, or no memory
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC char *margo_get_config_opt(margo_instance_id mid, int options);

/**
 * Get the number of pools of an instance.
 *
 * @param mid  [in]  NULL gives 0.
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC size_t margo_get_num_pools(margo_instance_id mid);

/**
 * Get the number of execution streams of an instance.
 *
 * @param mid  [in]  NULL gives 0.
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC size_t margo_get_num_xstreams(margo_instance_id mid);

/**
 * Find a pool by its handle, its index or its name.
 *
 * @param mid    [in]  the Margo instance
 * @param pool, index, name  [in]  the pool: its handle, its index from 0 on, or
 *                                 its name
 * @param info   [out]  may be NULL; `name` is borrowed from the pool
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL; no pool has
 *                            that index
 *            HG_NOENTRY      the instance has no pool of that handle or name
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_find_pool_by_handle(
    margo_instance_id mid, ABT_pool pool, struct margo_pool_info *info);
HG_PUBLIC hg_return_t margo_find_pool_by_index(
    margo_instance_id mid, uint32_t index, struct margo_pool_info *info);
HG_PUBLIC hg_return_t margo_find_pool_by_name(
    margo_instance_id mid, const char *name, struct margo_pool_info *info);

/**
 * Create a pool from the JSON text of an element of "argobots.pools".
 *
 * @param mid   [in]   the Margo instance
 * @param json  [in]   one JSON object; NULL: "{}", the library chooses a name
 * @param info  [out]  may be NULL; `name` is borrowed from the pool
 * Owns:      the instance owns the pool, until it ends or margo_remove_pool().
 * Errors:    HG_INVALID_ARG  mid is NULL, or the text is invalid: the log names
 *                            the field and the reason
 *            HG_NOMEM        no memory
 *            HG_OTHER_ERROR  the pool could not be created; see log
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_add_pool_from_json(
    margo_instance_id mid, const char *json, struct margo_pool_info *info);

/**
 * Add to an instance a pool that the program created.
 *
 * @param mid             [in]   the Margo instance
 * @param name            [in]   NULL: the library chooses one
 * @param pool            [in]   a pool of Argobots
 * @param take_ownership  [in]   ABT_TRUE: the instance frees the pool
 * @param info            [out]  may be NULL; `name` is borrowed from the pool
 * Owns:      with `take_ownership` the instance owns the pool; else the caller
 *            does, and keeps it until its removal or the instance's end.
 * Errors:    HG_INVALID_ARG  mid or pool is NULL; the pool is known already;
 *                            the name is taken or reserved
 *            HG_NOMEM        no memory
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_add_pool_external(margo_instance_id mid,
    const char *name, ABT_pool pool, ABT_bool take_ownership,
    struct margo_pool_info *info);

/**
 * Remove a pool, by its handle, its index or its name.
 *
 * A pool that the instance owns is freed.
 *
 * @param mid  [in]  the Margo instance
 * @param pool, index, name  [in]  the pool: its handle, its index from 0 on, or
 *                                 its name
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such pool
 *            HG_PERMISSION   a stream, an RPC, the progress loop or handlers
 *                            use the pool, the program has a reference to it,
 *                            or user-level threads in it have not ended. The
 *                            log says which
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_remove_pool_by_handle(
    margo_instance_id mid, ABT_pool pool);
HG_PUBLIC hg_return_t margo_remove_pool_by_index(
    margo_instance_id mid, uint32_t index);
HG_PUBLIC hg_return_t margo_remove_pool_by_name(
    margo_instance_id mid, const char *name);

/**
 * Keep a pool from being removed, until margo_pool_release().
 *
 * @param mid  [in]  the Margo instance
 * @param handle, index, name  [in]  the pool: its handle, its index from 0 on,
 *                                   or its name
 * Owns:      the caller owns one reference.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such pool
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_pool_ref_incr_by_handle(
    margo_instance_id mid, ABT_pool handle);
HG_PUBLIC hg_return_t margo_pool_ref_incr_by_index(
    margo_instance_id mid, uint32_t index);
HG_PUBLIC hg_return_t margo_pool_ref_incr_by_name(
    margo_instance_id mid, const char *name);

/**
 * Get the number of references to a pool, those of streams, RPCs and the
 * instance included.
 *
 * @param mid       [in]  the Margo instance
 * @param handle, index, name  [in]  the pool: its handle, its index from 0 on,
 *                                   or its name
 * @param refcount  [out]  the number of references
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid, refcount, or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such pool
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_pool_ref_count_by_handle(
    margo_instance_id mid, ABT_pool handle, unsigned *refcount);
HG_PUBLIC hg_return_t margo_pool_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount);
HG_PUBLIC hg_return_t margo_pool_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount);

/**
 * Release a reference of margo_pool_ref_incr().
 *
 * @param mid  [in]  the Margo instance
 * @param handle, index, name  [in]  the pool: its handle, its index from 0 on,
 *                                   or its name
 * Owns:      the reference is consumed.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such pool
 *            HG_PERMISSION   the program has no such reference
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24, but only references of the program can be released.
 */
HG_PUBLIC hg_return_t margo_pool_release_by_handle(
    margo_instance_id mid, ABT_pool handle);
HG_PUBLIC hg_return_t margo_pool_release_by_index(
    margo_instance_id mid, uint32_t index);
HG_PUBLIC hg_return_t margo_pool_release_by_name(
    margo_instance_id mid, const char *name);

/**
 * Find an execution stream by its handle, its index or its name.
 *
 * @param mid      [in]  the Margo instance
 * @param xstream, index, name  [in]  the stream: its handle, its index from 0
 *                                    on, or its name
 * @param info     [out]  may be NULL; `name` is borrowed from the stream
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL; no stream has
 *                            that index
 *            HG_NOENTRY      the instance has no stream of that handle or name
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_find_xstream_by_handle(margo_instance_id mid,
    ABT_xstream xstream, struct margo_xstream_info *info);
HG_PUBLIC hg_return_t margo_find_xstream_by_index(
    margo_instance_id mid, uint32_t index, struct margo_xstream_info *info);
HG_PUBLIC hg_return_t margo_find_xstream_by_name(
    margo_instance_id mid, const char *name, struct margo_xstream_info *info);

/**
 * Start an execution stream from the JSON text of an element of
 * "argobots.xstreams".
 *
 * @param mid   [in]   the Margo instance
 * @param json  [in]   one JSON object, which names pools of the instance
 * @param info  [out]  may be NULL; `name` is borrowed from the stream
 * Owns:      the instance owns the stream, until it ends or
 *            margo_remove_xstream().
 * Errors:    HG_INVALID_ARG  mid is NULL, or the text is invalid: the log names
 *                            the field and the reason
 *            HG_NOMEM        no memory
 *            HG_OTHER_ERROR  the stream could not be created; see log
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_add_xstream_from_json(
    margo_instance_id mid, const char *json, struct margo_xstream_info *info);

/**
 * Add to an instance an execution stream that the program created.
 *
 * First add the pools of its scheduler, by margo_add_pool_external().
 *
 * @param mid             [in]   the Margo instance
 * @param name            [in]   NULL: the library chooses one
 * @param xstream         [in]   an execution stream of Argobots
 * @param take_ownership  [in]   ABT_TRUE: the instance will free the stream
 * @param info            [out]  may be NULL; `name` is borrowed from the stream
 * Owns:      with `take_ownership` the instance owns the stream; else the
 *            caller does, and keeps it until its removal or the instance's end.
 * Errors:    HG_INVALID_ARG  mid or xstream is NULL; the stream is known
 *                            already; the instance does not know a pool of the
 *                            stream; the name is taken or reserved
 *            HG_NOMEM        no memory
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_add_xstream_external(margo_instance_id mid,
    const char *name, ABT_xstream xstream, ABT_bool take_ownership,
    struct margo_xstream_info *info);

/**
 * Remove an execution stream, by its handle, its index or its name.
 *
 * A stream that the instance owns is joined and freed: it ends when its pools
 * have no thread that is ready. A stream that runs the caller ends when the
 * caller leaves it; another stream then continues the caller.
 *
 * @param mid  [in]  the Margo instance
 * @param xstream, index, name  [in]  the stream: its handle, its index from 0
 *                                    on, or its name
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such stream
 *            HG_PERMISSION   the stream is the primary one; the program has a
 *                            reference to it; or no other stream would run the
 *                            caller, or a pool in use. The log says which
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_remove_xstream_by_handle(
    margo_instance_id mid, ABT_xstream xstream);
HG_PUBLIC hg_return_t margo_remove_xstream_by_index(
    margo_instance_id mid, uint32_t index);
HG_PUBLIC hg_return_t margo_remove_xstream_by_name(
    margo_instance_id mid, const char *name);

/**
 * Keep an execution stream from being removed, until margo_xstream_release().
 *
 * @param mid  [in]  the Margo instance
 * @param handle, index, name  [in]  the stream: its handle, its index from 0
 *                                   on, or its name
 * Owns:      the caller owns one reference.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such stream
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_xstream_ref_incr_by_handle(
    margo_instance_id mid, ABT_xstream handle);
HG_PUBLIC hg_return_t margo_xstream_ref_incr_by_index(
    margo_instance_id mid, uint32_t index);
HG_PUBLIC hg_return_t margo_xstream_ref_incr_by_name(
    margo_instance_id mid, const char *name);

/**
 * Get the number of references to an execution stream.
 *
 * @param mid       [in]  the Margo instance
 * @param handle, index, name  [in]  the stream: its handle, its index from 0
 *                                   on, or its name
 * @param refcount  [out]  the number of references
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  mid, refcount, or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such stream
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_xstream_ref_count_by_handle(
    margo_instance_id mid, ABT_xstream handle, unsigned *refcount);
HG_PUBLIC hg_return_t margo_xstream_ref_count_by_index(
    margo_instance_id mid, uint32_t index, unsigned *refcount);
HG_PUBLIC hg_return_t margo_xstream_ref_count_by_name(
    margo_instance_id mid, const char *name, unsigned *refcount);

/**
 * Release a reference of margo_xstream_ref_incr().
 *
 * @param mid  [in]  the Margo instance
 * @param handle, index, name  [in]  the stream: its handle, its index from 0
 *                                   on, or its name
 * Owns:      the reference is consumed.
 * Errors:    HG_INVALID_ARG  mid or the handle or name is NULL
 *            HG_NOENTRY      the instance has no such stream
 *            HG_PERMISSION   the program has no such reference
 * Threads:   any thread; never blocks for long.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_xstream_release_by_handle(
    margo_instance_id mid, ABT_xstream handle);
HG_PUBLIC hg_return_t margo_xstream_release_by_index(
    margo_instance_id mid, uint32_t index);
HG_PUBLIC hg_return_t margo_xstream_release_by_name(
    margo_instance_id mid, const char *name);

/**
 * Move the threads that are ready in one pool to another pool.
 *
 * Waiting threads are in no pool; when ready, they return to their former pool.
 *
 * @param origin_pool  [in]  the pool that gives its threads away
 * @param target_pool  [in]  equal to origin_pool: nothing is done
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG  a pool is ABT_POOL_NULL
 *            HG_OTHER_ERROR  a pool returned an error; see log
 * Threads:   any thread; never blocks for long.
 * Undefined: a pool freed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_transfer_pool_content(
    ABT_pool origin_pool, ABT_pool target_pool);

#ifdef __cplusplus
}
#else

/* margo_find_pool(mid, "name", &info): the type of the second argument selects
 * one of the three calls; an integer is an index. */
#define MARGO_POOL_CALL_(call, what)                                           \
    _Generic((what), ABT_pool                                                  \
             : margo_##call##_by_handle, char *                                \
             : margo_##call##_by_name, const char *                            \
             : margo_##call##_by_name, default                                 \
             : margo_##call##_by_index)
#define MARGO_XSTREAM_CALL_(call, what)                                        \
    _Generic((what), ABT_xstream                                               \
             : margo_##call##_by_handle, char *                                \
             : margo_##call##_by_name, const char *                            \
             : margo_##call##_by_name, default                                 \
             : margo_##call##_by_index)

#define margo_find_pool(mid, what, info)                                       \
    MARGO_POOL_CALL_(find_pool, what)(mid, what, info)
#define margo_remove_pool(mid, what)                                           \
    MARGO_POOL_CALL_(remove_pool, what)(mid, what)
#define margo_pool_ref_incr(mid, what)                                         \
    MARGO_POOL_CALL_(pool_ref_incr, what)(mid, what)
#define margo_pool_ref_count(mid, what, refcount)                              \
    MARGO_POOL_CALL_(pool_ref_count, what)(mid, what, refcount)
#define margo_pool_release(mid, what)                                          \
    MARGO_POOL_CALL_(pool_release, what)(mid, what)
#define margo_find_xstream(mid, what, info)                                    \
    MARGO_XSTREAM_CALL_(find_xstream, what)(mid, what, info)
#define margo_remove_xstream(mid, what)                                        \
    MARGO_XSTREAM_CALL_(remove_xstream, what)(mid, what)
#define margo_xstream_ref_incr(mid, what)                                      \
    MARGO_XSTREAM_CALL_(xstream_ref_incr, what)(mid, what)
#define margo_xstream_ref_count(mid, what, refcount)                           \
    MARGO_XSTREAM_CALL_(xstream_ref_count, what)(mid, what, refcount)
#define margo_xstream_release(mid, what)                                       \
    MARGO_XSTREAM_CALL_(xstream_release, what)(mid, what)

#endif

#endif
