/* SPDX-License-Identifier: BSD-3-Clause */
/* A process with a status page that says what the arguments say, for hang.sh
 * and watch.sh: status_maker JOB RANK TO, where TO is a rank or "nobody". Each
 * line on stdin adds 200 to the first counter, and is answered with a line that
 * says whether the page was asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { SIZE = 4, STEP = 200, OLD_MS = 60000 };

int main(int argc, char **argv)
{
    const char *const names[2] = {"put", "swap"};
    struct amg_doing doing = {
        .to = AMG_STATUS_NOBODY, .stage = AMG_STAGE_QUEUED, .is_served = 1};
    struct amg_status_class *part = NULL;
    uint64_t counters[2] = {100, 0};
    char line[16];

    if (argc != 4)
        return EXIT_FAILURE;
    part = amg_status_open((uint32_t)atoi(argv[2]), SIZE,
        (uint64_t)atoi(argv[1]), "shm to 3 ranks");
    if (part == amg_status_none())
        return EXIT_FAILURE;
    if (strcmp(argv[3], "nobody") != 0) {
        doing.to = (uint32_t)atoi(argv[3]);
        doing.to_ms = doing.handler_ms = OLD_MS;
        doing.to_call = 0x77;
        doing.running = 1;
        doing.handler = 0x78;
    }
    amg_status_mark("step 12");
    do {
        amg_status_write(part, amg_clock_ns(), &doing, counters, 2, names);
        printf("asked %u\n", (unsigned)part->asked);
        fflush(stdout);
        counters[0] += STEP;
    } while (fgets(line, sizeof(line), stdin) != NULL);
    return EXIT_SUCCESS;
}
