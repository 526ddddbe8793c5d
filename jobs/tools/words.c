/* SPDX-License-Identifier: BSD-3-Clause */
/* What amalgam_info calls things in sentences. */
#include "words.h"

const char *words_progress(enum amalgam_progress progress)
{
    switch (progress) {
    case AMALGAM_PROGRESS_ASSIST:
        return "a thread of the library drives, HG_Trigger runs callbacks";
    case AMALGAM_PROGRESS_THREAD:
        return "a thread of the library drives, and serves calls";
    case AMALGAM_PROGRESS_NONE:
        return "HG_Progress alone drives";
    case AMALGAM_PROGRESS_AUTO:
    case AMALGAM_PROGRESS_CALLER:
        break;
    }
    return "calls that wait drive";
}

const char *words_medium(const hg_class_t *cls)
{
    if (!cls->limits.is_spinning)
        return "sleeps on a descriptor";
    return cls->limits.must_yield
               ? "looks, then sleeps between two looks, as "
                 "nothing wakes it"
               : "looks without a pause, with naps when idle, "
                 "as nothing wakes it";
}
