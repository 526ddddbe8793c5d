/* SPDX-License-Identifier: BSD-3-Clause */
/* The form of all results: rows, as a table and as JSON.
 *
 * The JSON is one array with a row in each line, so that a reader of lines
 * finds its way as well as a parser. */
#include "rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONTROLS_MAX = 32 };

static struct {
    const char *path;
    FILE *json;
    unsigned count;
    /* The different controls, to be explained below the table. */
    const char *controls[CONTROLS_MAX];
    unsigned control_count;
} rows;

bool rows_open(const char *json)
{
    rows.path = json;
    if (json == NULL)
        return true;
    rows.json = fopen(json, "w");
    if (rows.json == NULL) {
        fprintf(stderr, "amalgam_bench: cannot write %s: %s\n", json,
            strerror(errno));
        return false;
    }
    fputs("[", rows.json);
    return true;
}

static void json_text(const char *key, const char *text)
{
    fprintf(rows.json, "\"%s\": \"", key);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            fprintf(rows.json, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(rows.json, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, rows.json);
    fputs("\", ", rows.json);
}

static void json_add(const struct row *row)
{
    fputs(rows.count == 0 ? "\n{" : ",\n{", rows.json);
    json_text("bench", row->bench);
    json_text("transport", row->transport);
    json_text("via", row->via);
    json_text("cores", row->cores);
    json_text("op", row->op);
    fprintf(rows.json, "\"size\": %zu, \"window\": %u, \"peers\": %u, ",
        row->size, row->window, row->peers);
    json_text("memory", row->memory);
    json_text("unit", row->unit);
    fprintf(rows.json, "\"value\": %.6g, \"p50_us\": %.6g, \"p99_us\": %.6g, ",
        row->value, row->p50_us, row->p99_us);
    json_text("against", row->against);
    json_text("control", row->control);
    fprintf(rows.json, "\"control_value\": %.6g, \"ratio\": %.4f, ",
        row->control_value, row->ratio);
    json_text("better", row->better);
    fprintf(rows.json, "\"batches\": %u, \"spread\": [%.4f, %.4f]}",
        row->batches, row->spread[0], row->spread[1]);
}

/* The number of the row's control in the list below the table. */
static unsigned control_number(const char *control)
{
    for (unsigned i = 0; i < rows.control_count; i++)
        if (strcmp(rows.controls[i], control) == 0)
            return i + 1;
    if (rows.control_count < CONTROLS_MAX)
        rows.controls[rows.control_count++] = control;
    return rows.control_count;
}

void rows_add(const struct row *row)
{
    if (rows.count == 0)
        printf("%-13s %9s %3s %-7s %-4s %8s %8s %8s %8s %8s %7s  %-13s %-11s "
               "%-4s %s\n",
            "op", "size", "win", "memory", "unit", "value", "p50 us", "p99 us",
            "p99.9", "control", "ratio", "spread", "against", "via", "cores");
    printf("%-13s %9zu %3u %-7s %-4s %8.3f %8.2f %8.2f %8.2f %8.3f %7.3f  "
           "%.3f-%-7.3f %-11s %-4s %s  (%u)\n",
        row->op, row->size, row->window, row->memory, row->unit, row->value,
        row->p50_us, row->p99_us, row->p999_us, row->control_value, row->ratio,
        row->spread[0], row->spread[1], row->against, row->via, row->cores,
        control_number(row->control));
    fflush(stdout);
    if (rows.json != NULL)
        json_add(row);
    rows.count++;
}

bool rows_close(void)
{
    bool is_whole = true;

    if (rows.count > 0)
        puts("\nratio: ours / control in the row's unit, the median over the "
             "batches; spread: its\nquartiles. Good is below 1 for us "
             "(microseconds) KiB and %, above 1 for GB/s and k/s\n(thousands a "
             "second). via: what carried the calls; cores: those of rank 0 and "
             "rank 1,\nwhen they are pinned.\n\n"
             "Controls, by the same two ranks in turn:");
    for (unsigned i = 0; i < rows.control_count; i++)
        printf("  (%u) %s\n", i + 1, rows.controls[i]);
    if (rows.json == NULL)
        return true;
    fputs("\n]\n", rows.json);
    is_whole = ferror(rows.json) == 0;
    if (fclose(rows.json) != 0)
        is_whole = false;
    rows.json = NULL;
    if (!is_whole)
        fprintf(stderr, "amalgam_bench: %s is not whole: %s\n", rows.path,
            strerror(errno));
    return is_whole;
}
