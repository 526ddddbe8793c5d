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

static size_t stack_size_now(void)
{
    size_t size = 0;

    return ABT_info_query_config(ABT_INFO_QUERY_KIND_DEFAULT_THREAD_STACKSIZE,
               &size) == ABT_SUCCESS
               ? size
               : 0;
}

/* What the environment says; `otherwise` where it says nothing. */
static unsigned long long number_get(
    const char *name, unsigned long long otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long long number = 0;

    if (text == NULL)
        return otherwise;
    number = strtoull(text, &end, 10);
    return end == text || *end != '\0' ? otherwise : number;
}

size_t amg_margo_environment_stack_size(const struct amg_margo_config *config)
{
    size_t size = ABT_initialized() == ABT_SUCCESS ? stack_size_now() : 0;

    return (size_t)number_get(
        stack_size_name, size == 0 ? config->stack_size : size);
}

unsigned amg_margo_environment_max_stacks(const struct amg_margo_config *config)
{
    return (unsigned)number_get(stack_count_name, config->max_stacks);
}

/* Threads have started with other stacks than the text asks for, or with
 * smaller ones than is usual? */
static void stacks_compare(
    const struct amg_margo_log *log, const struct amg_margo_config *config)
{
    size_t size = stack_size_now();
    unsigned count = amg_margo_environment_max_stacks(config);

    if (size != 0 && (config->is_stack_size_given ? size != config->stack_size
                                                  : size < config->stack_size))
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "ABT_init() was called before, with stacks of %zu bytes; %zu are "
            "wanted. Call margo_set_environment() before ABT_init(), or set "
            "ABT_THREAD_STACKSIZE",
            size, config->stack_size);
    if (config->is_max_stacks_given && count != config->max_stacks)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "ABT_init() was called before, when ABT_MEM_MAX_NUM_STACKS was %u; "
            "%u are wanted. Call margo_set_environment() before ABT_init()",
            count, config->max_stacks);
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
