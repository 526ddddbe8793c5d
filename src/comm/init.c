/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a class over the ranks of a communicator, and closes it with them. */
#include <stddef.h>
#include <string.h>

#include "amalgam.h"
#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "comm/given.h"
#include "init/init.h"

enum { CONTEXTS_MAX = 256 };

/* Reads as much of the options as the program's version has; false when the
 * struct was not started from the initializer. */
static bool options_read(
    const struct amalgam_options *options, struct amalgam_options *ret_options)
{
    const struct amalgam_options defaults = AMALGAM_OPTIONS_INITIALIZER;

    *ret_options = defaults;
    if (options == NULL)
        return true;
    if (options->size < offsetof(struct amalgam_options, credits) ||
        options->size > sizeof(*options)) {
        AMG_LOG_ERROR("cls",
            "options of %zu bytes: start from AMALGAM_OPTIONS_INITIALIZER, "
            "and run with the version compiled against",
            options->size);
        return false;
    }
    memcpy(ret_options, options, options->size);
    return true;
}

static bool option_is_valid(
    const char *name, unsigned value, uint64_t min, uint64_t max)
{
    if (value == 0 || (value >= min && value <= max))
        return true;
    AMG_LOG_ERROR("cls", "option %s is %u; it must be from %llu to %llu", name,
        value, (unsigned long long)min, (unsigned long long)max);
    return false;
}

static bool options_are_valid(const struct amalgam_options *options)
{
    const struct amg_env_var *credits = amg_env_var(AMG_ENV_CREDITS);
    const struct amg_env_var *message = amg_env_var(AMG_ENV_MESSAGE_BYTES);

    return option_is_valid(
               "credits", options->credits, credits->min, credits->max) &&
           option_is_valid("message_bytes", options->message_bytes,
               message->min, message->max) &&
           option_is_valid("contexts", options->contexts, 1, CONTEXTS_MAX);
}

hg_class_t *amalgam_init(
    MPI_Comm comm, const char *transport, const struct amalgam_options *options)
{
    struct amalgam_options wanted;
    struct amg_init init = {.info = transport};
    hg_class_t *cls = NULL;

    if (!amg_comm_is_valid(comm) || !options_read(options, &wanted) ||
        !options_are_valid(&wanted))
        return NULL;
    init.how.comm = &comm;
    init.how.is_listening = !wanted.client_only;
    init.how.credits = wanted.credits;
    init.how.message_len = wanted.message_bytes;
    init.how.max_contexts = wanted.contexts;
    init.no_overflow = wanted.no_overflow != 0;
    init.no_bulk_eager = wanted.no_bulk_eager != 0;
    init.progress_options = wanted.progress;
    if (amg_init_class(&init, &cls) != HG_SUCCESS)
        return NULL;
    if (cls->domains[AMG_ROUTE_MPI] != NULL)
        return cls;
    AMG_LOG_ERROR("cls",
        "transport '%s' does not reach the ranks of a communicator", transport);
    amg_class_close(cls);
    return NULL;
}

hg_return_t amalgam_finalize(hg_class_t *hg_class)
{
    if (!AMG_CONTRACT(hg_class != NULL))
        return HG_INVALID_ARG;
    return amg_init_finalize(hg_class, true);
}
