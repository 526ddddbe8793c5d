/* SPDX-License-Identifier: BSD-3-Clause */
/* Expectations from JSON: {"slack": 0.1, "rows": [{"bench": "latency",
 * "size": 8, "ratio": 0.9}, ...]}.
 *
 * A key that nobody knows is refused: a misspelt one would match too much. */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/columns.h"
#include "jobs/bench/frame/expectation.h"

#define SLACK_USUAL 0.10

enum { TEXT_MAX = 1 << 20 };

/* What is read, and where one is. */
struct reading {
    const char *path;
    unsigned row; /* from 1; 0: none of them */
};

static bool wrong_say(
    const struct reading *reading, const char *key, const char *what)
{
    fprintf(stderr, "amalgam_bench: %s: ", reading->path);
    if (reading->row > 0)
        fprintf(stderr, "row %u: ", reading->row);
    fprintf(stderr, "\"%s\" %s\n", key, what);
    return false;
}

static char *file_read(const char *path, int *ret_len)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(TEXT_MAX);
    size_t len = 0;
    bool is_whole = false;

    if (file != NULL && text != NULL) {
        len = fread(text, 1, TEXT_MAX, file);
        is_whole = !ferror(file);
    }
    if (!is_whole)
        fprintf(stderr, "amalgam_bench: cannot read %s: %s\n", path,
            strerror(errno));
    else if (len == TEXT_MAX)
        fprintf(stderr, "amalgam_bench: %s is longer than 1 MiB\n", path);
    if (file != NULL)
        fclose(file);
    if (!is_whole || len == TEXT_MAX) {
        free(text);
        return NULL;
    }
    *ret_len = (int)len;
    return text;
}

static unsigned line_of(const char *text, size_t at)
{
    unsigned line = 1;

    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n' ? 1 : 0;
    return line;
}

static struct json_object *text_parse(
    const char *path, const char *text, int len)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *root = NULL;
    enum json_tokener_error error = json_tokener_success;
    unsigned line = 0;

    if (tokener == NULL) {
        fprintf(stderr, "amalgam_bench: no memory to read %s\n", path);
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    root = json_tokener_parse_ex(tokener, text, len);
    error = json_tokener_get_error(tokener);
    line = line_of(text, json_tokener_get_parse_end(tokener));
    json_tokener_free(tokener);
    if (error == json_tokener_success && root != NULL)
        return root;
    fprintf(stderr, "amalgam_bench: %s:%u: %s\n", path, line,
        error == json_tokener_continue || error == json_tokener_success
            ? "ends before there is anything whole"
            : json_tokener_error_desc(error));
    json_object_put(root);
    return NULL;
}

/* A number that is not negative. */
static bool number_read(const struct reading *reading, const char *key,
    struct json_object *value, double *ret_number)
{
    double number = json_object_get_double(value);

    if ((!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double)) ||
        !isfinite(number) || number < 0.0)
        return wrong_say(reading, key, "has to be a number of 0 or more");
    *ret_number = number;
    return true;
}

static bool column_read(const struct reading *reading, const char *key,
    struct json_object *value, struct expectation *expectation)
{
    unsigned i = 0;

    while (i < column_count && strcmp(columns[i].key, key) != 0)
        i++;
    if (i == column_count || columns[i].kind == COLUMN_NUMBER ||
        columns[i].kind == COLUMN_PAIR || columns[i].kind == COLUMN_FLAG)
        return wrong_say(reading, key,
            "is nothing to tell rows by: bench, transport, via, op, size, "
            "window, threads, ranks, peers, memory, against; and ratio, note");
    expectation->has[i] = true;
    if (columns[i].kind != COLUMN_TEXT)
        return number_read(reading, key, value, &expectation->numbers[i]);
    if (!json_object_is_type(value, json_type_string))
        return wrong_say(reading, key, "has to be a text");
    expectation->texts[i] = json_object_get_string(value);
    return true;
}

static bool row_read(const struct reading *reading, struct json_object *row,
    struct expectation *expectation)
{
    if (!json_object_is_type(row, json_type_object))
        return wrong_say(reading, "rows", "has to have objects only");
    json_object_object_foreach(row, key, value)
    {
        if (strcmp(key, "note") == 0)
            continue;
        if (strcmp(key, "ratio") == 0) {
            if (!number_read(reading, key, value, &expectation->ratio))
                return false;
        } else if (!column_read(reading, key, value, expectation)) {
            return false;
        }
    }
    if (!json_object_object_get_ex(row, "ratio", NULL))
        return wrong_say(reading, "ratio", "is missing");
    return true;
}

static bool rows_read(struct reading *reading, struct json_object *rows,
    struct expectation **ret_expectations, unsigned *ret_count)
{
    size_t count = 0;

    if (!json_object_is_type(rows, json_type_array) ||
        json_object_array_length(rows) == 0)
        return wrong_say(reading, "rows", "has to be a list of at least one");
    count = json_object_array_length(rows);
    *ret_expectations = calloc(count, sizeof(**ret_expectations));
    if (*ret_expectations == NULL)
        return wrong_say(reading, "rows", "is more than there is memory for");
    for (size_t i = 0; i < count; i++) {
        reading->row = (unsigned)i + 1;
        if (!row_read(reading, json_object_array_get_idx(rows, i),
                *ret_expectations + i))
            return false;
    }
    *ret_count = (unsigned)count;
    return true;
}

static bool root_read(struct reading *reading, struct json_object *root,
    struct expectation **ret_expectations, unsigned *ret_count,
    double *ret_slack)
{
    struct json_object *rows = NULL;

    if (!json_object_is_type(root, json_type_object))
        return wrong_say(reading, "rows", "has to be in an object");
    *ret_slack = SLACK_USUAL;
    json_object_object_foreach(root, key, value)
    {
        if (strcmp(key, "rows") == 0)
            rows = value;
        else if (strcmp(key, "slack") == 0) {
            if (!number_read(reading, key, value, ret_slack))
                return false;
        } else if (strcmp(key, "note") != 0) {
            return wrong_say(reading, key, "is not known: slack, rows, note");
        }
    }
    return rows_read(reading, rows, ret_expectations, ret_count);
}

bool expectations_read(const char *path, struct expectation **ret_expectations,
    unsigned *ret_count, double *ret_slack)
{
    struct reading reading = {.path = path};
    struct json_object *root = NULL;
    int len = 0;
    char *text = file_read(path, &len);

    if (text == NULL)
        return false;
    root = text_parse(path, text, len);
    free(text);
    if (root == NULL)
        return false;
    /* The texts stay where they are, in `root`. */
    return root_read(&reading, root, ret_expectations, ret_count, ret_slack);
}
