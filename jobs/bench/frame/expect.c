/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratios that a user expects, and whether they hold: {"slack": 0.1, "rows":
 * [{"bench": "latency", "size": 8, "ratio": 0.9}, ...]}.
 *
 * A key that is not known is refused: a misspelt one would match too much. */
#include "jobs/bench/frame/expect.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/document.h"

#define SLACK_USUAL 0.10

/* The file that is read, and the position in it. */
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

/* NULL, with a line why, when the file has not one value of JSON. */
static struct json_object *file_parse(const char *path)
{
    FILE *file = fopen(path, "r");
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *root = NULL;
    enum json_tokener_error error = json_tokener_continue;
    char *line = NULL;
    size_t cap = 0;
    ssize_t len = 0;
    unsigned number = 0;

    if (file == NULL || tokener == NULL) {
        fprintf(stderr, "amalgam_bench: cannot read %s: %s\n", path,
            strerror(errno));
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    for (; (len = getline(&line, &cap, file)) > 0; number++) {
        bool is_blank = strspn(line, " \t\r\n") == (size_t)len;

        if (error == json_tokener_continue) {
            root = json_tokener_parse_ex(tokener, line, (int)len);
            error = json_tokener_get_error(tokener);
        } else if (error == json_tokener_success && !is_blank) {
            error = json_tokener_error_parse_unexpected;
        }
        if (error != json_tokener_continue && error != json_tokener_success)
            break;
    }
    if (error != json_tokener_success) {
        fprintf(stderr, "amalgam_bench: %s:%u: %s\n", path, number + 1,
            error == json_tokener_continue
                ? "ends before there is anything whole"
                : json_tokener_error_desc(error));
        json_object_put(root);
        root = NULL;
    }
    free(line);
    json_tokener_free(tokener);
    fclose(file);
    return root;
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

/* What `root` says, which keeps the texts. */
static bool root_read(const char *path, struct json_object *root,
    struct expectation **ret_expectations, unsigned *ret_count,
    double *ret_slack)
{
    struct reading reading = {.path = path};
    struct json_object *rows = NULL;
    size_t count = 0;

    if (!json_object_is_type(root, json_type_object))
        return wrong_say(&reading, "rows", "has to be in an object");
    *ret_slack = SLACK_USUAL;
    json_object_object_foreach(root, key, value)
    {
        if (strcmp(key, "rows") == 0)
            rows = value;
        else if (strcmp(key, "slack") != 0 && strcmp(key, "note") != 0)
            return wrong_say(&reading, key, "is not known: slack, rows, note");
        else if (key[0] == 's' && !number_read(&reading, key, value, ret_slack))
            return false;
    }
    if (!json_object_is_type(rows, json_type_array) ||
        json_object_array_length(rows) == 0)
        return wrong_say(&reading, "rows", "has to be a list of at least one");
    count = json_object_array_length(rows);
    *ret_expectations = calloc(count, sizeof(**ret_expectations));
    if (*ret_expectations == NULL)
        return wrong_say(&reading, "rows", "is more than there is memory for");
    for (size_t i = 0; i < count; i++) {
        reading.row = (unsigned)i + 1;
        if (!row_read(&reading, json_object_array_get_idx(rows, i),
                *ret_expectations + i))
            return false;
    }
    *ret_count = (unsigned)count;
    return true;
}

bool expectations_read(const char *path, struct expectation **ret_expectations,
    unsigned *ret_count, double *ret_slack)
{
    static struct json_object *root; /* of the file that was read last */
    struct expectation *expectations = NULL;

    json_object_put(root);
    root = file_parse(path);
    if (root == NULL ||
        !root_read(path, root, &expectations, ret_count, ret_slack)) {
        free(expectations);
        return false;
    }
    *ret_expectations = expectations;
    return true;
}

bool expectation_meets(
    const struct expectation *expectation, const struct row *row)
{
    for (unsigned i = 0; i < column_count; i++) {
        const struct column *column = &columns[i];

        if (!expectation->has[i])
            continue;
        if (column->kind == COLUMN_TEXT) {
            if (strcmp(expectation->texts[i], column_text(row, column)) != 0)
                return false;
        } else if (expectation->numbers[i] != column_number(row, column, 0)) {
            return false;
        }
    }
    return true;
}

bool expectation_holds(
    const struct expectation *expectation, const struct row *row, double slack)
{
    if (strcmp(row->better, "higher") == 0)
        return row->ratio >= expectation->ratio * (1.0 - slack);
    return row->ratio <= expectation->ratio * (1.0 + slack);
}

const char *expectation_text(
    const struct expectation *expectation, const char *key)
{
    for (unsigned i = 0; i < column_count; i++)
        if (strcmp(columns[i].key, key) == 0)
            return expectation->texts[i];
    return NULL;
}

static void expectation_print(
    const struct expectation *expectation, FILE *stream)
{
    const char *comma = "";

    for (unsigned i = 0; i < column_count; i++) {
        if (!expectation->has[i])
            continue;
        if (columns[i].kind == COLUMN_TEXT)
            fprintf(stream, "%s%s %s", comma, columns[i].key,
                expectation->texts[i]);
        else
            fprintf(stream, "%s%s %.0f", comma, columns[i].key,
                expectation->numbers[i]);
        comma = ", ";
    }
}

enum { BENCHES_MAX = 64 };

static struct {
    struct expectation *expectations;
    unsigned count;
    double slack;
    const char *benches[BENCHES_MAX]; /* that were run */
    unsigned bench_count;
    FILE *words; /* what does not hold, a line each */
    char *text;
    size_t len;
    unsigned unmet;
} expect;

bool expect_open(const char *path)
{
    expect.words = open_memstream(&expect.text, &expect.len);
    if (expect.words == NULL) {
        fputs("amalgam_bench: no memory for what is expected\n", stderr);
        return false;
    }
    return expectations_read(
        path, &expect.expectations, &expect.count, &expect.slack);
}

void expect_bench(const char *bench)
{
    if (expect.bench_count < BENCHES_MAX)
        expect.benches[expect.bench_count++] = bench;
}

static void unmet_say(
    const struct expectation *expectation, const struct row *row)
{
    bool is_higher = strcmp(row->better, "higher") == 0;

    expect.unmet++;
    fprintf(expect.words,
        "expected: %s %s over %s, %zu B, window %u, %s, against %s: ratio at "
        "%s %.3f (slack %.0f %%), got %.3f%s\n",
        row->bench, row->op, row->transport, row->size, row->window,
        row->memory, row->against, is_higher ? "least" : "most",
        expectation->ratio, expect.slack * 100.0, row->ratio,
        row->is_noisy ? ", noisy" : "");
}

void expect_row(const struct row *row)
{
    for (unsigned i = 0; i < expect.count; i++) {
        struct expectation *expectation = &expect.expectations[i];

        if (!expectation_meets(expectation, row))
            continue;
        expectation->was_met = true;
        if (!expectation_holds(expectation, row, expect.slack))
            unmet_say(expectation, row);
    }
}

/* Should rows as described have come? */
static bool is_due(const struct expectation *expectation, const char *asked)
{
    const char *bench = expectation_text(expectation, "bench");
    const char *transport = expectation_text(expectation, "transport");
    bool was_run = bench == NULL;

    for (unsigned i = 0; i < expect.bench_count && !was_run; i++)
        was_run = strcmp(bench, expect.benches[i]) == 0;
    return was_run &&
           (transport == NULL ||
               strcmp(transport, asked == NULL ? "auto" : asked) == 0);
}

static void missing_say(const struct expectation *expectation)
{
    expect.unmet++;
    fputs("expected: a row of ", expect.words);
    expectation_print(expectation, expect.words);
    fprintf(
        expect.words, ": ratio %.3f, got no such row\n", expectation->ratio);
}

unsigned expect_close(const char *asked, bool is_whole)
{
    if (expect.words == NULL)
        return 0;
    for (unsigned i = 0; is_whole && i < expect.count; i++)
        if (!expect.expectations[i].was_met &&
            is_due(&expect.expectations[i], asked))
            missing_say(&expect.expectations[i]);
    fclose(expect.words);
    fputs(expect.text, stderr);
    if (expect.unmet == 0)
        fprintf(stderr, "All %u expectations hold%s.\n", expect.count,
            is_whole ? "" : ", as far as it went");
    free(expect.text);
    free(expect.expectations);
    expect.words = NULL;
    expect.count = 0;
    return expect.unmet;
}
