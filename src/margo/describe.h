/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance as JSON. */
#ifndef AMG_MARGO_DESCRIBE_H
#define AMG_MARGO_DESCRIBE_H

#include "margo.h"

struct json_object;

/* `options` are MARGO_CONFIG_*. NULL: no memory; json_object_put() ends it. */
struct json_object *amg_margo_describe(margo_instance_id mid, int options);

/* The array "pools", or "xstreams", of such a description. */
struct json_object *amg_margo_describe_pools(
    margo_instance_id mid, int options);
struct json_object *amg_margo_describe_streams(
    margo_instance_id mid, int options);
/* How the description refers to a pool; NULL: the instance does not know it, or
 * no memory. */
struct json_object *amg_margo_describe_ref(
    margo_instance_id mid, int options, ABT_pool pool);

/* Adds `value`, which is taken, also on failure. False: no memory. */
bool amg_margo_describe_put(
    struct json_object *object, const char *key, struct json_object *value);
bool amg_margo_describe_text(
    struct json_object *object, const char *key, const char *text);
/* The same, but NULL leaves the object as it is. */
bool amg_margo_describe_add(
    struct json_object *object, const char *key, struct json_object *value);

#endif
