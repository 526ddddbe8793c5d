/* SPDX-License-Identifier: BSD-3-Clause */
/* What user-level threads are told by the environment before they start. */
#include "margo/environment.h"

#include <stdio.h>
#include <stdlib.h>

#include "margo-util.h"
#include "margo.h"

static const char stack_size_name[] = "ABT_THREAD_STACKSIZE";
static const char stack_count_name[] = "ABT_MEM_MAX_NUM_STACKS";

enum { NUMBER_CAP = 24 };

/* 0, or -1 without memory. */
static int number_set(const char *name, unsigned long long number, int replaces)
{
    char text[NUMBER_CAP];

    (void)snprintf(text, sizeof(text), "%llu", number);
    return setenv(name, text, replaces);
}

/* Threads have started with stacks that are smaller than wanted? */
static void stacks_compare(
    const struct amg_margo_log *log, const struct amg_margo_config *config)
{
    size_t size = 0;

    if (ABT_info_query_config(ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE,
            &size) != ABT_SUCCESS ||
        size >= config->stack_size)
        return;
    amg_margo_log_write(log, MARGO_LOG_WARNING,
        "ABT_init() was called by the program, with stacks of %zu bytes; "
        "%zu are wanted. Call margo_set_environment() before ABT_init(), or "
        "set ABT_THREAD_STACKSIZE",
        size, config->stack_size);
}

void amg_margo_environment_set(
    const struct amg_margo_log *log, const struct amg_margo_config *config)
{
    int failed = 0;

    if (ABT_initialized() == ABT_SUCCESS) {
        stacks_compare(log, config);
        return;
    }
    failed = number_set(stack_size_name, config->stack_size, 0);
    failed |= number_set(stack_count_name, config->max_stacks, 0);
    if (failed != 0)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "no memory for the environment: stacks of user-level threads have "
            "the size that ABT_init() gives them");
}

int margo_set_environment(const char *optional_json_config)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct amg_margo_config config;
    struct amg_margo_log log;
    int failed = 0;

    info.json_config = optional_json_config;
    amg_margo_log_init(&log, NULL);
    if (!amg_margo_config_read(&info, "", MARGO_CLIENT_MODE, &config))
        return -1;
    if (ABT_initialized() == ABT_SUCCESS) {
        amg_margo_log_write(&log, MARGO_LOG_ERROR,
            "margo_set_environment() is without effect after ABT_init()");
        failed = -1;
    } else {
        failed = number_set(stack_size_name, config.stack_size, 1);
        failed |= number_set(stack_count_name, config.max_stacks, 1);
    }
    amg_margo_config_free(&config);
    return failed == 0 ? 0 : -1;
}

/* For what holds from ABT_init() on. */
static int setting_set(const char *name, unsigned number)
{
    if (ABT_initialized() != ABT_SUCCESS && number_set(name, number, 1) == 0)
        return 0;
    margo_error(MARGO_INSTANCE_NULL, "%s was not set to %u: %s", name, number,
        ABT_initialized() == ABT_SUCCESS ? "ABT_init() was called already"
                                         : "no memory");
    return -1;
}

int margo_set_abt_mem_max_num_stacks(unsigned max_num_stacks)
{
    return setting_set(stack_count_name, max_num_stacks);
}

int margo_set_abt_thread_stacksize(unsigned stacksize)
{
    return setting_set(stack_size_name, stacksize);
}
