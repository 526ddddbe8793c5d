/* SPDX-License-Identifier: BSD-3-Clause */
/* All that a run says of itself: its head, its rows and its end.
 *
 * A file is written anew after each row, beside its old self and then renamed
 * into its place: who reads it finds a whole document at any time, of which the
 * head says whether the run had come to its end. What is no plain file (a pipe,
 * a device) cannot be replaced, and is written once, at the end. */
#include "jobs/bench/frame/results.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "jobs/bench/base/clock.h"

#define WHY_UNDER_WAY "it was under way, or ended without a word"

/* A document: the texts of its rows, and where all of it goes. */
struct document {
    const char *option; /* as the user named it; NULL: not wanted */
    const struct results_form *form;
    char path[PATH_MAX];
    char part[PATH_MAX + sizeof(".part")]; /* beside it; "": what is there is no
                                              plain file */
    FILE *rows;
    char *text; /* of the rows, `len` bytes */
    size_t len;
    unsigned row_count;
    bool is_broken; /* told already */
};

static struct {
    struct results all;
    double start_us;
    struct document json;
    struct document csv;
} run;

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
    if (!is_plain && strcmp(run.all.why, WHY_UNDER_WAY) == 0)
        return true;
    file = fopen(is_plain ? document->part : document->path, "w");
    if (file == NULL)
        return document_break(document);
    fflush(document->rows);
    document->form->head(file, &run.all);
    fwrite(document->text, 1, document->len, file);
    document->form->end(file, &run.all);
    is_whole = ferror(file) == 0;
    if (fclose(file) != 0)
        is_whole = false;
    if (is_whole && is_plain)
        is_whole = rename(document->part, document->path) == 0;
    if (!is_whole && is_plain)
        remove(document->part);
    return is_whole ? true : document_break(document);
}

/* Where the document goes: the file itself where the user named a link. */
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

static bool document_open(struct document *document, const char *option,
    const struct results_form *form)
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
    document->form->row(document->rows, row, document->row_count == 0);
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

static void seconds_set(void)
{
    run.all.seconds = (clock_now_us() - run.start_us) * 1e-6;
}

bool results_open(const struct options *options, const char *command,
    struct results_rank *ranks, int rank_count, int nodes)
{
    time_t now = time(NULL);
    struct tm utc;

    run.all = (struct results){.options = options,
        .nodes = nodes,
        .ranks = ranks,
        .rank_count = rank_count,
        .why = WHY_UNDER_WAY};
    run.start_us = clock_now_us();
    snprintf(run.all.command, sizeof(run.all.command), "%s", command);
    strftime(run.all.date, sizeof(run.all.date), "%Y-%m-%dT%H:%M:%SZ",
        gmtime_r(&now, &utc));
    machine_read(&run.all.machine);
    return files_differ(options->json, options->csv) &&
           document_open(&run.json, options->json, &results_json) &&
           document_open(&run.csv, options->csv, &results_csv);
}

void results_say_via(const char *via)
{
    if (run.all.via[0] == '\0')
        snprintf(run.all.via, sizeof(run.all.via), "%s", via);
}

void results_say_progress(int rank, const char *progress)
{
    char *own = run.all.ranks[rank].progress;

    if (own[0] == '\0')
        snprintf(own, RESULTS_NAME_CAP, "%s", progress);
}

void results_say_core(int rank, int core)
{
    snprintf(run.all.ranks[rank].cores, RESULTS_NAME_CAP, "%d", core);
}

void results_warn(const char *format, ...)
{
    char *warning = run.all.warnings[run.all.warning_count];
    va_list args;

    if (run.all.warning_count == RESULTS_WARNINGS_MAX)
        return;
    va_start(args, format);
    vsnprintf(warning, RESULTS_WARNING_CAP, format, args);
    va_end(args);
    run.all.warning_count++;
}

void results_add(const struct row *row)
{
    run.all.row_count++;
    run.all.noisy_count += row->is_noisy ? 1 : 0;
    seconds_set();
    machine_read_loaded(&run.all.machine);
    document_add(&run.json, row);
    document_add(&run.csv, row);
}

const struct results *results_get(void)
{
    return &run.all;
}

const char *results_path(void)
{
    if (run.json.part[0] != '\0')
        return run.json.option;
    return run.csv.part[0] != '\0' ? run.csv.option : NULL;
}

bool results_close(const char *why)
{
    bool is_json_whole = false;

    seconds_set();
    run.all.is_complete = why == NULL;
    run.all.why = why == NULL ? "" : why;
    is_json_whole = document_close(&run.json);
    return document_close(&run.csv) && is_json_whole;
}
