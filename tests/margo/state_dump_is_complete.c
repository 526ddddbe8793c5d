/* SPDX-License-Identifier: BSD-3-Clause */
/* A state dump contains the configuration, the pools and the streams, has the
 * right file name, and fails for a file that cannot be written. */
#include <unistd.h>

#include "one.h"

static char *file_read(const char *name)
{
    static char text[1 << 20];
    FILE *file = fopen(name, "r");
    size_t len = 0;

    CHECK(file != NULL);
    len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = '\0';
    CHECK(fclose(file) == 0);
    return text;
}

int main(void)
{
    char folder[] = "/tmp/margo_dump_XXXXXX";
    margo_instance_id mid = one_open("{\"use_progress_thread\":true}");
    char *name = NULL;
    const char *text = NULL;

    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(mkdtemp(folder) != NULL);
    CHECK(setenv("MARGO_OUTPUT_DIR", folder, 1) == 0);
    CHECK(margo_state_dump(mid, "state.txt", 1, &name) == 0);
    CHECK(strncmp(name, folder, strlen(folder)) == 0);
    CHECK(strcmp(name + strlen(name) - 4, ".txt") == 0);
    text = file_read(name);
    CHECK(strstr(text, "# Configuration") != NULL);
    CHECK(strstr(text, "\"progress_pool\"") != NULL);
    CHECK(strstr(text, "# Pool 1, __pool_1__") != NULL);
    CHECK(strstr(text, "0, __primary__:") != NULL);
    CHECK(unlink(name) == 0);
    free(name);
    CHECK(rmdir(folder) == 0);
    CHECK(margo_state_dump(mid, "state.txt", 0, NULL) == -1);
    CHECK(one_said("was not written"));
    CHECK(margo_state_dump(mid, "", 0, NULL) == -1);
    CHECK(margo_state_dump(MARGO_INSTANCE_NULL, "x", 0, NULL) == -1);
    margo_finalize(mid);
    return 0;
}
