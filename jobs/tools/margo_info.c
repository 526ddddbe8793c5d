/* SPDX-License-Identifier: BSD-3-Clause */
/* margo-info: prints a table of the transports that Margo can be opened with
 * here, each with the address of an instance, or the reason why it cannot be
 * opened. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "margo.h"
#include "trial.h"

enum { EXIT_USAGE = 2, NAME_CAP = 128, NAMES_MAX = 256, ADDRESS_CAP = 512 };

/* Init strings without duplicates. */
struct names {
    char names[NAMES_MAX][NAME_CAP];
    unsigned count;
};

static void usage(FILE *stream)
{
    fputs("margo-info [ADDRESS...]\n\n"
          "Opens an instance of Margo over each ADDRESS; default: over all "
          "that this build\noffers. Prints a table with the argument of "
          "margo_init(), and the address of the\ninstance or the reason why "
          "it cannot be opened.\n\n"
          "Exit code: 0: all ADDRESSes, or by default at least one, can be "
          "opened; 1: not;\n2: invalid arguments.\n",
        stream);
}

static void names_add(struct names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return;
    if (names->count < NAMES_MAX)
        (void)snprintf(names->names[names->count++], NAME_CAP, "%s", name);
}

/* Adds the protocols that HG lists for a query. */
static void names_ask(struct names *names, const char *query)
{
    struct na_protocol_info *first = NULL;

    if (HG_Get_na_protocol_info(query, &first) != HG_SUCCESS)
        return;
    for (const struct na_protocol_info *at = first; at != NULL; at = at->next) {
        char name[NAME_CAP];

        /* The list says "na+self", which cannot be opened. */
        if (strcmp(at->protocol_name, "self") == 0)
            (void)snprintf(name, sizeof(name), "self");
        else
            (void)snprintf(
                name, sizeof(name), "%s+%s", at->class_name, at->protocol_name);
        names_add(names, name);
    }
    HG_Free_na_protocol_info(first);
}

/* Adds all protocols; the queries name the drivers in libraries of their own,
 * so that these are loaded. */
static void names_find(struct names *names)
{
    HG_Set_log_level("none");
    names_ask(names, NULL);
    names_ask(names, "ofi");
    names_ask(names, "mpi");
}

/* Called in the child of a trial: prints the address as the last line. */
static int try_here(const char *name)
{
    margo_instance_id mid = margo_init(name, MARGO_SERVER_MODE, 0, 0);
    hg_addr_t self = HG_ADDR_NULL;
    char address[ADDRESS_CAP];
    hg_size_t len = sizeof(address);
    hg_return_t rc = HG_SUCCESS;

    if (mid == MARGO_INSTANCE_NULL)
        return EXIT_FAILURE;
    rc = margo_addr_self(mid, &self);
    if (rc == HG_SUCCESS)
        rc = margo_addr_to_string(mid, address, &len, self);
    (void)margo_addr_free(mid, self);
    margo_finalize(mid);
    if (rc != HG_SUCCESS) {
        fprintf(stderr, "no address: %s\n", HG_Error_to_string(rc));
        return EXIT_FAILURE;
    }
    printf("%s\n", address);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Tries all; returns how many can be opened. */
static unsigned names_try(const struct names *names)
{
    bool has_colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    const char *good = has_colour ? "\033[32m" : "";
    const char *bad = has_colour ? "\033[31m" : "";
    const char *plain = has_colour ? "\033[0m" : "";
    unsigned opened = 0;
    int width = (int)strlen("margo_init()");

    for (unsigned i = 0; i < names->count; i++)
        if ((int)strlen(names->names[i]) > width)
            width = (int)strlen(names->names[i]);
    printf("%-*s  %s\n", width, "margo_init()", "address, or reason");
    for (unsigned i = 0; i < names->count; i++) {
        char words[ADDRESS_CAP];
        bool is_open = trial_run(names->names[i], words, sizeof(words));

        printf("%s%-*s  %s%s%s\n", is_open ? good : bad, width, names->names[i],
            is_open ? "" : "no: ", words, plain);
        (void)fflush(stdout);
        opened += is_open;
    }
    return opened;
}

int main(int argc, char **argv)
{
    static struct names names;
    unsigned opened = 0;

    if (argc == 3 && strcmp(argv[1], TRIAL_WORD) == 0)
        return try_here(argv[2]);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return EXIT_SUCCESS;
        }
        if (argv[i][0] == '-' || argv[i][0] == '\0' ||
            strlen(argv[i]) >= NAME_CAP) {
            usage(stderr);
            return EXIT_USAGE;
        }
        names_add(&names, argv[i]);
    }
    if (argc == 1)
        names_find(&names);
    opened = names_try(&names);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("margo-info: stdout");
        return EXIT_FAILURE;
    }
    if (argc == 1)
        return opened > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    return opened == names.count ? EXIT_SUCCESS : EXIT_FAILURE;
}
