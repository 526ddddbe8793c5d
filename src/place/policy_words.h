/* SPDX-License-Identifier: BSD-3-Clause */
/* Why threads sit where they do, in words for a person. */
#ifndef AMG_PLACE_POLICY_WORDS_H
#define AMG_PLACE_POLICY_WORDS_H

#include "place/policy_seek.h"

/* The name of the option that a list comes from. */
const char *amg_words_option(enum amg_crowd crowd);

/* Fills in the seat: when all threads of the node have theirs. */
void amg_words_seat(const struct amg_board *board, enum amg_crowd crowd,
    struct amg_pick pick, struct amg_seat *ret_seat);

/* Why there is no idle core for the asking rank. */
void amg_words_none_idle(const struct amg_board *board, char *ret_text);

/* One more line of notes, whole or not at all. */
__attribute__((format(printf, 2, 3))) void amg_words_note(
    char *notes, const char *format, ...);

#endif
