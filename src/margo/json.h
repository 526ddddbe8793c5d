/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON objects: read into structs, and written, by a table of the fields. The
 * log warns of unknown fields, and tells path and reason of a refused field. */
#ifndef AMG_MARGO_JSON_H
#define AMG_MARGO_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "margo/log.h"

enum { AMG_JSON_PATH_CAP = 160 }; /* longer paths are cut */

/* Kind of a field, and the C type of its member in the struct. */
enum amg_json_kind {
    AMG_JSON_BOOL,     /* bool, or uint8_t 1 or 0 */
    AMG_JSON_INT,      /* int */
    AMG_JSON_UINT,     /* unsigned */
    AMG_JSON_SIZE,     /* size_t */
    AMG_JSON_TEXT,     /* const char *, which lies in the object */
    AMG_JSON_WORD,     /* int, index of the word in `words` */
    AMG_JSON_HINT,     /* like WORD, but an unknown word is no error */
    AMG_JSON_ELSEWHERE /* known, but not read or written by the table */
};

struct amg_json_field {
    const char *key; /* NULL: the end of the table */
    enum amg_json_kind kind;
    size_t offset;
    int64_t min;              /* least value of a number */
    int64_t max;              /* largest value of a number */
    const char *const *words; /* of a WORD or HINT; ended by NULL */
};

/* Reads `object` into `target`. A field that is missing or null leaves its
 * member unchanged; so does an unknown word of a HINT, with a warning. `path`
 * leads to the object; "" is the whole text. False: refused, logged; `target`
 * may be written in part. */
bool amg_json_read(const struct amg_margo_log *log, const char *path,
    struct json_object *object, const struct amg_json_field *fields,
    void *target);

/* Adds the members of `source` to the object, except texts that are NULL and
 * fields that are read elsewhere. False: no memory. */
bool amg_json_write(struct json_object *object,
    const struct amg_json_field *fields, const void *source);

/* A string of the text; each byte that is no part of valid UTF-8, which JSON
 * requires, becomes \x and two hex digits. NULL: no memory. */
struct json_object *amg_json_string(const char *text);

/* Is the value of `type`? If not, logs an error. */
bool amg_json_is(const struct amg_margo_log *log, const char *path,
    struct json_object *value, enum json_type type);

/* Reads an integer; `path`: its name in the log. False: refused, logged. */
bool amg_json_int(const struct amg_margo_log *log, const char *path,
    struct json_object *value, int64_t min, int64_t max, int64_t *ret_number);

/* The value of `key`; NULL: not given, or null, or `object` is NULL. */
struct json_object *amg_json_get(struct json_object *object, const char *key);

/* Returns in `ret_value` the value of `key`; NULL: not given, or null. False: a
 * value of another type, logged. */
bool amg_json_section(const struct amg_margo_log *log, const char *path,
    struct json_object *object, const char *key, enum json_type type,
    struct json_object **ret_value);

/* Parses the text of an object, which may have comments, trailing commas, and
 * single quotes; warns of text behind the object. NULL: refused, logged; `what`
 * names the text in the log. The caller calls json_object_put(). */
struct json_object *amg_json_parse(
    const struct amg_margo_log *log, const char *what, const char *text);

/* "path.key" and "path[index]". */
void amg_json_path_key(
    char ret_path[AMG_JSON_PATH_CAP], const char *path, const char *key);
void amg_json_path_index(
    char ret_path[AMG_JSON_PATH_CAP], const char *path, size_t index);

#endif
