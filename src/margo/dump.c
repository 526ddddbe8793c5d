/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instance is doing, as text in a file: for who looks for the reason of
 * a hang. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "margo-util.h"
#include "margo/describe.h"
#include "margo/instance.h"

enum { HOST_CAP = 256, PATH_CAP = 4096, TIME_CAP = 64 };

static void head_write(margo_instance_id mid, FILE *file)
{
    char host[HOST_CAP] = "";
    char when[TIME_CAP] = "";
    time_t now = time(NULL);
    struct tm parts;

    (void)gethostname(host, sizeof(host) - 1);
    if (localtime_r(&now, &parts) != NULL)
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &parts);
    fprintf(file,
        "# An instance of Margo %s, process %ld of %s, at %s\n\n"
        "calls under way: %u\nhandlers running: %u\n"
        "calls of HG_Progress: %" PRIu64 "\ncalls of HG_Trigger: %" PRIu64
        "\n\n",
        MARGO_VERSION, (long)getpid(), host, when,
        atomic_load_explicit(&mid->operations, memory_order_relaxed),
        atomic_load_explicit(&mid->handlers, memory_order_relaxed),
        margo_get_num_progress_calls(mid), margo_get_num_trigger_calls(mid));
}

static void config_write(margo_instance_id mid, FILE *file)
{
    struct json_object *json =
        amg_margo_describe(mid, MARGO_CONFIG_USE_NAMES | MARGO_CONFIG_AMALGAM);

    fprintf(file, "# Configuration\n\n%s\n\n",
        json == NULL
            ? "(no memory)"
            : json_object_to_json_string_ext(json,
                  JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(json);
}

static void pools_write(margo_instance_id mid, FILE *file)
{
    struct margo_pool_info info;

    for (uint32_t i = 0; margo_find_pool_by_index(mid, i, &info) == HG_SUCCESS;
         i++) {
        size_t ready = 0;
        size_t total = 0;

        (void)ABT_pool_get_size(info.pool, &ready);
        (void)ABT_pool_get_total_size(info.pool, &total);
        fprintf(file,
            "# Pool %" PRIu32 ", %s: %zu threads are ready, %zu wait\n\n", i,
            info.name, ready, total > ready ? total - ready : 0);
        (void)ABT_info_print_pool(file, info.pool);
        (void)ABT_info_print_thread_stacks_in_pool(file, info.pool);
        fputc('\n', file);
    }
}

static void streams_write(margo_instance_id mid, FILE *file)
{
    struct margo_xstream_info info;

    fputs("# Streams\n\n", file);
    for (uint32_t i = 0;
         margo_find_xstream_by_index(mid, i, &info) == HG_SUCCESS; i++) {
        fprintf(file, "%" PRIu32 ", %s:\n", i, info.name);
        (void)ABT_info_print_xstream(file, info.xstream);
    }
    fputc('\n', file);
}

/* "FILE", or "FILE-HOST-PID" with its ending behind that. False: too long. */
static bool name_resolve(
    const char *file_name, bool is_unique, char ret_name[PATH_CAP])
{
    const char *folder =
        file_name[0] == '/' ? NULL : amg_env_text(AMG_ENV_MARGO_OUTPUT_DIR);
    const char *slash = strrchr(file_name, '/');
    const char *end = strrchr(file_name, '.');
    char host[HOST_CAP] = "";
    char middle[HOST_CAP + TIME_CAP] = "";
    int len = 0;

    if (end == NULL || (slash != NULL && end < slash) || end == file_name)
        end = file_name + strlen(file_name);
    if (is_unique) {
        (void)gethostname(host, sizeof(host) - 1);
        (void)snprintf(middle, sizeof(middle), "-%s-%ld", host, (long)getpid());
    }
    len = snprintf(ret_name, PATH_CAP, "%s%s%.*s%s%s",
        folder != NULL ? folder : "", folder != NULL ? "/" : "",
        (int)(end - file_name), file_name, middle, end);
    return len > 0 && len < PATH_CAP;
}

/* -1: the log says why. */
static int dump_failed(
    margo_instance_id mid, const char *name, const char *reason)
{
    margo_error(mid, "the state was not written to '%.200s': %s", name, reason);
    return -1;
}

int margo_state_dump(margo_instance_id mid, const char *file_name, int uniquify,
    char **resolved_file_name)
{
    bool is_stdout = file_name != NULL && strcmp(file_name, "-") == 0;
    char name[PATH_CAP] = "-";
    char *copy = NULL;
    FILE *file = stdout;
    bool failed = false;

    if (mid == MARGO_INSTANCE_NULL || file_name == NULL || file_name[0] == '\0')
        return dump_failed(mid, "", "the instance or the name is missing");
    if (!is_stdout && !name_resolve(file_name, uniquify != 0, name))
        return dump_failed(mid, file_name, "the name is too long");
    if (resolved_file_name != NULL) {
        copy = amg_mem_strdup(name);
        if (copy == NULL)
            return dump_failed(mid, name, "no memory");
    }
    if (!is_stdout)
        file = fopen(name, "w");
    if (file == NULL) {
        amg_mem_free(copy);
        return dump_failed(mid, name, strerror(errno));
    }
    head_write(mid, file);
    config_write(mid, file);
    streams_write(mid, file);
    pools_write(mid, file);
    failed = fflush(file) != 0 || ferror(file) != 0;
    failed = (!is_stdout && fclose(file) != 0) || failed;
    if (failed) {
        amg_mem_free(copy);
        return dump_failed(mid, name, strerror(errno));
    }
    if (resolved_file_name != NULL)
        *resolved_file_name = amg_mem_hand_over(copy);
    return 0;
}
