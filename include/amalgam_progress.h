/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of progress: the threads that make progress and run handlers, and
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
    /** The variable AMALGAM_PROGRESS decides. If the variable is not set: over
     * MPI, with an idle core or a core named for the progress thread, THREAD
     * for a class of amalgam_init(), and ASSIST for a class of HG_Init(), as
     * Mercury runs callbacks in HG_Trigger() only. In other cases CALLER. */
    AMALGAM_PROGRESS_AUTO,
    /** Only threads in waiting calls: HG_Progress(), amalgam_wait() ... */
    AMALGAM_PROGRESS_CALLER,
    /** Also a thread of the library; callbacks run in HG_Trigger(). */
    AMALGAM_PROGRESS_ASSIST,
    /** Like ASSIST; the thread also runs the handlers of incoming calls and the
     * callbacks of operations that handlers started: calls are answered while
     * the program computes. HG_Trigger() may run these handlers, too. Callbacks
     * of the program's own operations run in HG_Trigger(). */
    AMALGAM_PROGRESS_THREAD
};

/** Behaviour of a waiting thread between two polls. */
enum amalgam_wait {
    /** The variable AMALGAM_WAIT decides. If the variable is not set, a thread
     * on a core of its own spins, and sleeps after some time without events; a
     * thread on a shared core sleeps. */
    AMALGAM_WAIT_AUTO,
    /** Polls without pause. */
    AMALGAM_WAIT_SPIN,
    /** Blocks on descriptors at once. If a transport has no descriptor, sleeps
     * between polls; the sleeps grow up to 5 ms while nothing arrives. */
    AMALGAM_WAIT_SLEEP
};

/** Value for progress_mode of struct na_init_info: progress mode and way to
 * wait for HG_Init_opt() and HG_Init_opt2(), in bits that Mercury leaves. */
#define AMALGAM_NA_PROGRESS(progress, wait)                                    \
    ((uint8_t)((unsigned)(progress) << 2 | (unsigned)(wait) << 5))

/** Options of amalgam_set_progress(). Start from
 * AMALGAM_PROGRESS_OPTIONS_INITIALIZER; zeros select the defaults. A field with
 * the default takes its value from the environment variable that the comment of
 * the field names, if that variable is set. */
struct amalgam_progress_options {
    size_t size;                    /* set by the macro */
    enum amalgam_progress progress; /* AMALGAM_PROGRESS */
    enum amalgam_wait wait;         /* AMALGAM_WAIT */
    /* AMALGAM_PROGRESS_CPUS: core of the progress thread. NULL is the default;
     * "auto": the library chooses; "none": not pinned; a list of cores such as
     * "3" or "0-3,8": the n-th rank of the node uses the n-th core. */
    const char *progress_cpus;
};

#define AMALGAM_PROGRESS_OPTIONS_INITIALIZER                                   \
    {                                                                          \
        sizeof(struct amalgam_progress_options), AMALGAM_PROGRESS_AUTO,        \
            AMALGAM_WAIT_AUTO, NULL                                            \
    }

/**
 * Choose the threads that make progress for a class and run its handlers.
 *
 * Applies to contexts created afterwards. If the system refuses an option, the
 * log warns, and the library uses the next best option; this is no error.
 *
 * @param hg_class  [in]  of HG_Init(), its forms, or amalgam_init()
 * @param options   [in]  NULL takes all defaults
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands; the text is copied.
 * Errors:    HG_INVALID_ARG  hg_class is NULL; `size` was not set by the macro;
 *                            an unknown enumerator
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
