/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run: its documents (--json, --csv), its rows as a table, its
 * warnings, its exit code.
 *
 * After each row a document is written anew, to a file beside it that is then
 * renamed; so a reader finds a complete document at any time, whose head says
 * whether the run has ended. A file that is not regular (a pipe, a device)
 * cannot be replaced, and is written once, at the end.
 *
 * JSON is one object with a line for each row, for parsers and for tools that
 * read lines. In CSV, lines that begin with # describe the run; the first other
 * line names the columns. A pair has two columns: spread_q1 and spread_q3. All
 * text is ASCII. */
#include "jobs/bench/frame/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/proc.h"
#include "jobs/bench/frame/watch.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

enum {
    CONTROLS_MAX = 128,
    WARNINGS_MAX = 16,
    TEXT_CAP = 256,
    WORDS_CAP = 4300
};

static struct {
    struct world_rank *ranks; /* of the world */
    double start_us;
    unsigned rows;
    unsigned noisy; /* noisy rows */
    /* The different controls, to be explained below the table. */
    const char *controls[CONTROLS_MAX];
    unsigned control_count;
    char warnings[WARNINGS_MAX][TEXT_CAP];
    unsigned warning_count;
    bool is_over; /* no more rows come */
} report;

/* The head of a document. */
static struct head {
    const char *why;     /* why it is incomplete; "": it is complete */
    char date[TEXT_CAP]; /* start of the run: ISO 8601, UTC */
    double seconds;      /* since the start */
    const char *command;
    const char *bench;
    const char *transport;
    char via[TEXT_CAP]; /* what carried calls first; "": none yet */
    unsigned ranks;
    unsigned nodes;
    bool quick;
    bool smoke;
    char host[TEXT_CAP];
    char cpu[TEXT_CAP];
    unsigned cores;    /* that are online */
    size_t memory_mib; /* of the node */
    char kernel[TEXT_CAP];
    const char *amalgam;
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    const char *libfabric; /* version at build time; "none": without */
    const char *hwloc;
    const char *compiler;
    const char *build; /* CMake build type */
} head;

#define HEAD(kind, key) COLUMN(COLUMN_##kind, #key, struct head, key)
#define RANK(kind, key) COLUMN(COLUMN_##kind, #key, struct world_rank, key)

static const struct section {
    const char *name;
    struct column columns[11];
} sections[] = {
    {"run", {HEAD(CHARS, date), HEAD(TEXT, command), HEAD(TEXT, bench),
                HEAD(TEXT, transport), HEAD(CHARS, via), HEAD(COUNT, ranks),
                HEAD(COUNT, nodes), HEAD(FLAG, quick), HEAD(FLAG, smoke),
                HEAD(NUMBER, seconds)}},
    {"machine", {HEAD(CHARS, host), HEAD(CHARS, cpu), HEAD(COUNT, cores),
                    HEAD(SIZE, memory_mib), HEAD(CHARS, kernel)}},
    {"versions",
        {HEAD(TEXT, amalgam), HEAD(CHARS, mpi), HEAD(TEXT, libfabric),
            HEAD(TEXT, hwloc), HEAD(TEXT, compiler), HEAD(TEXT, build)}},
};

static const struct column rank_columns[] = {RANK(COUNT, rank),
    RANK(CHARS, host), RANK(CHARS, cores), RANK(CHARS, progress),
    {.key = NULL}};

/* A remark is a comment in CSV. */
enum form { JSON, CSV, FORMS, REMARK = FORMS };

/* A document: the texts of its rows, and where all of it goes. */
static struct document {
    const char *option; /* path that the user gave; NULL: not wanted */
    char path[PATH_MAX];
    char part[PATH_MAX + sizeof(".part")]; /* beside `path`; "": `path` is no
                                              regular file */
    FILE *rows;
    char *text; /* of the rows, `len` bytes */
    size_t len;
    bool is_broken; /* an error was printed */
} documents[FORMS];

static void text_write(FILE *stream, enum form form, const char *text)
{
    const char *quote = form == REMARK ? "" : "\"";

    fputs(quote, stream);
    for (; *text != '\0'; text++) {
        if (form == JSON && (*text == '"' || *text == '\\'))
            fputc('\\', stream);
        if (form == CSV && *text == '"')
            fputc('"', stream);
        fputc(*text >= ' ' && *text <= '~' ? *text : '?', stream);
    }
    fputs(quote, stream);
}

static void value_write(
    FILE *stream, enum form form, const void *of, const struct column *column)
{
    bool is_list = form == JSON && column->kind == COLUMN_PAIR;

    if (column->kind <= COLUMN_CHARS) {
        text_write(stream, form, column_text(of, column));
        return;
    }
    if (column->kind == COLUMN_FLAG && form == JSON) {
        fputs(column_number(of, column, 0) != 0.0 ? "true" : "false", stream);
        return;
    }
    fputs(is_list ? "[" : "", stream);
    for (unsigned i = 0; i < (column->kind == COLUMN_PAIR ? 2 : 1); i++) {
        double number = column_number(of, column, i);

        fputs(i == 0 ? "" : is_list ? ", " : ",", stream);
        if (isfinite(number))
            fprintf(
                stream, column->kind <= COLUMN_COUNT ? "%.0f" : "%.6g", number);
        else if (form == JSON)
            fputs("null", stream);
    }
    fputs(is_list ? "]" : "", stream);
}

/* Writes all `columns` of the struct `of`; in CSV without their names. */
static void values_write(
    FILE *stream, enum form form, const void *of, const struct column *columns)
{
    fputs(form == JSON ? "{" : "", stream);
    for (unsigned i = 0; columns[i].key != NULL; i++) {
        fputs(i == 0 ? "" : form == CSV ? "," : ", ", stream);
        if (form != CSV)
            fprintf(stream, form == JSON ? "\"%s\": " : "%s ", columns[i].key);
        value_write(stream, form, of, &columns[i]);
    }
    fputs(form == JSON ? "}" : "", stream);
}

/* Writes the facts of the run, and of its first `ranks` ranks. */
static void facts_write(FILE *stream, bool is_json, unsigned ranks)
{
    enum form form = is_json ? JSON : REMARK;

    for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        fprintf(stream, is_json ? ",\n\"%s\": " : "# %s: ", sections[i].name);
        values_write(stream, form, &head, sections[i].columns);
        fputs(is_json ? "" : "\n", stream);
    }
    fputs(is_json ? ",\n\"ranks\": [" : "", stream);
    for (unsigned i = 0; i < ranks; i++) {
        fputs(!is_json ? "# " : i == 0 ? "\n" : ",\n", stream);
        values_write(stream, form, &report.ranks[i], rank_columns);
        fputs(is_json ? "" : "\n", stream);
    }
    fputs(is_json ? "\n]" : "", stream);
}

static void head_write(FILE *stream, bool is_json)
{
    if (is_json) {
        fprintf(stream,
            "{\"format\": \"amalgam_bench\", \"version\": 1, \"complete\": %s, "
            "\"why\": ",
            head.why[0] == '\0' ? "true" : "false");
        text_write(stream, JSON, head.why);
    }
    facts_write(stream, is_json, head.ranks);
    fputs(is_json ? ",\n\"warnings\": [" : "", stream);
    for (unsigned i = 0; i < report.warning_count; i++) {
        fputs(!is_json ? "# warning: " : i == 0 ? "" : ", ", stream);
        text_write(stream, is_json ? JSON : REMARK, report.warnings[i]);
        fputs(is_json ? "" : "\n", stream);
    }
    fputs(is_json ? "],\n\"rows\": [" : "", stream);
    for (unsigned i = 0; !is_json && row_columns[i].key != NULL; i++)
        fprintf(stream,
            row_columns[i].kind == COLUMN_PAIR ? "%s%s_q1,%s_q3" : "%s%s",
            i == 0 ? "" : ",", row_columns[i].key, row_columns[i].key);
    fputs(is_json ? "" : "\n", stream);
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
    bool is_json = document == &documents[JSON];
    bool is_plain = document->part[0] != '\0';
    FILE *file = NULL;
    bool is_whole = true;

    if (document->option == NULL || (!is_plain && !report.is_over))
        return true;
    file = fopen(is_plain ? document->part : document->path, "w");
    if (file == NULL)
        return document_break(document);
    head_write(file, is_json);
    fflush(document->rows);
    fwrite(document->text, 1, document->len, file);
    if (is_json)
        fputs("\n]}\n", file);
    else if (head.why[0] == '\0')
        fputs("# complete\n", file);
    else
        fprintf(file, "# incomplete: %s\n", head.why);
    is_whole = ferror(file) == 0;
    is_whole = fclose(file) == 0 && is_whole;
    if (is_whole && is_plain)
        is_whole = rename(document->part, document->path) == 0;
    if (!is_whole && is_plain)
        remove(document->part);
    return is_whole || document_break(document);
}

/* Finds the file of the document, or the target if the user named a link, and
 * writes the document without rows. */
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

static void document_add(struct document *document, const struct row *row)
{
    bool is_json = document == &documents[JSON];

    if (document->option == NULL)
        return;
    fputs(!is_json ? "" : report.rows == 1 ? "\n" : ",\n", document->rows);
    values_write(document->rows, is_json ? JSON : CSV, row, row_columns);
    fputs(is_json ? "" : "\n", document->rows);
    document_write(document);
}

/* Sets all facts that are known before the first measurement. */
static void head_fill(const struct options *options, const char *command,
    const struct world *world)
{
    size_t pages = (size_t)sysconf(_SC_PHYS_PAGES);
    time_t now = time(NULL);
    struct utsname names = {.nodename = ""};
    struct tm utc;
    int len = 0;

    head = (struct head){
        .why = "the run was under way, or was killed",
        .command = command,
        .bench = options->bench,
        .transport = options->transport == NULL ? "auto" : options->transport,
        .ranks = (unsigned)world->size,
        .nodes = (unsigned)world->nodes,
        .quick = options->is_quick,
        .smoke = options->is_smoke,
        .cpu = "unknown",
        .cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
        .memory_mib = pages / 1024 * (size_t)sysconf(_SC_PAGESIZE) / 1024,
        .amalgam = BENCH_VERSION,
        .libfabric = BENCH_LIBFABRIC,
        .hwloc = BENCH_HWLOC,
        .compiler = COMPILER,
        .build = BENCH_BUILD,
    };
    strftime(head.date, TEXT_CAP, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    (void)proc_scan("/proc/cpuinfo", "model name : %255[^\n]", head.cpu);
    uname(&names);
    snprintf(head.host, TEXT_CAP, "%s", names.nodename);
    snprintf(head.kernel, TEXT_CAP, "%s %s %s", names.sysname, names.release,
        names.machine);
    MPI_Get_library_version(head.mpi, &len);
    head.mpi[strcspn(head.mpi, "\n")] = '\0';
    for (char *at = head.mpi; (at = strchr(at, '\t')) != NULL;)
        *at = ' ';
}

int report_open(const struct options *options, const char *command,
    const struct world *world)
{
    report.start_us = clock_now_us();
    report.ranks = world->ranks;
    head_fill(options, command, world);
    if (options->expect != NULL && !expect_open(options->expect))
        return REPORT_EXIT_USAGE;
    /* Two documents cannot share a file. */
    if (options->json != NULL && options->csv != NULL &&
        strcmp(options->json, options->csv) == 0) {
        fprintf(stderr,
            "amalgam_bench: --json and --csv are both %s: name two\n",
            options->csv);
        return REPORT_EXIT_USAGE;
    }
    return document_open(&documents[JSON], options->json) &&
                   document_open(&documents[CSV], options->csv)
               ? EXIT_SUCCESS
               : REPORT_EXIT_USAGE;
}

void report_progress(int rank, const char *progress)
{
    char *own = report.ranks[rank].progress;

    if (own[0] == '\0')
        snprintf(own, WORLD_TEXT_CAP, "%s", progress);
}

void report_warn(const char *format, ...)
{
    va_list args;

    if (report.warning_count == WARNINGS_MAX)
        return;
    va_start(args, format);
    vsnprintf(report.warnings[report.warning_count++], TEXT_CAP, format, args);
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
    facts_write(stdout, false, 2);
    printf("\n%-13s %9s %-4s %-7s %-4s %8s %8s %8s %8s %8s %7s   %-13s %-11s "
           "%-4s %s\n",
        "op", "size", "win", "memory", "unit", "value", "p50 us", "p99 us",
        "p99.9", "control", "ratio", "spread", "against", "via", "cores");
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
    if (head.via[0] == '\0')
        snprintf(head.via, sizeof(head.via), "%s", row->via);
    if (report.rows++ == 0)
        head_print();
    row_print(&whole);
    report.noisy += whole.is_noisy ? 1 : 0;
    head.seconds = (clock_now_us() - report.start_us) * 1e-6;
    for (enum form form = JSON; form < FORMS; form++)
        document_add(&documents[form], &whole);
    expect_row(&whole);
}

/* The lines below the table. */
static void table_end(void)
{
    if (report.rows > 0)
        puts("\nratio: ours / control in the row's unit, the median over the "
             "batches; spread: its\nquartiles. A ratio below 1 is good for us "
             "(microseconds), KiB and %, above 1 for GB/s\nand k/s (thousands "
             "a second). !: the control's own figures vary by more than 25 %,\n"
             "or the host of the machine took more than 5 % of its cores. via: "
             "what carried\nthe calls; cores: those of rank 0 and rank 1, if "
             "these are pinned.\n\nControls, by the same ranks in turn:");
    for (unsigned i = 0; i < report.control_count; i++)
        printf("  (%u) %s\n", i + 1, report.controls[i]);
    fflush(stdout);
    for (unsigned i = 0; i < report.warning_count; i++)
        fprintf(stderr, "amalgam_bench: warning: %s\n", report.warnings[i]);
}

int report_close(const char *failure)
{
    const char *why =
        failure == NULL && limit_was_reached() ? "time limit" : failure;
    unsigned unmet = 0;

    if (report.noisy > 0)
        report_warn("%u of %u rows are noisy (!): their control varied by more "
                    "than %.0f %%, or the host of this machine took more than "
                    "%.0f %% of its cores; is it idle?",
            report.noisy, report.rows, ROWS_NOISY * 100.0, ROWS_STOLEN * 100.0);
    table_end();
    unmet = expect_close(head.bench, head.transport, why == NULL);
    if (why != NULL)
        fprintf(stderr, "amalgam_bench: incomplete (%s)\n", why);
    head.seconds = (clock_now_us() - report.start_us) * 1e-6;
    head.why = why == NULL ? "" : why;
    report.is_over = true;
    for (enum form form = JSON; form < FORMS; form++)
        document_write(&documents[form]);
    if (documents[JSON].is_broken || documents[CSV].is_broken ||
        failure != NULL)
        return EXIT_FAILURE;
    if (unmet > 0)
        return REPORT_EXIT_EXPECT;
    return why != NULL ? WATCH_EXIT + SIGALRM : EXIT_SUCCESS;
}
