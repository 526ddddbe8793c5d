/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of who makes progress, with the environment applied.
 *
 * What the program says beats the environment, which fills in what is left
 * open. A word that nobody knows is warned of once in a process. */
#include "core/drive.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"

enum { NO_WORD = -1 };

static const char *const progress_words[] = {
    [AMALGAM_PROGRESS_AUTO] = "auto",
    [AMALGAM_PROGRESS_CALLER] = "caller",
    [AMALGAM_PROGRESS_ASSIST] = "assist",
    [AMALGAM_PROGRESS_THREAD] = "thread",
    [AMALGAM_PROGRESS_NONE] = "none",
};

static const char *const wait_words[] = {
    [AMALGAM_WAIT_AUTO] = "auto",
    [AMALGAM_WAIT_SPIN] = "spin",
    [AMALGAM_WAIT_BACKOFF] = "backoff",
    [AMALGAM_WAIT_SLEEP] = "sleep",
};

enum {
    PROGRESS_WORDS = sizeof(progress_words) / sizeof(progress_words[0]),
    WAIT_WORDS = sizeof(wait_words) / sizeof(wait_words[0]),
};

const char *amg_drive_progress_name(enum amalgam_progress progress)
{
    return (unsigned)progress < PROGRESS_WORDS ? progress_words[progress]
                                               : "unknown";
}

const char *amg_drive_wait_name(enum amalgam_wait wait)
{
    return (unsigned)wait < WAIT_WORDS ? wait_words[wait] : "unknown";
}

static int word_find(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return NO_WORD;
}

/* Only for the first that makes no sense: every class would say the same. */
static void env_refuse(enum amg_env_id id, const char *text, const char *known)
{
    static atomic_bool warned[AMG_ENV_COUNT];

    if (!atomic_exchange_explicit(&warned[id], true, memory_order_relaxed))
        AMG_LOG_WARNING("cls",
            "%s is '%s': %s is wanted; auto, the default, is taken",
            amg_env_var(id)->name, text, known);
}

/* The number of the word that a variable holds; 0, auto, where it is not set,
 * or holds none of them. */
static int env_word(
    enum amg_env_id id, const char *const *words, int count, const char *known)
{
    const char *text = amg_env_text(id);
    int found = text == NULL ? 0 : word_find(text, words, count);

    if (found != NO_WORD)
        return found;
    env_refuse(id, text, known);
    return 0;
}

static enum amalgam_progress env_progress(void)
{
    return (enum amalgam_progress)env_word(AMG_ENV_PROGRESS, progress_words,
        PROGRESS_WORDS, "auto, caller, assist, thread or none");
}

static enum amalgam_wait env_wait(void)
{
    return (enum amalgam_wait)env_word(
        AMG_ENV_WAIT, wait_words, WAIT_WORDS, "auto, spin, backoff or sleep");
}

static unsigned env_handlers(void)
{
    const char *text = amg_env_text(AMG_ENV_HANDLERS);

    if (text != NULL && strcmp(text, "auto") == 0)
        return AMALGAM_HANDLERS_AUTO;
    return (unsigned)amg_env_number(AMG_ENV_HANDLERS);
}

void amg_drive_wanted(
    const struct amg_drive *drive, struct amalgam_progress_options *ret_wanted)
{
    *ret_wanted = drive->asked;
    if (ret_wanted->progress == AMALGAM_PROGRESS_AUTO)
        ret_wanted->progress = env_progress();
    if (ret_wanted->wait == AMALGAM_WAIT_AUTO)
        ret_wanted->wait = env_wait();
    if (ret_wanted->handlers == 0)
        ret_wanted->handlers = env_handlers();
    if (ret_wanted->progress_cpus == NULL)
        ret_wanted->progress_cpus = amg_env_text(AMG_ENV_PROGRESS_CPUS);
    if (ret_wanted->handler_cpus == NULL)
        ret_wanted->handler_cpus = amg_env_text(AMG_ENV_HANDLER_CPUS);
}
