/* SPDX-License-Identifier: BSD-3-Clause */
/* The results as JSON.
 *
 * One object; of its rows each has a line, so that a reader of lines finds its
 * way as well as a parser. */
#include <math.h>

#include "jobs/bench/frame/columns.h"
#include "jobs/bench/frame/results.h"

enum {
    ASCII_END = 0x80,
    LEAD_2 = 0xc2, /* the least that leads two bytes, three, four; RFC 3629 */
    LEAD_3 = 0xe0,
    LEAD_4 = 0xf0,
    LEAD_END = 0xf5,
    TAIL_MASK = 0xc0, /* of the bytes that follow */
    TAIL = 0x80,
};

/* How many bytes the character has; 0: these are none of UTF-8. */
static size_t character_len(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t len = 1;

    if (bytes[0] < ASCII_END)
        return 1;
    if (bytes[0] < LEAD_2 || bytes[0] >= LEAD_END)
        return 0;
    len = bytes[0] < LEAD_3 ? 2 : bytes[0] < LEAD_4 ? 3 : 4;
    for (size_t i = 1; i < len; i++)
        if ((bytes[i] & TAIL_MASK) != TAIL)
            return 0;
    return len;
}

/* Names of files may be of any bytes; JSON is UTF-8. */
static void text_write(FILE *stream, const char *text)
{
    fputc('"', stream);
    while (*text != '\0') {
        size_t len = character_len(text);

        if (len == 0)
            fputs("\\ufffd", stream);
        else if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else if (len == 1 && *text < ' ')
            fprintf(stream, "\\u%04x", (unsigned)*text);
        else
            fwrite(text, 1, len, stream);
        text += len == 0 ? 1 : len;
    }
    fputc('"', stream);
}

static void member_write(FILE *stream, const char *key, const char *text)
{
    fprintf(stream, "\"%s\": ", key);
    text_write(stream, text);
}

static void number_write(FILE *stream, double number)
{
    /* JSON knows no others. */
    if (isfinite(number))
        fprintf(stream, "%.6g", number);
    else
        fputs("null", stream);
}

static void value_write(
    FILE *stream, const struct row *row, const struct column *column)
{
    double number = 0.0;

    if (column->kind == COLUMN_TEXT) {
        text_write(stream, column_text(row, column));
        return;
    }
    number = column_number(row, column, 0);
    if (column->kind == COLUMN_FLAG) {
        fputs(number != 0.0 ? "true" : "false", stream);
    } else if (column->kind == COLUMN_PAIR) {
        fputc('[', stream);
        number_write(stream, number);
        fputs(", ", stream);
        number_write(stream, column_number(row, column, 1));
        fputc(']', stream);
    } else if (column->kind == COLUMN_NUMBER) {
        number_write(stream, number);
    } else {
        fprintf(stream, "%.0f", number);
    }
}

static void row_write(FILE *stream, const struct row *row, bool is_first)
{
    fputs(is_first ? "\n{" : ",\n{", stream);
    for (unsigned i = 0; i < column_count; i++) {
        fprintf(stream, "%s\"%s\": ", i == 0 ? "" : ", ", columns[i].key);
        value_write(stream, row, &columns[i]);
    }
    fputc('}', stream);
}

static void run_write(FILE *stream, const struct results *results)
{
    const struct options *options = results->options;

    fputs("\"run\": {", stream);
    member_write(stream, "date", results->date);
    fputs(", ", stream);
    member_write(stream, "command", results->command);
    fputs(", ", stream);
    member_write(stream, "bench", options->bench);
    fputs(", ", stream);
    member_write(stream, "transport",
        options->transport == NULL ? "auto" : options->transport);
    fputs(", ", stream);
    member_write(stream, "via", results->via);
    fprintf(stream,
        ", \"ranks\": %d, \"nodes\": %d, \"quick\": %s, \"smoke\": %s, "
        "\"seconds\": %.3f},\n",
        results->rank_count, results->nodes,
        options->is_quick ? "true" : "false",
        options->is_smoke ? "true" : "false", results->seconds);
}

static void machine_write(FILE *stream, const struct machine *machine)
{
    const char *const versions[][2] = {
        {"amalgam", machine->amalgam},
        {"mpi", machine->mpi},
        {"libfabric", machine->libfabric},
        {"hwloc", machine->hwloc},
        {"compiler", machine->compiler},
        {"build", machine->build},
    };

    fputs("\"machine\": {", stream);
    member_write(stream, "host", machine->host);
    fputs(", ", stream);
    member_write(stream, "cpu", machine->cpu);
    fprintf(stream, ", \"cores\": %ld, \"memory_mib\": %ld, ", machine->cores,
        machine->memory_mib);
    member_write(stream, "kernel", machine->kernel);
    fputs("},\n\"versions\": {", stream);
    for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        fputs(i == 0 ? "" : ", ", stream);
        member_write(stream, versions[i][0], versions[i][1]);
    }
    fputs("},\n", stream);
}

static void ranks_write(FILE *stream, const struct results *results)
{
    fputs("\"ranks\": [", stream);
    for (int i = 0; i < results->rank_count; i++) {
        fprintf(stream, "%s\n{\"rank\": %d, ", i == 0 ? "" : ",", i);
        member_write(stream, "host", results->ranks[i].host);
        fputs(", ", stream);
        member_write(stream, "cores", results->ranks[i].cores);
        fputs(", ", stream);
        member_write(stream, "progress", results->ranks[i].progress);
        fputc('}', stream);
    }
    fputs("\n],\n", stream);
}

static void head_write(FILE *stream, const struct results *results)
{
    fprintf(stream,
        "{\"format\": \"amalgam_bench\", \"version\": 1, \"complete\": %s, ",
        results->is_complete ? "true" : "false");
    member_write(stream, "why", results->why);
    fputs(",\n", stream);
    run_write(stream, results);
    machine_write(stream, &results->machine);
    ranks_write(stream, results);
    fputs("\"warnings\": [", stream);
    for (unsigned i = 0; i < results->warning_count; i++) {
        fputs(i == 0 ? "" : ", ", stream);
        text_write(stream, results->warnings[i]);
    }
    fputs("],\n\"rows\": [", stream);
}

static void end_write(FILE *stream, const struct results *results)
{
    (void)results;
    fputs("\n]}\n", stream);
}

const struct results_form results_json = {
    .head = head_write,
    .row = row_write,
    .end = end_write,
};
