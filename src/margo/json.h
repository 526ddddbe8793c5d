/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON objects read into structs by a table of their fields: what is unknown is
 * warned of, what makes no sense is refused, both with path and reason. */
#ifndef AMG_MARGO_JSON_H
#define AMG_MARGO_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "margo/log.h"

enum { AMG_JSON_PATH_CAP = 160 }; /* of a longer one the end is not shown */

/* Kind of a field, and the C type of its member in the struct. */
enum amg_json_kind {
    AMG_JSON_BOOL,     /* bool */
    AMG_JSON_BYTE,     /* true or false, as uint8_t 1 or 0 */
    AMG_JSON_INT,      /* int */
    AMG_JSON_UINT,     /* unsigned */
    AMG_JSON_SIZE,     /* size_t */
    AMG_JSON_TEXT,     /* const char *, which lies in the object */
    AMG_JSON_WORD,     /* one of `words`: int, its index */
    AMG_JSON_HINT,     /* the same, but an unknown one is left */
    AMG_JSON_ELSEWHERE /* known, and read elsewhere */
};

struct amg_json_field {
    const char *key;
    enum amg_json_kind kind;
    size_t offset;
    int64_t min; /* of a number */
    int64_t max;
    const char *const *words; /* ended by NULL */
};

/* Reads `object` into `target`; what is not given, or null, is left as it is.
 * A hint that is unknown is warned of and left, too. `path` is that of the
 * object, "" for the whole text. False: refused, the log says why; `target` may
 * be written in part. */
bool amg_json_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, const struct amg_json_field *fields,
    size_t count, void *target);

/* One integer or the elements of an array, by the path that names it. */
bool amg_json_int(const struct amg_margo_log *log, const char *path,
    struct json_object *value, int64_t min, int64_t max, int64_t *ret_number);

/* The value of `key`; NULL: not given, or null, or there is no object. */
struct json_object *amg_json_get(struct json_object *object, const char *key);

/* The same, which has to be an object or array. False: refused. NULL in
 * `ret_value`: it is not given. */
bool amg_json_section(const struct amg_margo_log *log, const char *path,
    struct json_object *object, const char *key, enum json_type type,
    struct json_object **ret_value);

/* The text, parsed: one object, in which comments and commas at the end of
 * lists are fine, as well as single quotes; what follows it is warned of. NULL:
 * refused; `what` says in the log which text it is. json_object_put() ends it.
 */
struct json_object *amg_json_parse(
    const struct amg_margo_log *log, const char *what, const char *text);

/* "path.key" and "path[index]". */
void amg_json_path_key(
    char ret_path[AMG_JSON_PATH_CAP], const char *path, const char *key);
void amg_json_path_index(
    char ret_path[AMG_JSON_PATH_CAP], const char *path, size_t index);

#endif
