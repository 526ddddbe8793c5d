/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of progress: which threads drive a class and run its handlers, and
 * how they wait.
 *
 * For classes of HG_Init() and of amalgam_init(); needs no MPI. */
#ifndef AMALGAM_PROGRESS_H
#define AMALGAM_PROGRESS_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Threads that make progress on the contexts of a class. */
enum amalgam_progress {
    /** AMALGAM_PROGRESS decides; where it is not set, a thread if a core is
     * idle or named for it, else the caller. A class of HG_Init() then takes
     * ASSIST, as Mercury's callbacks run in HG_Trigger() alone; one of
     * amalgam_init() takes THREAD. */
    AMALGAM_PROGRESS_AUTO,
    /** Only waiting calls of the library: HG_Progress(), amalgam_wait() ... */
    AMALGAM_PROGRESS_CALLER,
    /** A thread of the library, too; callbacks are left to HG_Trigger(). */
    AMALGAM_PROGRESS_ASSIST,
    /** As ASSIST, and the thread also runs the handlers of incoming calls and
     * the callbacks of what these started: calls are answered while the program
     * computes. HG_Trigger() may run them, too, unless there are handler
     * threads. Callbacks of what the program started stay with HG_Trigger(). */
    AMALGAM_PROGRESS_THREAD,
    /** HG_Progress() alone. */
    AMALGAM_PROGRESS_NONE
};

/** Behaviour of a waiting thread between two polls. */
enum amalgam_wait {
    /** AMALGAM_WAIT decides; where it is not set, a thread on its own core
     * spins, and sleeps after a while without events; one on a shared core
     * sleeps. */
    AMALGAM_WAIT_AUTO,
    /** Polls without pause. */
    AMALGAM_WAIT_SPIN,
    /** Sleeps between polls, longer while nothing arrives, up to 5 ms. */
    AMALGAM_WAIT_BACKOFF,
    /** Blocks on descriptors at once; backs off where a transport has none. */
    AMALGAM_WAIT_SLEEP
};

/** As many handler threads as cores are idle, at most one; without an idle core
 * none. */
#define AMALGAM_HANDLERS_AUTO ((unsigned)-1)

/** Maximum number of handler threads of a context. */
#define AMALGAM_HANDLERS_MAX 64

/** Value for progress_mode of struct na_init_info: the same options for
 * HG_Init_opt() and its forms, in bits that Mercury does not use. */
#define AMALGAM_NA_PROGRESS(progress, wait)                                    \
    ((uint8_t)((unsigned)(progress) << 2 | (unsigned)(wait) << 5))

/** Options of amalgam_set_progress(). Start from
 * AMALGAM_PROGRESS_OPTIONS_INITIALIZER; zeros select the defaults. The
 * environment variable that a field's comment names, if set, decides what is
 * left at its default. */
struct amalgam_progress_options {
    size_t size;                    /* set by the macro */
    enum amalgam_progress progress; /* AMALGAM_PROGRESS */
    enum amalgam_wait wait;         /* AMALGAM_WAIT */
    /* Threads of each context that run the handlers of incoming calls, and the
     * callbacks of what those started; 0, the default: none;
     * AMALGAM_HANDLERS. */
    unsigned handlers;
    /* Where the progress thread runs: NULL or "auto": by the policy; "none":
     * wherever the process may; a list of cores as "3" or "0-3,8": the n-th
     * rank of the node takes the n-th of them; AMALGAM_PROGRESS_CPUS. */
    const char *progress_cpus;
    /* The same for handler threads; each rank takes one core for each of its
     * threads; AMALGAM_HANDLER_CPUS. */
    const char *handler_cpus;
};

#define AMALGAM_PROGRESS_OPTIONS_INITIALIZER                                   \
    {                                                                          \
        sizeof(struct amalgam_progress_options), AMALGAM_PROGRESS_AUTO,        \
            AMALGAM_WAIT_AUTO, 0, NULL, NULL                                   \
    }

/**
 * Choose the threads that make progress for a class and run its handlers.
 *
 * Applies to contexts created afterwards. If the system refuses an option, the
 * log warns, and the next best one is used; this is no error.
 *
 * @param hg_class  [in]  of HG_Init(), its forms, or amalgam_init()
 * @param options   [in]  NULL takes all defaults
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands; the texts are copied.
 * Errors:    HG_INVALID_ARG  hg_class is NULL; `size` was not set by the macro;
 *                            an unknown enumerator; more than
 *                            AMALGAM_HANDLERS_MAX handlers
 *            HG_BUSY         the class has an open context
 *            HG_NOMEM        no memory
 * Threads:   any thread, one at a time per class; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_set_progress(
    hg_class_t *hg_class, const struct amalgam_progress_options *options);

#ifdef __cplusplus
}
#endif

#endif
