/* SPDX-License-Identifier: BSD-3-Clause */
/* Printing of the status page of a process. */
#include "show.h"

#include <inttypes.h>
#include <signal.h>

void show_missing(const char *program, uint32_t pid, hg_return_t rc)
{
    const char *why = "has no class open";

    if (kill((pid_t)pid, 0) != 0 && rc == HG_NOENTRY)
        why = "does not exist";
    else if (rc == HG_PERMISSION)
        why = "is of another user";
    else if (rc == HG_PROTONOSUPPORT)
        why = "has a library of another version";
    fprintf(stderr, "%s: process %" PRIu32 " %s\n", program, pid, why);
}

void show_class(const struct amg_status *page, unsigned i,
    const struct amg_status_facts *facts)
{
    const struct amg_status_class *part = &page->classes[i];
    const struct amg_doing *doing = &facts->doing;
    char text[AMG_DOING_TEXT_CAP];

    if (part->size > 0)
        printf("rank %" PRIu32 " of %" PRIu32 " ", part->rank, part->size);
    else
        printf("class %u ", i);
    printf("(pid %" PRIu32 ", %s on %s): %s\n", page->pid, page->program,
        page->host, part->reach);
    printf("    %s\n", amg_doing_state(doing, facts->names[0], text));
    amg_doing_waits(doing, facts->names[1], text);
    if (text[0] != '\0')
        printf("    %s\n", text);
    if ((doing->from & AMG_FROM_LEFT) != 0)
        printf("    has left its peers: the class is being closed\n");
}
