/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_hang: prints what processes of this node that use the library do, for
 * whom they wait, and the circles of ranks that wait for each other. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "show.h"

enum {
    EXIT_USAGE = 2,
    CIRCLE_MS = 1000, /* younger operations may still end by themselves */
};

/* An open class of a process. */
struct seen {
    struct amg_status *page; /* of the first class of a process; else shared */
    unsigned i;
    struct amg_status_facts facts;
    unsigned visit; /* number of the walk that came here; 0: none */
};

/* All classes that were found; grows. */
struct list {
    struct seen *all;
    size_t count;
};

static void usage(FILE *stream)
{
    fputs("amalgam_hang [--ask] PID... | all\n\n"
          "  PID    print what this process does\n"
          "  all    print all processes of this node that have a class open,\n"
          "         and the circles of ranks that wait for each other\n"
          "  --ask  also ask each of these ranks for a report in its log\n",
        stream);
}

/* Adds the open classes of a process, and maps its page until the end of this
 * program. False: no memory. */
static bool process_add(
    struct list *list, struct amg_status *page, bool is_asked)
{
    for (unsigned i = 0; i < AMG_STATUS_CLASSES; i++) {
        struct amg_status_facts facts;
        struct seen *all = NULL;

        if (!amg_status_read(page, i, &facts))
            continue;
        if (is_asked)
            atomic_store_explicit(
                &page->classes[i].asked, 1u, memory_order_release);
        all = realloc(list->all, (list->count + 1) * sizeof(*all));
        if (all == NULL)
            return false;
        list->all = all;
        all[list->count++] =
            (struct seen){.page = page, .i = i, .facts = facts};
    }
    return true;
}

/* The class of the rank that another class waits for, or NULL. */
static struct seen *next_of(const struct list *list, const struct seen *from)
{
    const struct amg_status_class *part = &from->page->classes[from->i];
    uint32_t to = from->facts.doing.to;

    if (to == AMG_STATUS_NOBODY || from->facts.doing.to_ms < CIRCLE_MS)
        return NULL;
    for (size_t k = 0; k < list->count; k++) {
        struct seen *other = &list->all[k];
        const struct amg_status_class *its = &other->page->classes[other->i];

        if (other->i == from->i && its->job == part->job &&
            its->size == part->size && its->rank == to)
            return other;
    }
    return NULL;
}

/* Walks along the waits from each class that no walk has met, and prints the
 * circle in which the walk ends. */
static void circles_print(struct list *list)
{
    for (size_t k = 0; k < list->count; k++) {
        unsigned visit = (unsigned)k + 1;
        struct seen *at = &list->all[k];
        const struct seen *first = NULL;

        while (at != NULL && at->visit == 0) {
            at->visit = visit;
            at = next_of(list, at);
        }
        if (at == NULL || at->visit != visit)
            continue;
        printf("circle: ");
        first = at;
        do {
            printf("rank %" PRIu32 " -> ", at->facts.doing.rank);
            at = next_of(list, at);
        } while (at != first);
        printf("rank %" PRIu32 ": each waits for the next\n",
            first->facts.doing.rank);
    }
}

/* Adds all processes of this node that may be read. False: no memory. */
static bool all_add(struct list *list, bool is_asked)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry = NULL;
    bool is_done = folder != NULL;

    while (is_done && (entry = readdir(folder)) != NULL) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        struct amg_status *page = NULL;

        if (isdigit((unsigned char)entry->d_name[0]) &&
            amg_status_find(pid, 0, &page) == HG_SUCCESS)
            is_done = process_add(list, page, is_asked);
    }
    if (folder != NULL)
        (void)closedir(folder);
    return is_done;
}

/* Adds a process. False: it cannot be read, and stderr has the cause. */
static bool pid_add(struct list *list, uint32_t pid, bool is_asked)
{
    struct amg_status *page = NULL;
    size_t before = list->count;
    hg_return_t rc = amg_status_find(pid, 0, &page);

    if (rc == HG_SUCCESS && process_add(list, page, is_asked) &&
        list->count > before)
        return true;
    show_missing("amalgam_hang", pid, rc == HG_SUCCESS ? HG_NOENTRY : rc);
    return false;
}

/* A process number, or 0. */
static uint32_t pid_of(const char *text)
{
    char *end = NULL;
    unsigned long pid = strtoul(text, &end, 10);

    return isdigit((unsigned char)text[0]) && *end == '\0' && pid <= INT32_MAX
               ? (uint32_t)pid
               : 0;
}

/* Are there arguments, and is each "--ask", a PID or the only "all"? */
static bool arguments_are_valid(int argc, char **argv, bool *ret_is_asked)
{
    unsigned pids = 0;
    unsigned alls = 0;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--ask") == 0)
            *ret_is_asked = true;
        else if (strcmp(argv[i], "all") == 0)
            alls++;
        else if (pid_of(argv[i]) != 0)
            pids++;
        else
            return false;
    return alls == 0 ? pids > 0 : alls == 1 && pids == 0;
}

int main(int argc, char **argv)
{
    struct list list = {.count = 0};
    bool is_asked = false;
    bool is_done = true;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (!arguments_are_valid(argc, argv, &is_asked)) {
        usage(stderr);
        return EXIT_USAGE;
    }
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "all") == 0)
            is_done = all_add(&list, is_asked);
        else if (pid_of(argv[i]) != 0)
            is_done = pid_add(&list, pid_of(argv[i]), is_asked) && is_done;
    for (size_t k = 0; k < list.count; k++)
        show_class(list.all[k].page, list.all[k].i, &list.all[k].facts);
    circles_print(&list);
    if (list.count == 0 && is_done)
        printf("no process here has a class open\n");
    free(list.all);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("amalgam_hang: stdout");
        is_done = false;
    }
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
