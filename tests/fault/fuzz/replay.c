/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a target on all inputs of its corpus, without libFuzzer. Takes files, or
 * folders of them; prints the name of each input before it runs, so that the
 * last line of a failed run names the culprit. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { PATH_CAP = 4096 };

static unsigned replayed;

static void file_replay(const char *path, size_t len)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(len + 1);

    if (file == NULL || data == NULL || fread(data, 1, len, file) != len) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    /* Of exact size, for the sanitizers. */
    data = realloc(data, len > 0 ? len : 1);
    FUZZ_CHECK(data != NULL);
    fprintf(stderr, "replay: %s\n", path);
    FUZZ_CHECK(LLVMFuzzerTestOneInput(data, len) == 0);
    free(data);
    replayed++;
}

/* `path` is a file, or a folder of files. */
static void replay(const char *path)
{
    char inner[PATH_CAP];
    struct dirent *entry = NULL;
    struct stat stat_of;
    DIR *folder = NULL;

    if (stat(path, &stat_of) == 0 && S_ISREG(stat_of.st_mode)) {
        file_replay(path, (size_t)stat_of.st_size);
        return;
    }
    folder = opendir(path);
    if (folder == NULL) {
        fprintf(stderr, "replay: no file and no folder: %s\n", path);
        exit(EXIT_FAILURE);
    }
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (stat(inner, &stat_of) == 0 && S_ISREG(stat_of.st_mode))
            file_replay(inner, (size_t)stat_of.st_size);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    const uint8_t nothing = 0;

    LLVMFuzzerInitialize(&argc, &argv);
    FUZZ_CHECK(LLVMFuzzerTestOneInput(&nothing, 0) == 0);
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    if (replayed == 0) {
        fprintf(stderr, "replay: no inputs; name files or folders\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
