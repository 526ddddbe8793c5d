/* SPDX-License-Identifier: BSD-3-Clause */
/* Invalid settings of progress threads and their cores are logged and ignored:
 * bad_progress_setting_logged LINE... A class configured by the environment
 * opens, calls and answers on each rank, and each LINE is part of a warning, or
 * of a line at level info, of each rank; for "none" there is no warning. A
 * class configured by its options does the same. */
#include <stdlib.h>
#include <string.h>

#include "log_kept.h"
#include "ranks.h"

static void class_use(const struct amalgam_options *options)
{
    struct ranks all;

    ranks_open_with(&all, MPI_COMM_WORLD, options);
    ranks_exchange(&all);
    ranks_close(&all);
}

/* Settings as in the environment, and an option of a wrong size. */
static void options_use(void)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    struct amalgam_progress_options progress =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;

    options.progress = &progress;
    progress.progress = AMALGAM_PROGRESS_THREAD;
    progress.progress_cpus = "no such core";
    class_use(&options);
    CHECK(log_has("\"no such core\""));
    progress.size++;
    CHECK(amalgam_init(MPI_COMM_SELF, "auto", &options) == NULL);
    CHECK(log_has("AMALGAM_PROGRESS_OPTIONS_INITIALIZER"));
}

int main(int argc, char **argv)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_limit(55);
    HG_Set_log_level("info"); /* rank 0 alone warns of what all ranks share */
    HG_Set_log_func(log_keep);
    class_use(NULL);
    for (int i = 1; i < argc; i++) {
        bool is_there = strcmp(argv[i], "none") == 0 ? !log_has("warning")
                                                     : log_has(argv[i]);

        if (!is_there)
            fprintf(stderr, "\"%s\" is not in:\n%s\n", argv[i], log_text);
        CHECK(is_there);
    }
    options_use();
    HG_Set_log_func(NULL);
    return ranks_stop();
}
