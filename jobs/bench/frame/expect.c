/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratios that a user expects, and whether they hold: {"slack": 0.1, "rows":
 * [{"bench": "latency", "size": 8, "ratio": 0.9}, ...]}.
 *
 * An unknown key is refused: with a misspelt key a row would match too much. */
#include "jobs/bench/frame/report.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_USUAL 0.10

static struct {
    struct json_object *root; /* the file */
    struct json_object *rows; /* its list of expectations */
    bool *were_met;           /* for each expectation: a row matched it */
    double slack;
    FILE *words; /* a line for each expectation that does not hold */
    char *text;
    size_t len;
    unsigned unmet;
} expect;

#define AMOUNT "has to be a number of 0 or more"

/* Row 0: the fault is outside of all rows. */
static bool wrong_say(
    const char *path, size_t row, const char *key, const char *what)
{
    fprintf(stderr, "amalgam_bench: %s: ", path);
    if (row > 0)
        fprintf(stderr, "row %zu: ", row);
    fprintf(stderr, "\"%s\" %s\n", key, what);
    return false;
}

/* NULL, with a line why: the file is not one value of JSON. */
static struct json_object *file_parse(const char *path)
{
    FILE *file = fopen(path, "r");
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *root = NULL;
    enum json_tokener_error error = json_tokener_continue;
    char *text = NULL;
    size_t cap = 0;
    ssize_t len = 0;
    unsigned line = 1;

    if (file == NULL || tokener == NULL) {
        fprintf(stderr, "amalgam_bench: cannot read %s: %s\n", path,
            strerror(errno));
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    len = getdelim(&text, &cap, '\0', file); /* all of it */
    if (len > 0) {
        root = json_tokener_parse_ex(tokener, text, (int)len);
        error = json_tokener_get_error(tokener);
    }
    if (error != json_tokener_success) {
        for (size_t i = 0; i < json_tokener_get_parse_end(tokener); i++)
            line += text[i] == '\n' ? 1 : 0;
        fprintf(stderr, "amalgam_bench: %s:%u: %s\n", path, line,
            error == json_tokener_continue
                ? "ends before a complete value of JSON"
                : json_tokener_error_desc(error));
        json_object_put(root);
        root = NULL;
    }
    free(text);
    json_tokener_free(tokener);
    fclose(file);
    return root;
}

static bool is_amount(struct json_object *value)
{
    double number = json_object_get_double(value);

    return (json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double)) &&
           isfinite(number) && number >= 0.0;
}

/* The column with this key; NULL: there is none that identifies rows. */
static const struct column *column_of(const char *key)
{
    for (const struct column *at = row_columns; at->key != NULL; at++)
        if (strcmp(at->key, key) == 0)
            return at->kind <= COLUMN_COUNT ? at : NULL;
    return NULL;
}

static bool row_check(const char *path, size_t number, struct json_object *row)
{
    if (!json_object_is_type(row, json_type_object))
        return wrong_say(path, number, "rows", "has to have objects only");
    json_object_object_foreach(row, key, value)
    {
        const struct column *column = column_of(key);
        bool is_text = column != NULL && column->kind == COLUMN_TEXT;

        if (strcmp(key, "note") == 0)
            continue;
        if (column == NULL && strcmp(key, "ratio") != 0)
            return wrong_say(path, number, key,
                "is none of bench, transport, via, cores, op, size, window, "
                "threads, ranks, peers, memory, unit, against, control, "
                "better, batches, runs, ratio, note");
        if (is_text ? !json_object_is_type(value, json_type_string)
                    : !is_amount(value))
            return wrong_say(
                path, number, key, is_text ? "has to be a text" : AMOUNT);
    }
    return json_object_object_get_ex(row, "ratio", NULL) ||
           wrong_say(path, number, "ratio", "is missing");
}

static bool root_check(const char *path)
{
    if (!json_object_is_type(expect.root, json_type_object))
        return wrong_say(path, 0, "rows", "has to be a member of an object");
    expect.slack = SLACK_USUAL;
    json_object_object_foreach(expect.root, key, value)
    {
        if (strcmp(key, "slack") == 0 && !is_amount(value))
            return wrong_say(path, 0, key, AMOUNT);
        if (strcmp(key, "slack") == 0)
            expect.slack = json_object_get_double(value);
        else if (strcmp(key, "rows") == 0)
            expect.rows = value;
        else if (strcmp(key, "note") != 0)
            return wrong_say(path, 0, key, "is none of slack, rows, note");
    }
    if (!json_object_is_type(expect.rows, json_type_array) ||
        json_object_array_length(expect.rows) == 0)
        return wrong_say(path, 0, "rows", "has to be a list of at least one");
    for (size_t i = 0; i < json_object_array_length(expect.rows); i++)
        if (!row_check(path, i + 1, json_object_array_get_idx(expect.rows, i)))
            return false;
    return true;
}

bool expect_open(const char *path)
{
    memset(&expect, 0, sizeof(expect));
    expect.root = file_parse(path);
    if (expect.root == NULL || !root_check(path)) {
        json_object_put(expect.root);
        return false;
    }
    expect.words = open_memstream(&expect.text, &expect.len);
    expect.were_met =
        calloc(json_object_array_length(expect.rows), sizeof(bool));
    if (expect.words == NULL || expect.were_met == NULL) {
        fputs("amalgam_bench: no memory for what is expected\n", stderr);
        return false;
    }
    return true;
}

/* Does the row match the expectation? */
static bool is_met(struct json_object *expectation, const struct row *row)
{
    json_object_object_foreach(expectation, key, value)
    {
        const struct column *column = column_of(key);

        if (column != NULL && column->kind == COLUMN_TEXT &&
            strcmp(json_object_get_string(value), column_text(row, column)) !=
                0)
            return false;
        if (column != NULL && column->kind != COLUMN_TEXT &&
            json_object_get_double(value) != column_number(row, column, 0))
            return false;
    }
    return true;
}

static double ratio_of(struct json_object *expectation)
{
    return json_object_get_double(json_object_object_get(expectation, "ratio"));
}

unsigned expect_row(const struct row *row)
{
    bool is_higher = strcmp(row->better, "higher") == 0;
    unsigned before = expect.unmet;
    size_t count =
        expect.words == NULL ? 0 : json_object_array_length(expect.rows);

    for (size_t i = 0; i < count; i++) {
        struct json_object *expectation =
            json_object_array_get_idx(expect.rows, i);
        double wanted = ratio_of(expectation);

        if (!is_met(expectation, row))
            continue;
        expect.were_met[i] = true;
        if (is_higher ? row->ratio >= wanted * (1.0 - expect.slack)
                      : row->ratio <= wanted * (1.0 + expect.slack))
            continue;
        expect.unmet++;
        fprintf(expect.words,
            "expected: %s %s over %s, %zu B, window %u, %s, against %s: ratio "
            "at %s %.3f (slack %.0f %%), got %.3f%s\n",
            row->bench, row->op, row->transport, row->size, row->window,
            row->memory, row->against, is_higher ? "least" : "most", wanted,
            expect.slack * 100.0, row->ratio, row->is_noisy ? ", noisy" : "");
    }
    return expect.unmet - before;
}

/* Does a run of `word` include the expectation? Yes if it has no `key`. */
static bool is_asked(
    struct json_object *expectation, const char *key, const char *word)
{
    struct json_object *named = json_object_object_get(expectation, key);

    return named == NULL || strcmp(word, "all") == 0 ||
           strcmp(json_object_get_string(named), word) == 0;
}

static void missing_say(struct json_object *expectation)
{
    const char *comma = "";

    expect.unmet++;
    fputs("expected: a row of ", expect.words);
    json_object_object_foreach(expectation, key, value)
    {
        if (column_of(key) != NULL) {
            fprintf(expect.words, "%s%s %s", comma, key,
                json_object_get_string(value));
            comma = ", ";
        }
    }
    fprintf(
        expect.words, ": ratio %.3f, got no such row\n", ratio_of(expectation));
}

unsigned expect_close(const char *bench, const char *transport, bool is_whole)
{
    size_t count = 0;

    if (expect.words == NULL)
        return 0;
    for (size_t i = 0; i < json_object_array_length(expect.rows); i++) {
        struct json_object *expectation =
            json_object_array_get_idx(expect.rows, i);

        if (expect.were_met[i])
            count++;
        else if (is_whole && is_asked(expectation, "bench", bench) &&
                 is_asked(expectation, "transport", transport))
            missing_say(expectation);
    }
    fclose(expect.words);
    expect.words = NULL;
    fputs(expect.text, stderr);
    if (expect.unmet == 0)
        fprintf(stderr, "All %zu expectations that matched a row hold%s.\n",
            count, is_whole ? "" : ", as far as the run went");
    free(expect.text);
    free(expect.were_met);
    json_object_put(expect.root);
    return expect.unmet;
}
