/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents of a run: --json and --csv.
 *
 * A file is written anew after each row, beside its old self and then renamed
 * into its place, so a reader finds a whole document at any time, of which the
 * head says whether the run had come to its end. A file that is not plain (a
 * pipe, a device) cannot be replaced, and is written once, at the end.
 *
 * JSON is one object, of which each row has a line, so that a reader of lines
 * finds its way as well as a parser. In CSV, lines that begin with # tell of
 * the run; the first other line names the columns. A pair has two of them:
 * spread_q1 and spread_q3. */
#include "jobs/bench/frame/document.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COLUMN(kind, key, member)                                              \
    {                                                                          \
        key, kind, offsetof(struct row, member)                                \
    }

const struct column columns[] = {
    COLUMN(COLUMN_TEXT, "bench", bench),
    COLUMN(COLUMN_TEXT, "transport", transport),
    COLUMN(COLUMN_TEXT, "via", via),
    COLUMN(COLUMN_TEXT, "cores", cores),
    COLUMN(COLUMN_TEXT, "op", op),
    COLUMN(COLUMN_SIZE, "size", size),
    COLUMN(COLUMN_COUNT, "window", window),
    COLUMN(COLUMN_COUNT, "threads", threads),
    COLUMN(COLUMN_COUNT, "ranks", ranks),
    COLUMN(COLUMN_COUNT, "peers", peers),
    COLUMN(COLUMN_TEXT, "memory", memory),
    COLUMN(COLUMN_TEXT, "unit", unit),
    COLUMN(COLUMN_NUMBER, "value", value),
    COLUMN(COLUMN_NUMBER, "p50_us", p50_us),
    COLUMN(COLUMN_NUMBER, "p99_us", p99_us),
    COLUMN(COLUMN_TEXT, "against", against),
    COLUMN(COLUMN_TEXT, "control", control),
    COLUMN(COLUMN_NUMBER, "control_value", control_value),
    COLUMN(COLUMN_NUMBER, "control_p50_us", control_p50_us),
    COLUMN(COLUMN_NUMBER, "control_p99_us", control_p99_us),
    COLUMN(COLUMN_NUMBER, "ratio", ratio),
    COLUMN(COLUMN_TEXT, "better", better),
    COLUMN(COLUMN_COUNT, "batches", batches),
    COLUMN(COLUMN_COUNT, "runs", runs),
    COLUMN(COLUMN_PAIR, "spread", spread),
    COLUMN(COLUMN_NUMBER, "control_spread", control_spread),
    COLUMN(COLUMN_NUMBER, "stolen", stolen),
    COLUMN(COLUMN_FLAG, "noisy", is_noisy),
};

const unsigned column_count = sizeof(columns) / sizeof(columns[0]);

static const void *member_of(const struct row *row, const struct column *column)
{
    return (const char *)row + column->offset;
}

const char *column_text(const struct row *row, const struct column *column)
{
    const char *const *text = member_of(row, column);

    return *text == NULL ? "" : *text;
}

double column_number(
    const struct row *row, const struct column *column, unsigned index)
{
    const void *member = member_of(row, column);

    switch (column->kind) {
    case COLUMN_SIZE:
        return (double)*(const size_t *)member;
    case COLUMN_COUNT:
        return (double)*(const unsigned *)member;
    case COLUMN_FLAG:
        return *(const bool *)member ? 1.0 : 0.0;
    default:
        return ((const double *)member)[index];
    }
}

enum {
    ASCII_END = 0x80,
    LEAD_2 = 0xc2, /* the least that leads two bytes, three, four; RFC 3629 */
    LEAD_3 = 0xe0,
    LEAD_4 = 0xf0,
    LEAD_END = 0xf5,
    TAIL_MASK = 0xc0, /* of the bytes that follow */
    TAIL = 0x80,
};

/* The length of the character; 0: these bytes are none of UTF-8. */
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
static void json_text(FILE *stream, const char *text)
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

/* "key": "text", and so on, up to a key that is NULL. */
static void json_members(FILE *stream, ...)
{
    const char *comma = "";
    const char *key = NULL;
    va_list args;

    va_start(args, stream);
    while ((key = va_arg(args, const char *)) != NULL) {
        fprintf(stream, "%s\"%s\": ", comma, key);
        json_text(stream, va_arg(args, const char *));
        comma = ", ";
    }
    va_end(args);
}

static const char *json_flag(bool flag)
{
    return flag ? "true" : "false";
}

static const char *transport_of(const struct results *results)
{
    const char *asked = results->options->transport;

    return asked == NULL ? "auto" : asked;
}

static void json_head(FILE *stream, const struct results *results)
{
    const struct options *options = results->options;
    const struct machine *machine = &results->machine;

    fprintf(stream,
        "{\"format\": \"amalgam_bench\", \"version\": 1, \"complete\": %s, ",
        json_flag(results->why[0] == '\0'));
    json_members(stream, "why", results->why, NULL);
    fputs(",\n\"run\": {", stream);
    json_members(stream, "date", results->date, "command", results->command,
        "bench", options->bench, "transport", transport_of(results), "via",
        results->via, NULL);
    fprintf(stream,
        ", \"ranks\": %d, \"nodes\": %d, \"quick\": %s, \"smoke\": %s, "
        "\"seconds\": %.3f},\n\"machine\": {",
        results->rank_count, results->nodes, json_flag(options->is_quick),
        json_flag(options->is_smoke), results->seconds);
    json_members(stream, "host", machine->host, "cpu", machine->cpu, NULL);
    fprintf(stream, ", \"cores\": %ld, \"memory_mib\": %ld, ", machine->cores,
        machine->memory_mib);
    json_members(stream, "kernel", machine->kernel, NULL);
    fputs("},\n\"versions\": {", stream);
    json_members(stream, "amalgam", machine->amalgam, "mpi", machine->mpi,
        "libfabric", machine->libfabric, "hwloc", machine->hwloc, "compiler",
        machine->compiler, "build", machine->build, NULL);
    fputs("},\n\"ranks\": [", stream);
    for (int i = 0; i < results->rank_count; i++) {
        fprintf(stream, "%s\n{\"rank\": %d, ", i == 0 ? "" : ",", i);
        json_members(stream, "host", results->ranks[i].host, "cores",
            results->ranks[i].cores, "progress", results->ranks[i].progress,
            NULL);
        fputc('}', stream);
    }
    fputs("\n],\n\"warnings\": [", stream);
    for (unsigned i = 0; i < results->warning_count; i++) {
        fputs(i == 0 ? "" : ", ", stream);
        json_text(stream, results->warnings[i]);
    }
    fputs("],\n\"rows\": [", stream);
}

static void json_end(FILE *stream, const struct results *results)
{
    (void)results;
    fputs("\n]}\n", stream);
}

static void csv_text(FILE *stream, const char *text)
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

static void csv_head(FILE *stream, const struct results *results)
{
    const struct options *options = results->options;
    const struct machine *machine = &results->machine;

    fprintf(stream, "# amalgam_bench %s, %s, %.3f s\n# command: %s\n",
        options->bench, results->date, results->seconds, results->command);
    fprintf(stream, "# transport: %s, carried by %s; %d ranks, %d nodes%s%s\n",
        transport_of(results),
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

static void csv_end(FILE *stream, const struct results *results)
{
    if (results->why[0] == '\0')
        fputs("# complete\n", stream);
    else
        fprintf(stream, "# incomplete: %s\n", results->why);
}

/* One form of the document. */
static const struct form {
    void (*head)(FILE *stream, const struct results *results);
    void (*end)(FILE *stream, const struct results *results);
    void (*text)(FILE *stream, const char *text);
    bool has_keys;        /* in each row, in front of the values */
    const char *row[2];   /* around each row */
    const char *first;    /* in front of all rows but the first */
    const char *pair[3];  /* around, and between its numbers */
    const char *flags[2]; /* false, true */
    const char *none;     /* for what is no finite number */
} json = {json_head, json_end, json_text, true, {"\n{", "}"}, ",",
    {"[", ", ", "]"}, {"false", "true"}, "null"},
  csv = {csv_head, csv_end, csv_text, false, {"", "\n"}, "", {"", ",", ""},
      {"0", "1"}, ""};

static void number_write(const struct form *form, FILE *stream, double number)
{
    if (isfinite(number))
        fprintf(stream, "%.6g", number);
    else
        fputs(form->none, stream);
}

static void value_write(const struct form *form, FILE *stream,
    const struct row *row, const struct column *column)
{
    switch (column->kind) {
    case COLUMN_TEXT:
        form->text(stream, column_text(row, column));
        break;
    case COLUMN_FLAG:
        fputs(form->flags[column_number(row, column, 0) != 0.0], stream);
        break;
    case COLUMN_PAIR:
        fputs(form->pair[0], stream);
        number_write(form, stream, column_number(row, column, 0));
        fputs(form->pair[1], stream);
        number_write(form, stream, column_number(row, column, 1));
        fputs(form->pair[2], stream);
        break;
    case COLUMN_NUMBER:
        number_write(form, stream, column_number(row, column, 0));
        break;
    default:
        fprintf(stream, "%.0f", column_number(row, column, 0));
    }
}

static void row_write(
    const struct form *form, FILE *stream, const struct row *row, bool is_first)
{
    fprintf(stream, "%s%s", is_first ? "" : form->first, form->row[0]);
    for (unsigned i = 0; i < column_count; i++) {
        if (i > 0)
            fputs(form->has_keys ? ", " : ",", stream);
        if (form->has_keys)
            fprintf(stream, "\"%s\": ", columns[i].key);
        value_write(form, stream, row, &columns[i]);
    }
    fputs(form->row[1], stream);
}

/* A document: the texts of its rows, and where all of it goes. */
struct document {
    const char *option; /* as the user named it; NULL: not wanted */
    const struct form *form;
    char path[PATH_MAX];
    char part[PATH_MAX + sizeof(".part")]; /* beside it; "": what is there is no
                                              plain file */
    FILE *rows;
    char *text; /* of the rows, `len` bytes */
    size_t len;
    unsigned row_count;
    bool is_broken; /* told already */
};

static const struct results *results;
static struct document documents[2];

/* Says once what is wrong with a file. */
static bool document_break(struct document *document)
{
    if (!document->is_broken)
        fprintf(stderr, "amalgam_bench: cannot write %s: %s\n",
            document->option, strerror(errno));
    document->is_broken = true;
    return false;
}

static bool document_write(struct document *document)
{
    bool is_plain = document->part[0] != '\0';
    FILE *file = NULL;
    bool is_whole = true;

    if (document->option == NULL)
        return true;
    if (!is_plain && !results->is_over)
        return true;
    file = fopen(is_plain ? document->part : document->path, "w");
    if (file == NULL)
        return document_break(document);
    fflush(document->rows);
    document->form->head(file, results);
    fwrite(document->text, 1, document->len, file);
    document->form->end(file, results);
    is_whole = ferror(file) == 0;
    if (fclose(file) != 0)
        is_whole = false;
    if (is_whole && is_plain)
        is_whole = rename(document->part, document->path) == 0;
    if (!is_whole && is_plain)
        remove(document->part);
    return is_whole ? true : document_break(document);
}

/* Finds the file of the document: the file itself if the user named a link. */
static bool document_find(struct document *document)
{
    FILE *made = NULL;
    struct stat old;

    if (stat(document->option, &old) != 0) {
        made = fopen(document->option, "a");
        if (made == NULL || fclose(made) != 0)
            return document_break(document);
        old.st_mode = S_IFREG;
    }
    if (realpath(document->option, document->path) == NULL)
        return document_break(document);
    if (!S_ISREG(old.st_mode))
        return true;
    snprintf(document->part, sizeof(document->part), "%s.part", document->path);
    return true;
}

static bool document_open(
    struct document *document, const char *option, const struct form *form)
{
    *document = (struct document){.option = option, .form = form};
    if (option == NULL)
        return true;
    if (!document_find(document))
        return false;
    document->rows = open_memstream(&document->text, &document->len);
    if (document->rows == NULL)
        return document_break(document);
    return document_write(document);
}

static void document_add(struct document *document, const struct row *row)
{
    if (document->option == NULL)
        return;
    row_write(document->form, document->rows, row, document->row_count == 0);
    document->row_count++;
    document_write(document);
}

static bool document_close(struct document *document)
{
    bool is_whole = document_write(document) && !document->is_broken;

    if (document->rows != NULL)
        fclose(document->rows);
    free(document->text);
    document->option = NULL;
    document->rows = NULL;
    document->text = NULL;
    return is_whole;
}

/* Two documents in one file would be none. */
static bool files_differ(const char *json, const char *csv)
{
    struct stat old;

    if (json == NULL || csv == NULL || strcmp(json, csv) != 0 ||
        (stat(json, &old) == 0 && !S_ISREG(old.st_mode)))
        return true;
    fprintf(
        stderr, "amalgam_bench: --json and --csv are both %s: name two\n", csv);
    return false;
}

bool documents_open(const struct results *of)
{
    const struct options *options = of->options;

    results = of;
    return files_differ(options->json, options->csv) &&
           document_open(&documents[0], options->json, &json) &&
           document_open(&documents[1], options->csv, &csv);
}

void documents_add(const struct row *row)
{
    for (unsigned i = 0; i < 2; i++)
        document_add(&documents[i], row);
}

const char *documents_path(void)
{
    for (unsigned i = 0; i < 2; i++)
        if (documents[i].part[0] != '\0')
            return documents[i].option;
    return NULL;
}

bool documents_close(void)
{
    bool is_whole = document_close(&documents[0]);

    return document_close(&documents[1]) && is_whole;
}
