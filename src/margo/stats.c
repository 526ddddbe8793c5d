/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of many numbers. */
#include "margo/stats.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

/* Of the last numbers each moves the mean by its share of the distance; so
 * large numbers do not swallow small distances (Welford, Technometrics 4,
 * 1962). */
void amg_stats_add(struct amg_stats *stats, double number)
{
    double distance = number - stats->avg;

    if (stats->num == 0 || number < stats->min)
        stats->min = number;
    if (stats->num == 0 || number > stats->max)
        stats->max = number;
    stats->num++;
    stats->sum += number;
    stats->avg += distance / (double)stats->num;
    stats->squares += distance * (number - stats->avg);
}

struct json_object *amg_stats_number(double number, unsigned precision)
{
    char text[40];
    int len = snprintf(text, sizeof(text), "%.*g", (int)precision, number);

    /* A whole number is one with a fraction still, to readers of JSON. */
    if (strpbrk(text, ".eEni") == NULL)
        len += snprintf(text + len, sizeof(text) - (size_t)len, ".0");
    AMG_ASSERT(len > 0 && (size_t)len < sizeof(text));
    return json_object_new_double_s(number, text);
}

struct json_object *amg_stats_json(
    const struct amg_stats *stats, unsigned precision)
{
    struct json_object *object = json_object_new_object();
    double var = stats->num == 0 ? 0 : stats->squares / (double)stats->num;

    if (object == NULL)
        return NULL;
    json_object_object_add(
        object, "num", json_object_new_int64((int64_t)stats->num));
    json_object_object_add(
        object, "min", amg_stats_number(stats->min, precision));
    json_object_object_add(
        object, "max", amg_stats_number(stats->max, precision));
    json_object_object_add(
        object, "avg", amg_stats_number(stats->avg, precision));
    json_object_object_add(object, "var", amg_stats_number(var, precision));
    json_object_object_add(
        object, "sum", amg_stats_number(stats->sum, precision));
    return object;
}
