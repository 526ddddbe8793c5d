/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run: its documents (--json, --csv), its rows as a table, its
 * warnings, its exit code.
 *
 * A document is written anew after each row, beside its old self and then
 * renamed into its place, so a reader finds a whole one at any time, of which
 * the head says whether the run had come to its end. A file that is not plain
 * (a pipe, a device) cannot be replaced, and is written once, at the end.
 *
 * JSON is one object, of which each row has a line, so that a reader of lines
 * finds its way as well as a parser. In CSV, lines that begin with # tell of
 * the run; the first other line names the columns. A pair has two of them:
 * spread_q1 and spread_q3. */
#include "jobs/bench/frame/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/expect.h"
#include "jobs/bench/frame/watch.h"

enum { CONTROLS_MAX = 128, WORDS_CAP = 4300 };

static struct {
    double start_us;
    unsigned rows;
    unsigned noisy; /* of these */
    /* The different controls, to be explained below the table. */
    const char *controls[CONTROLS_MAX];
    unsigned control_count;
} report;

enum {
    REPORT_WARNING_CAP = 256,
    REPORT_WARNINGS_MAX = 16,
};

/* The head of a document. */
struct results {
    const struct options *options;
    char command[REPORT_COMMAND_CAP];
    char date[MACHINE_NAME_CAP]; /* when it began: ISO 8601, UTC */
    double seconds;              /* since then */
    int nodes;
    struct machine_rank *ranks;
    int rank_count;
    char via[MACHINE_NAME_CAP]; /* what carried calls first; "": none yet */
    struct machine machine;
    const char *why; /* it is incomplete; "": it is complete */
    bool is_over;    /* no more rows come */
    char warnings[REPORT_WARNINGS_MAX][REPORT_WARNING_CAP];
    unsigned warning_count;
};

enum form { JSON, CSV, FORMS };

/* A document: the texts of its rows, and where all of it goes. */
struct document {
    const char *option; /* as the user named it; NULL: not wanted */
    char path[PATH_MAX];
    char part[PATH_MAX + sizeof(".part")]; /* beside it; "": what is there is no
                                              plain file */
    FILE *rows;
    char *text; /* of the rows, `len` bytes */
    size_t len;
    unsigned row_count;
    bool is_broken; /* told already */
};

static struct results results;
static struct document documents[FORMS];

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

static void csv_text(FILE *stream, const char *text)
{
    const char *quote = strpbrk(text, ",\"\r\n") == NULL ? "" : "\"";

    fputs(quote, stream);
    for (; *text != '\0'; text++)
        fprintf(stream, *text == '"' ? "\"\"" : "%c", *text);
    fputs(quote, stream);
}

/* Writes `format`: %q is a text in quotes, %b a flag, %d a long, %f a double, '
 * a quote, and the rest what stands there. */
static void json_put(FILE *stream, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            fputc(*format == '\'' ? '"' : *format, stream);
            continue;
        }
        switch (*++format) {
        case 'q':
            json_text(stream, va_arg(args, const char *));
            break;
        case 'b':
            fputs(va_arg(args, int) ? "true" : "false", stream);
            break;
        case 'd':
            fprintf(stream, "%ld", va_arg(args, long));
            break;
        default:
            fprintf(stream, "%.3f", va_arg(args, double));
        }
    }
    va_end(args);
}

static const char *transport_asked(void)
{
    const char *asked = results.options->transport;

    return asked == NULL ? "auto" : asked;
}

static void json_head(FILE *stream)
{
    const struct options *options = results.options;
    const struct machine *machine = &results.machine;

    json_put(stream,
        "{'format': 'amalgam_bench', 'version': 1, 'complete': %b, 'why': %q,\n"
        "'run': {'date': %q, 'command': %q, 'bench': %q, 'transport': %q, "
        "'via': %q, 'ranks': %d, 'nodes': %d, 'quick': %b, 'smoke': %b, "
        "'seconds': %f},\n",
        results.why[0] == '\0', results.why, results.date, results.command,
        options->bench, transport_asked(), results.via,
        (long)results.rank_count, (long)results.nodes, options->is_quick,
        options->is_smoke, results.seconds);
    json_put(stream,
        "'machine': {'host': %q, 'cpu': %q, 'cores': %d, 'memory_mib': %d, "
        "'kernel': %q},\n'versions': {'amalgam': %q, 'mpi': %q, 'libfabric': "
        "%q, 'hwloc': %q, 'compiler': %q, 'build': %q},\n'ranks': [",
        machine->host, machine->cpu, machine->cores, machine->memory_mib,
        machine->kernel, machine->amalgam, machine->mpi, machine->libfabric,
        machine->hwloc, machine->compiler, machine->build);
    for (int i = 0; i < results.rank_count; i++) {
        const struct machine_rank *rank = &results.ranks[i];

        fputs(i == 0 ? "\n" : ",\n", stream);
        json_put(stream,
            "{'rank': %d, 'host': %q, 'cores': %q, 'progress': %q}", (long)i,
            rank->host, rank->cores, rank->progress);
    }
    fputs("\n],\n\"warnings\": [", stream);
    for (unsigned i = 0; i < results.warning_count; i++) {
        fputs(i == 0 ? "" : ", ", stream);
        json_text(stream, results.warnings[i]);
    }
    fputs("],\n\"rows\": [", stream);
}

static void csv_head(FILE *stream)
{
    const struct options *options = results.options;
    const struct machine *machine = &results.machine;

    fprintf(stream, "# amalgam_bench %s, %s, %.3f s\n# command: %s\n",
        options->bench, results.date, results.seconds, results.command);
    fprintf(stream, "# transport: %s, carried by %s; %d ranks, %d nodes%s%s\n",
        transport_asked(), results.via[0] == '\0' ? "nothing" : results.via,
        results.rank_count, results.nodes, options->is_quick ? "; quick" : "",
        options->is_smoke ? "; smoke" : "");
    fprintf(stream, "# machine: %s, %s, %ld cores, %ld MiB, %s\n",
        machine->host, machine->cpu, machine->cores, machine->memory_mib,
        machine->kernel);
    fprintf(stream,
        "# versions: amalgam %s, mpi %s, libfabric %s, hwloc %s, %s, %s\n",
        machine->amalgam, machine->mpi, machine->libfabric, machine->hwloc,
        machine->compiler, machine->build);
    for (int i = 0; i < results.rank_count; i++)
        fprintf(stream, "# rank %d: %s, cores %s, progress %s\n", i,
            results.ranks[i].host, results.ranks[i].cores,
            results.ranks[i].progress);
    for (unsigned i = 0; i < results.warning_count; i++)
        fprintf(stream, "# warning: %s\n", results.warnings[i]);
    for (unsigned i = 0; i < column_count; i++)
        fprintf(stream,
            columns[i].kind == COLUMN_PAIR ? "%s%s_q1,%s_q3" : "%s%s",
            i == 0 ? "" : ",", columns[i].key, columns[i].key);
    fputc('\n', stream);
}

static void number_write(FILE *stream, enum form form, double number)
{
    if (isfinite(number))
        fprintf(stream, "%.6g", number);
    else if (form == JSON)
        fputs("null", stream);
}

static void value_write(FILE *stream, enum form form, const struct row *row,
    const struct column *column)
{
    double number =
        column->kind == COLUMN_TEXT ? 0.0 : column_number(row, column, 0);

    switch (column->kind) {
    case COLUMN_TEXT:
        (form == JSON ? json_text : csv_text)(stream, column_text(row, column));
        break;
    case COLUMN_FLAG:
        fputs(form == CSV     ? number != 0.0 ? "1" : "0"
              : number != 0.0 ? "true"
                              : "false",
            stream);
        break;
    case COLUMN_PAIR:
        fputs(form == JSON ? "[" : "", stream);
        number_write(stream, form, number);
        fputs(form == JSON ? ", " : ",", stream);
        number_write(stream, form, column_number(row, column, 1));
        fputs(form == JSON ? "]" : "", stream);
        break;
    case COLUMN_NUMBER:
        number_write(stream, form, number);
        break;
    default:
        fprintf(stream, "%.0f", number);
    }
}

static void row_write(
    FILE *stream, enum form form, const struct row *row, bool is_first)
{
    if (form == JSON)
        fputs(is_first ? "\n{" : ",\n{", stream);
    for (unsigned i = 0; i < column_count; i++) {
        if (form == JSON)
            fprintf(stream, "%s\"%s\": ", i == 0 ? "" : ", ", columns[i].key);
        else if (i > 0)
            fputc(',', stream);
        value_write(stream, form, row, &columns[i]);
    }
    fputs(form == JSON ? "}" : "\n", stream);
}

static enum form form_of(const struct document *document)
{
    return document == &documents[JSON] ? JSON : CSV;
}

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

    if (document->option == NULL || (!is_plain && !results.is_over))
        return true;
    file = fopen(is_plain ? document->part : document->path, "w");
    if (file == NULL)
        return document_break(document);
    fflush(document->rows);
    (form_of(document) == JSON ? json_head : csv_head)(file);
    fwrite(document->text, 1, document->len, file);
    if (form_of(document) == JSON)
        fputs("\n]}\n", file);
    else if (results.why[0] == '\0')
        fputs("# complete\n", file);
    else
        fprintf(file, "# incomplete: %s\n", results.why);
    is_whole = ferror(file) == 0;
    if (fclose(file) != 0)
        is_whole = false;
    if (is_whole && is_plain)
        is_whole = rename(document->part, document->path) == 0;
    if (!is_whole && is_plain)
        remove(document->part);
    return is_whole ? true : document_break(document);
}

/* Finds the file of the document, the file itself if the user named a link, and
 * begins it. */
static bool document_open(struct document *document, const char *option)
{
    FILE *made = NULL;
    struct stat old;

    *document = (struct document){.option = option};
    if (option == NULL)
        return true;
    if (stat(option, &old) != 0) {
        made = fopen(option, "a");
        if (made == NULL || fclose(made) != 0)
            return document_break(document);
        old.st_mode = S_IFREG;
    }
    if (realpath(option, document->path) == NULL)
        return document_break(document);
    if (S_ISREG(old.st_mode))
        snprintf(
            document->part, sizeof(document->part), "%s.part", document->path);
    document->rows = open_memstream(&document->text, &document->len);
    if (document->rows == NULL)
        return document_break(document);
    return document_write(document);
}

static bool documents_open(void)
{
    const char *json = results.options->json;
    const char *csv = results.options->csv;
    struct stat old;

    /* Two documents in one file would be none. */
    if (json != NULL && csv != NULL && strcmp(json, csv) == 0 &&
        (stat(json, &old) != 0 || S_ISREG(old.st_mode))) {
        fprintf(stderr,
            "amalgam_bench: --json and --csv are both %s: name "
            "two\n",
            csv);
        return false;
    }
    return document_open(&documents[JSON], json) &&
           document_open(&documents[CSV], csv);
}

static void documents_add(const struct row *row)
{
    for (enum form form = JSON; form < FORMS; form++) {
        struct document *document = &documents[form];

        if (document->option == NULL)
            continue;
        row_write(document->rows, form, row, document->row_count++ == 0);
        document_write(document);
    }
}

/* The file to look into when a run ended before its end; NULL: there is none,
 * or what was named is no plain file. */
static const char *documents_path(void)
{
    for (enum form form = JSON; form < FORMS; form++)
        if (documents[form].part[0] != '\0')
            return documents[form].option;
    return NULL;
}

/* False, with a line why, when a file is not whole. */
static bool documents_close(void)
{
    bool are_whole = true;

    for (enum form form = JSON; form < FORMS; form++) {
        struct document *document = &documents[form];

        if (!document_write(document) || document->is_broken)
            are_whole = false;
        if (document->rows != NULL)
            fclose(document->rows);
        free(document->text);
        *document = (struct document){.option = NULL};
    }
    return are_whole;
}

int report_open(const struct options *options, const char *command,
    const struct world *world, struct machine_rank *ranks)
{
    time_t now = time(NULL);
    struct tm utc;
    const char *path = NULL;
    char words[WORDS_CAP];

    if (ranks == NULL) {
        fputs("amalgam_bench: no memory for what the ranks are\n", stderr);
        return EXIT_FAILURE;
    }
    results = (struct results){.options = options,
        .nodes = world->nodes,
        .ranks = ranks,
        .rank_count = world->size,
        .why = "it was under way, or ended without a word"};
    report.start_us = clock_now_us();
    snprintf(results.command, sizeof(results.command), "%s", command);
    strftime(results.date, sizeof(results.date), "%Y-%m-%dT%H:%M:%SZ",
        gmtime_r(&now, &utc));
    machine_read(&results.machine);
    if ((options->expect != NULL && !expect_open(options->expect)) ||
        !documents_open())
        return REPORT_EXIT_USAGE;
    path = documents_path();
    snprintf(words, sizeof(words), "incomplete: what was measured is in %s",
        path == NULL ? "the rows above" : path);
    watch_speak(words);
    return EXIT_SUCCESS;
}

void report_progress(int rank, const char *progress)
{
    char *own = results.ranks[rank].progress;

    if (own[0] == '\0')
        snprintf(own, MACHINE_NAME_CAP, "%s", progress);
}

void report_core(int rank, int core)
{
    snprintf(results.ranks[rank].cores, MACHINE_NAME_CAP, "%d", core);
}

void report_warn(const char *format, ...)
{
    va_list args;

    if (results.warning_count == REPORT_WARNINGS_MAX)
        return;
    va_start(args, format);
    vsnprintf(results.warnings[results.warning_count++], REPORT_WARNING_CAP,
        format, args);
    va_end(args);
}

/* The number of the row's control in the list below the table. */
static unsigned control_number(const char *control)
{
    for (unsigned i = 0; i < report.control_count; i++)
        if (strcmp(report.controls[i], control) == 0)
            return i + 1;
    if (report.control_count < CONTROLS_MAX)
        report.controls[report.control_count++] = control;
    return report.control_count;
}

static void head_print(void)
{
    const char *transport = results.options->transport;
    const struct machine *machine = &results.machine;

    printf("%s, %s: %s, %ld cores, %s\n", results.date, machine->host,
        machine->cpu, machine->cores, machine->kernel);
    printf("Amalgam %s, %s, libfabric %s, hwloc %s, %s, %s\n", machine->amalgam,
        machine->mpi, machine->libfabric, machine->hwloc, machine->compiler,
        machine->build);
    printf("over %s, carried by %s, between",
        transport == NULL ? "auto" : transport, results.via);
    for (int i = 0; i < 2 && i < results.rank_count; i++)
        printf("%s rank %d (%s, cores %s, progress %s)", i == 0 ? "" : " and",
            i, results.ranks[i].host, results.ranks[i].cores,
            results.ranks[i].progress);
    printf(" of %d\n\n%-13s %9s %-4s %-7s %-4s %8s %8s %8s %8s %8s %7s   %-13s "
           "%-11s %-4s %s\n",
        results.rank_count, "op", "size", "win", "memory", "unit", "value",
        "p50 us", "p99 us", "p99.9", "control", "ratio", "spread", "against",
        "via", "cores");
}

static void row_print(const struct row *row)
{
    char window[32];
    char ranks[32] = "";

    if (row->ranks > 2)
        snprintf(ranks, sizeof(ranks), ", of %u ranks", row->ranks);
    snprintf(window, sizeof(window), row->threads > 1 ? "%ux%u" : "%u",
        row->window, row->threads);
    printf("%-13s %9zu %-4s %-7s %-4s %8.3f %8.2f %8.2f %8.2f %8.3f %7.3f%c  "
           "%.3f-%-7.3f %-11s %-4s %s%s  (%u)\n",
        row->op, row->size, window, row->memory, row->unit, row->value,
        row->p50_us, row->p99_us, row->p999_us, row->control_value, row->ratio,
        row->is_noisy ? '!' : ' ', row->spread[0], row->spread[1], row->against,
        row->via, row->cores, ranks, control_number(row->control));
    fflush(stdout);
}

void report_row(const struct row *row)
{
    struct row whole = *row;

    whole.memory = row->memory == NULL ? "host" : row->memory;
    whole.threads = row->threads == 0 ? 1 : row->threads;
    whole.ranks = row->ranks == 0 ? 2 : row->ranks;
    whole.runs = row->runs == 0 ? 1 : row->runs;
    whole.is_noisy = row->is_noisy || row_is_noisy(row);
    if (results.via[0] == '\0')
        snprintf(results.via, sizeof(results.via), "%s", row->via);
    if (report.rows++ == 0)
        head_print();
    row_print(&whole);
    report.noisy += whole.is_noisy ? 1 : 0;
    results.seconds = (clock_now_us() - report.start_us) * 1e-6;
    documents_add(&whole);
    expect_row(&whole);
}

/* The lines below the table. */
static void table_end(void)
{
    if (report.rows > 0)
        puts("\nratio: ours / control in the row's unit, the median over the "
             "batches; spread: its\nquartiles. Good is below 1 for us "
             "(microseconds), KiB and %, above 1 for GB/s and k/s\n(thousands "
             "a second). !: the control's own figures vary by more than 25 %, "
             "or the\nhost of the machine took more than 5 % of its cores. "
             "via: what\ncarried the calls; cores: those of rank 0 and rank 1, "
             "when they are pinned.\n\nControls, by the same ranks in turn:");
    for (unsigned i = 0; i < report.control_count; i++)
        printf("  (%u) %s\n", i + 1, report.controls[i]);
    fflush(stdout);
    for (unsigned i = 0; i < results.warning_count; i++)
        fprintf(stderr, "amalgam_bench: warning: %s\n", results.warnings[i]);
}

int report_close(const char *failure)
{
    const char *why =
        failure == NULL && limit_was_reached() ? "time limit" : failure;
    const char *path = documents_path();
    const char *transport = results.options->transport;
    unsigned unmet = 0;

    if (report.noisy > 0)
        report_warn("%u of %u rows are noisy (!): their control varied by more "
                    "than %.0f %%, or the host of this machine took more than "
                    "%.0f %% of its cores; is it idle?",
            report.noisy, report.rows, ROWS_NOISY * 100.0, ROWS_STOLEN * 100.0);
    table_end();
    unmet = expect_close(results.options->bench,
        transport == NULL ? "auto" : transport, why == NULL);
    if (why != NULL)
        fprintf(stderr, "amalgam_bench: incomplete (%s)%s%s\n", why,
            path == NULL ? "" : ": what was measured is in ",
            path == NULL ? "" : path);
    results.seconds = (clock_now_us() - report.start_us) * 1e-6;
    results.why = why == NULL ? "" : why;
    results.is_over = true;
    if (!documents_close() || failure != NULL)
        return EXIT_FAILURE;
    if (unmet > 0)
        return REPORT_EXIT_EXPECT;
    return why != NULL ? WATCH_EXIT + SIGALRM : EXIT_SUCCESS;
}
