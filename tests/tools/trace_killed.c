/* SPDX-License-Identifier: BSD-3-Clause */
/* For trace_killed.sh: makes COUNT marks "mark N" in the folder of its
 * argument, waits until the file has MARKS of them, and is killed. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "amalgam_trace.h"

enum { COUNT = 5000, EVENT_LEN = 40 };

/* Length of the only file in the folder. */
static long length(const char *folder)
{
    char path[4096];
    struct stat facts = {.st_size = 0};
    struct dirent *entry = NULL;
    DIR *dir = opendir(folder);

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            (void)stat(path, &facts);
    }
    if (dir != NULL)
        closedir(dir);
    return (long)facts.st_size;
}

int main(int argc, char **argv)
{
    char text[32];

    if (argc != 2 || amalgam_trace_start(argv[1], 1) != HG_SUCCESS)
        return EXIT_FAILURE;
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof(text), "mark %d", i);
        amalgam_trace_mark(text);
    }
    while (length(argv[1]) < (long)COUNT * EVENT_LEN)
        usleep(1000);
    raise(SIGKILL);
    return EXIT_FAILURE;
}
