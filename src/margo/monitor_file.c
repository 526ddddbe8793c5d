/* SPDX-License-Identifier: BSD-3-Clause */
/* What the default monitor has gathered, as JSON text and as files. */
#include "margo/monitor_default.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "margo/instance.h"

enum { HOST_CAP = 64, COMMAND_CAP = 4096 };

void amg_monitor_address(struct amg_monitor *monitor)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_size_t size = sizeof(monitor->address);

    if (HG_Addr_self(monitor->mid->hg_class, &self) != HG_SUCCESS)
        return;
    if (HG_Addr_to_string(monitor->mid->hg_class, monitor->address, &size,
            self) != HG_SUCCESS)
        monitor->address[0] = '\0';
    (void)HG_Addr_free(monitor->mid->hg_class, self);
}

static void host_name(char host[HOST_CAP])
{
    if (gethostname(host, HOST_CAP) != 0)
        (void)snprintf(host, HOST_CAP, "localhost");
    host[HOST_CAP - 1] = '\0';
}

/* A second instance of the process has a number behind its pid, so that it does
 * not write over the files of the first one. */
void amg_monitor_name(struct amg_monitor *monitor)
{
    static atomic_uint opened;
    unsigned number =
        1 + atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed);
    const char *folder = amg_env_text(AMG_ENV_MARGO_OUTPUT_DIR);
    char host[HOST_CAP];
    char suffix[16] = "";

    host_name(host);
    if (number > 1)
        (void)snprintf(suffix, sizeof(suffix), "-%u", number);
    if (monitor->config.prefix[0] == '/')
        folder = NULL;
    (void)snprintf(monitor->file, sizeof(monitor->file), "%s%s%s.%s.%ld%s",
        folder == NULL ? "" : folder, folder == NULL ? "" : "/",
        monitor->config.prefix, host, (long)getpid(), suffix);
}

/* The words that the process was started with. */
static struct json_object *command_json(void)
{
    struct json_object *words = json_object_new_array();
    FILE *file = fopen("/proc/self/cmdline", "re");
    char text[COMMAND_CAP + 1];
    size_t len = 0;

    if (file == NULL)
        return words;
    len = fread(text, 1, COMMAND_CAP, file);
    (void)fclose(file);
    text[len] = '\0';
    for (size_t i = 0; i < len; i += strlen(text + i) + 1)
        json_object_array_add(words, json_object_new_string(text + i));
    return words;
}

/* What both documents begin with. */
static struct json_object *document_begin(const struct amg_monitor *monitor)
{
    struct json_object *object = json_object_new_object();
    char host[HOST_CAP];

    if (object == NULL)
        return NULL;
    host_name(host);
    json_object_object_add(
        object, "address", json_object_new_string(monitor->address));
    json_object_object_add(object, "hostname", json_object_new_string(host));
    json_object_object_add(
        object, "pid", json_object_new_int64((int64_t)getpid()));
    json_object_object_add(object, "cmdline", command_json());
    return object;
}

struct json_object *amg_monitor_stats_json_locked(
    const struct amg_monitor *monitor)
{
    unsigned precision = monitor->config.stats.precision;
    struct json_object *object = document_begin(monitor);
    struct json_object *loop = json_object_new_object();

    if (object == NULL)
        return NULL;
    json_object_object_add(loop, "progress_with_timeout",
        amg_stats_json(&monitor->progress_with_timeout, precision));
    json_object_object_add(loop, "progress_timeout_value_msec",
        amg_stats_json(&monitor->progress_timeout_ms, precision));
    json_object_object_add(loop, "progress_without_timeout",
        amg_stats_json(&monitor->progress_without_timeout, precision));
    json_object_object_add(
        loop, "trigger", amg_stats_json(&monitor->trigger, precision));
    json_object_object_add(object, "progress_loop", loop);
    json_object_object_add(
        object, "rpcs", amg_stats_book_json(&monitor->book, precision));
    return object;
}

struct json_object *amg_monitor_series_json_locked(
    const struct amg_monitor *monitor)
{
    struct json_object *object = document_begin(monitor);

    if (object != NULL)
        amg_series_json(
            &monitor->series, monitor->config.series.precision, object);
    return object;
}

static void file_write(struct amg_monitor *monitor, const char *end,
    const struct amg_monitor_output *output, struct json_object *object)
{
    char path[AMG_MONITOR_PATH_CAP + 16];
    const char *text = json_object_to_json_string_ext(
        object, output->is_pretty
                    ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE
                    : JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    FILE *file = NULL;
    bool is_written = false;

    (void)snprintf(path, sizeof(path), "%s%s", monitor->file, end);
    errno = 0;
    if (text != NULL)
        file = fopen(path, "we");
    if (file != NULL) {
        is_written = fprintf(file, "%s\n", text) > 0;
        is_written = fclose(file) == 0 && is_written;
    }
    if (!is_written)
        margo_error(monitor->mid,
            "monitoring: '%s' cannot be written (%s); what was gathered is "
            "lost. Set filename_prefix or MARGO_OUTPUT_DIR to where there is "
            "room",
            path, errno == 0 ? "no memory" : strerror(errno));
}

/* By now nobody tells any more, so that no lock is needed. */
void amg_monitor_write(struct amg_monitor *monitor)
{
    struct json_object *object = NULL;

    if (!monitor->config.stats.is_disabled) {
        object = amg_monitor_stats_json_locked(monitor);
        file_write(monitor, ".stats.json", &monitor->config.stats, object);
        json_object_put(object);
    }
    if (!monitor->config.series.is_disabled) {
        object = amg_monitor_series_json_locked(monitor);
        file_write(monitor, ".series.json", &monitor->config.series, object);
        json_object_put(object);
    }
}
