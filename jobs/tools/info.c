/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_info: prints what this build offers, the properties of a class, and
 * where the threads of the ranks of a node run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mercury.h"
#include "affinity/bind.h"
#include "ranks.h"
#include "show.h"
#include "writers.h"

enum { EXIT_USAGE = 2, SECONDS_MAX = 86400 };

struct options {
    const char *transport;
    const char *xml; /* NULL: no topology */
    bool is_job;     /* a class of amalgam_init(), not of HG_Init() */
    bool is_json;
    bool is_help;
    uint32_t watched; /* pid for --watch; 0: none */
    double seconds;   /* between two readings */
};

static void usage(FILE *stream)
{
    fputs(
        "amalgam_info [--job] [-t TRANSPORT] [--json] [--xml FILE]\n"
        "amalgam_info --watch PID [-i SECONDS]\n\n"
        "  -t TRANSPORT  open a class over TRANSPORT; default: the library\n"
        "                chooses\n"
        "  --job         open one class for all ranks of the job, as\n"
        "                amalgam_init does; default: one per process, as\n"
        "                HG_Init does\n"
        "  --json        print one JSON document instead of text\n"
        "  --xml FILE    also write the node of rank 0, with its ranks and "
        "the\n"
        "                threads of the library, as XML of hwloc; to draw it:\n"
        "                lstopo -i FILE node.svg\n"
        "  --watch PID   print what the process PID of this node does, until "
        "it\n"
        "                ends, every second or every SECONDS\n",
        stream);
}

/* A number from `min` to `max`; -1: `text` is none. */
static double number_read(const char *text, double min, double max)
{
    char *end = NULL;
    double number = strtod(text, &end);

    return *end == '\0' && number >= min && number <= max ? number : -1;
}

/* False: invalid arguments. */
static bool options_read(int argc, char **argv, struct options *ret_options)
{
    struct options options = {.transport = ranks_transport(), .seconds = 1};
    double pid = 0;

    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc && argv[i + 1][0] != '\0';

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            options.is_help = true;
        else if (strcmp(argv[i], "--json") == 0)
            options.is_json = true;
        else if (strcmp(argv[i], "--job") == 0)
            options.is_job = true;
        else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
            options.transport = argv[++i];
        else if (strcmp(argv[i], "--xml") == 0 && has_value)
            options.xml = argv[++i];
        else if (strcmp(argv[i], "--watch") == 0 && has_value)
            pid = number_read(argv[++i], 1, INT32_MAX);
        else if (strcmp(argv[i], "-i") == 0 && has_value)
            options.seconds = number_read(argv[++i], 0.1, SECONDS_MAX);
        else
            return false;
    }
    if (pid < 0 || options.seconds < 0)
        return false;
    options.watched = (uint32_t)pid;
    *ret_options = options;
    return true;
}

/* Called by rank 0: writes the report in all requested forms. */
static bool report_write(
    const struct report *report, const struct options *options)
{
    struct map map;
    bool is_done = map_make(&map, report);

    if (is_done && options->is_json)
        is_done = json_write(report);
    else if (is_done)
        text_class(report, &map);
    if (!is_done)
        fputs("amalgam_info: no memory\n", stderr);
    else if (options->xml != NULL)
        is_done = topology_write(report, &map, options->xml);
    map_fini(&map);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("amalgam_info: stdout");
        is_done = false;
    }
    return is_done;
}

/* Called by all ranks: makes the report, which rank 0 writes. */
static bool class_report(hg_class_t *cls, const struct options *options)
{
    struct report report;
    bool is_done = false;

    is_done = report_make(&report, cls, options->transport);
    if (!is_done)
        fputs("amalgam_info: no memory\n", stderr);
    if (is_done && report.rank == 0) {
        if (!options->is_json)
            text_build();
        is_done = report_write(&report, options);
    }
    report_fini(&report);
    return is_done;
}

/* Opens a class and reports on it. All ranks close it, also after errors. */
static bool info_run(const struct options *options)
{
    /* Opened before any output: until then a process does not know its rank. */
    hg_class_t *cls = options->is_job ? ranks_open(options->transport)
                                      : HG_Init(options->transport, HG_TRUE);
    bool is_done = cls != NULL && class_report(cls, options);

    if (cls == NULL && !options->is_json)
        text_build();
    if (options->is_job)
        return ranks_close(cls) && is_done;
    return cls != NULL && HG_Finalize(cls) == HG_SUCCESS && is_done;
}

/* Why this build cannot serve an option; NULL: it can serve all. */
static const char *missing(const struct options *options)
{
    if (options->is_json && !json_is_there())
        return "--json: this build is without json-c; configure it with "
               "-DAMALGAM_JSON=ON";
    if (options->is_job && !ranks_has_job())
        return "--job: this build is without MPI; configure it with "
               "-DAMALGAM_MPI=ON";
    if (options->xml != NULL && !topology_is_there())
        return "--xml: this build is without hwloc; configure it with "
               "-DAMALGAM_HWLOC=ON";
    return NULL;
}

int main(int argc, char **argv)
{
    struct options options;

    if (!options_read(argc, argv, &options)) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (options.is_help) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (missing(&options) != NULL) {
        fprintf(stderr, "amalgam_info: %s\n", missing(&options));
        return EXIT_USAGE;
    }
    if (options.watched != 0)
        return watch_run(options.watched, options.seconds) ? EXIT_SUCCESS
                                                           : EXIT_FAILURE;
    /* Reads the binding before MPI may change it. */
    (void)amg_bind_process();
    return info_run(&options) ? EXIT_SUCCESS : EXIT_FAILURE;
}
