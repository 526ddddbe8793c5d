/* SPDX-License-Identifier: BSD-3-Clause */
/* The results as comma-separated values.
 *
 * Lines that begin with # tell of the run; the first other line names the
 * columns. A pair has two of them: spread_q1 and spread_q3. */
#include <math.h>
#include <string.h>

#include "jobs/bench/frame/columns.h"
#include "jobs/bench/frame/results.h"

static void text_write(FILE *stream, const char *text)
{
    bool is_plain = strpbrk(text, ",\"\r\n") == NULL;

    if (!is_plain)
        fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    if (!is_plain)
        fputc('"', stream);
}

/* Nothing where there is no number, as JSON has null. */
static void number_write(FILE *stream, double number)
{
    if (isfinite(number))
        fprintf(stream, "%.6g", number);
}

static void value_write(
    FILE *stream, const struct row *row, const struct column *column)
{
    switch (column->kind) {
    case COLUMN_TEXT:
        text_write(stream, column_text(row, column));
        break;
    case COLUMN_PAIR:
        number_write(stream, column_number(row, column, 0));
        fputc(',', stream);
        number_write(stream, column_number(row, column, 1));
        break;
    case COLUMN_NUMBER:
        number_write(stream, column_number(row, column, 0));
        break;
    default:
        fprintf(stream, "%.0f", column_number(row, column, 0));
    }
}

static void row_write(FILE *stream, const struct row *row, bool is_first)
{
    (void)is_first;
    for (unsigned i = 0; i < column_count; i++) {
        if (i > 0)
            fputc(',', stream);
        value_write(stream, row, &columns[i]);
    }
    fputc('\n', stream);
}

static void head_write(FILE *stream, const struct results *results)
{
    const struct options *options = results->options;
    const struct machine *machine = &results->machine;

    fprintf(stream, "# amalgam_bench %s, %s, %.3f s\n# command: %s\n",
        options->bench, results->date, results->seconds, results->command);
    fprintf(stream, "# transport: %s, carried by %s; %d ranks, %d nodes%s%s\n",
        options->transport == NULL ? "auto" : options->transport,
        results->via[0] == '\0' ? "nothing" : results->via, results->rank_count,
        results->nodes, options->is_quick ? "; quick" : "",
        options->is_smoke ? "; smoke" : "");
    fprintf(stream, "# machine: %s, %s, %ld cores, %ld MiB, %s\n",
        machine->host, machine->cpu, machine->cores, machine->memory_mib,
        machine->kernel);
    fprintf(stream,
        "# versions: amalgam %s, mpi %s, libfabric %s, hwloc %s, %s, %s\n",
        machine->amalgam, machine->mpi, machine->libfabric, machine->hwloc,
        machine->compiler, machine->build);
    for (int i = 0; i < results->rank_count; i++)
        fprintf(stream, "# rank %d: %s, cores %s, progress %s\n", i,
            results->ranks[i].host, results->ranks[i].cores,
            results->ranks[i].progress);
    for (unsigned i = 0; i < results->warning_count; i++)
        fprintf(stream, "# warning: %s\n", results->warnings[i]);
    for (unsigned i = 0; i < column_count; i++) {
        fprintf(stream, "%s%s", i == 0 ? "" : ",", columns[i].key);
        if (columns[i].kind == COLUMN_PAIR)
            fprintf(stream, "_q1,%s_q3", columns[i].key);
    }
    fputc('\n', stream);
}

static void end_write(FILE *stream, const struct results *results)
{
    if (results->is_complete)
        fputs("# complete\n", stream);
    else
        fprintf(stream, "# incomplete: %s\n", results->why);
}

const struct results_form results_csv = {
    .head = head_write,
    .row = row_write,
    .end = end_write,
};
