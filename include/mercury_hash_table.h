/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash table of values by keys. Keys and values are pointers of the program;
 * the program also supplies the hash function and the comparison. */
#ifndef MERCURY_HASH_TABLE_H
#define MERCURY_HASH_TABLE_H

#include "mercury_util_config.h"

typedef struct hg_hash_table hg_hash_table_t;
typedef struct hg_hash_table_entry hg_hash_table_entry_t;
typedef struct hg_hash_table_iter hg_hash_table_iter_t;

typedef void *hg_hash_table_key_t;
typedef void *hg_hash_table_value_t;

/* State of an iteration over a table, for the functions below. */
struct hg_hash_table_iter {
    hg_hash_table_t *hash_table;
    hg_hash_table_entry_t *next_entry;
};

/* No value: hg_hash_table_lookup() returns this for an unknown key. */
#define HG_HASH_TABLE_NULL ((void *)0)

/* Hash of a key, the same for equal keys. */
typedef unsigned int (*hg_hash_table_hash_func_t)(hg_hash_table_key_t key);

/* Not 0: the keys are equal. */
typedef int (*hg_hash_table_equal_func_t)(
    hg_hash_table_key_t key1, hg_hash_table_key_t key2);

/* Frees a key or value that was removed from the table. */
typedef void (*hg_hash_table_key_free_func_t)(hg_hash_table_key_t key);
typedef void (*hg_hash_table_value_free_func_t)(hg_hash_table_value_t value);

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an empty hash table.
 *
 * @param hash_func   [in]  computes a number from a key
 * @param equal_func  [in]  compares two keys; 0: they differ
 * Owns:      the caller owns the result; hg_hash_table_free() frees it.
 * Errors:    NULL: an argument is NULL, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_hash_table_t *hg_hash_table_new(
    hg_hash_table_hash_func_t hash_func, hg_hash_table_equal_func_t equal_func);

/**
 * Destroy a hash table.
 *
 * @param hash_table  [in]  NULL is allowed
 * Owns:      the table is consumed; the functions of
 *            hg_hash_table_register_free_functions() free keys and values.
 * Errors:    none.
 * Threads:   one thread, when no other uses the table.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_hash_table_free(hg_hash_table_t *hash_table);

/**
 * Set the functions that free a key and a value when they are removed, when an
 * insert replaces them, or when the table is freed.
 *
 * @param hash_table       [in]  of hg_hash_table_new()
 * @param key_free_func    [in]  NULL: keys stay the program's
 * @param value_free_func  [in]  NULL: values stay the program's
 * Owns:      the table owns its keys if key_free_func is not NULL, and its
 *            values if value_free_func is not NULL.
 * Errors:    NULL has no effect.
 * Threads:   any thread, one at a time per table; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_hash_table_register_free_functions(
    hg_hash_table_t *hash_table, hg_hash_table_key_free_func_t key_free_func,
    hg_hash_table_value_free_func_t value_free_func);

/**
 * Insert a value into a hash table; replaces an older value of the same key.
 *
 * @param hash_table  [in]  of hg_hash_table_new()
 * @param key         [in]  of the value; `hash_func` and `equal_func` read it
 * @param value       [in]  not HG_HASH_TABLE_NULL
 * Owns:      as hg_hash_table_register_free_functions() says; the older key and
 *            value are removed.
 * Errors:    0: hash_table is NULL, or no memory; nothing changed. Not 0:
 *            inserted.
 * Threads:   any thread, one at a time per table; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_hash_table_insert(hg_hash_table_t *hash_table,
    hg_hash_table_key_t key, hg_hash_table_value_t value);

/**
 * Get the value of a key of a hash table.
 *
 * @param hash_table  [in]  of hg_hash_table_new()
 * @param key         [in]  of the value; `hash_func` and `equal_func` read it
 * Owns:      the result is borrowed from the table.
 * Errors:    HG_HASH_TABLE_NULL: no such key, or hash_table is NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the table changed during the call.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_hash_table_value_t hg_hash_table_lookup(
    hg_hash_table_t *hash_table, hg_hash_table_key_t key);

/**
 * Remove a key and its value from a hash table.
 *
 * @param hash_table  [in]  of hg_hash_table_new()
 * @param key         [in]  of the value; `hash_func` and `equal_func` read it
 * Owns:      as hg_hash_table_register_free_functions() says.
 * Errors:    0: no such key, or hash_table is NULL. Not 0: removed.
 * Threads:   any thread, one at a time per table; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_hash_table_remove(
    hg_hash_table_t *hash_table, hg_hash_table_key_t key);

/**
 * Get the number of keys in a hash table.
 *
 * @param hash_table  [in]  of hg_hash_table_new()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: the table changed during the call.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC unsigned int hg_hash_table_num_entries(
    hg_hash_table_t *hash_table);

/**
 * Begin an iteration over all values of a hash table, in no defined order.
 *
 * @param hash_table  [in]   of hg_hash_table_new()
 * @param iter        [out]  the iteration, before its first value
 * Owns:      nothing changes hands.
 * Errors:    NULL as hash_table gives an iteration without values.
 * Threads:   any thread, one at a time per iteration; never blocks.
 * Undefined: iter is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_hash_table_iterate(
    hg_hash_table_t *hash_table, hg_hash_table_iter_t *iter);

/**
 * Tell whether an iteration over a hash table has more values; 0: no.
 *
 * @param iter  [in]  of hg_hash_table_iterate()
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   as hg_hash_table_iterate().
 * Undefined: iter is NULL.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_hash_table_iter_has_more(hg_hash_table_iter_t *iter);

/**
 * Get the next value of an iteration over a hash table. Before the next call,
 * the program may remove the value that was returned last, but no other value.
 *
 * @param iter  [in,out]  of hg_hash_table_iterate()
 * Owns:      the result is borrowed from the table.
 * Errors:    HG_HASH_TABLE_NULL: there is no further value.
 * Threads:   as hg_hash_table_iterate().
 * Undefined: iter is NULL; the table was changed in another way since the
 *            iteration began.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_hash_table_value_t hg_hash_table_iter_next(
    hg_hash_table_iter_t *iter);

#ifdef __cplusplus
}
#endif

#endif
