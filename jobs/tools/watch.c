/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_info --watch: prints the status page of a process again and again,
 * with its counters as totals and as rates. */
#include <inttypes.h>
#include <string.h>

#include "base/process.h"
#include "core/class.h"
#include "show.h"

enum { LOOK_MS = 100 }; /* between two checks whether the process lives */

/* The counters of the page at one time. */
struct reading {
    uint64_t at_ns;
    uint64_t counters[AMG_STATUS_CLASSES][AMG_STATUS_COUNTERS];
};

/* Prints the counters that are not 0; `old`: the reading before, or NULL. */
static void counters_print(
    const uint64_t *now, const uint64_t *old, uint64_t passed_ns)
{
    double seconds = (double)passed_ns / 1e9;

    for (unsigned i = 0; i < AMG_COUNTERS; i++) {
        const char *name = amg_counter_name(i);

        if (name == NULL || now[i] == 0)
            continue;
        printf("    %-26s %14" PRIu64, name, now[i]);
        if (old != NULL && now[i] >= old[i] && seconds > 0)
            printf(" %14.1f per s", (double)(now[i] - old[i]) / seconds);
        printf("\n");
    }
}

/* Reads and prints all classes. */
static void page_print(const struct amg_status *page, struct reading *reading)
{
    struct reading old = *reading;
    struct amg_status_facts facts;

    reading->at_ns = amg_clock_ns();
    for (unsigned i = 0; i < AMG_STATUS_CLASSES; i++) {
        if (!amg_status_read(page, i, &facts))
            continue;
        show_class(page, i, &facts);
        memcpy(reading->counters[i], facts.counters, sizeof(facts.counters));
        counters_print(facts.counters, old.at_ns == 0 ? NULL : old.counters[i],
            reading->at_ns - old.at_ns);
    }
    printf("\n");
}

static bool is_alive(const struct amg_status *page)
{
    return amg_process_life(page->pid, page->start_time) != AMG_LIFE_DEAD;
}

/* Waits for the next reading. False: the process has ended. */
static bool next_await(const struct amg_status *page, uint64_t at_ns)
{
    while (is_alive(page) && amg_clock_ns() < at_ns)
        amg_clock_sleep_ns(LOOK_MS * AMG_NS_PER_MS);
    return is_alive(page);
}

bool watch_run(uint32_t pid, double seconds)
{
    struct reading reading = {.at_ns = 0};
    struct amg_status *page = NULL;
    hg_return_t rc = amg_status_find(pid, 0, &page);

    if (rc != HG_SUCCESS) {
        show_missing("amalgam_info", pid, rc);
        return false;
    }
    do
        page_print(page, &reading);
    while (fflush(stdout) == 0 &&
           next_await(page, reading.at_ns + (uint64_t)(seconds * 1e9)));
    if (ferror(stdout)) {
        perror("amalgam_info: stdout");
        rc = HG_OTHER_ERROR;
    } else {
        printf("process %" PRIu32 " has ended\n", pid);
    }
    amg_status_drop(page);
    return rc == HG_SUCCESS && fflush(stdout) == 0;
}
