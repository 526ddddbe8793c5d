/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's words for cores: "auto", "none", or a list as "0-3,8". */
#include "place/policy_list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 24 /* letters of a bad list that are shown */ };

static void bad(struct amg_list *list, const char *at, const char *why)
{
    list->kind = AMG_LIST_BAD;
    if (*at == '\0')
        snprintf(list->why, sizeof(list->why), "%s%s", why,
            list->count > 0 ? " at its end" : "");
    else
        snprintf(
            list->why, sizeof(list->why), "%s at \"%.*s\"", why, WORD_MAX, at);
}

/* Reads a number and moves on behind it. False: there is none. What is too
 * large becomes AMG_CPUS_MAX, which no machine has. */
static bool number_read(const char **text, unsigned *ret_number)
{
    unsigned number = 0;

    if (!isdigit((unsigned char)**text))
        return false;
    for (; isdigit((unsigned char)**text); ++*text) {
        number = 10 * number + (unsigned)(**text - '0');
        if (number > AMG_CPUS_MAX)
            number = AMG_CPUS_MAX;
    }
    *ret_number = number;
    return true;
}

/* Reads "3" or "0-3". False: it is bad, and says so. */
static bool run_read(const char **text, struct amg_list *list)
{
    const char *start = *text;
    unsigned first = 0;
    unsigned last = 0;

    if (!number_read(text, &first)) {
        bad(list, start, "there is no number of a cpu");
        return false;
    }
    last = first;
    if (**text == '-') {
        ++*text;
        if (!number_read(text, &last)) {
            bad(list, start, "a range has no end");
            return false;
        }
    }
    if (last < first) {
        bad(list, start, "a range ends before it begins");
        return false;
    }
    if (last >= AMG_CPUS_MAX) {
        bad(list, start, "a number is too large");
        return false;
    }
    if (list->count + (last - first) >= AMG_CPUS_MAX) {
        bad(list, start, "there are too many cpus");
        return false;
    }
    while (first <= last)
        list->cpus[list->count++] = (uint16_t)first++;
    return true;
}

void amg_list_parse(const char *text, struct amg_list *ret_list)
{
    ret_list->count = 0;
    ret_list->why[0] = '\0';
    ret_list->kind = AMG_LIST_AUTO;
    if (text == NULL || strcmp(text, "auto") == 0)
        return;
    ret_list->kind = AMG_LIST_NONE;
    if (strcmp(text, "none") == 0)
        return;
    ret_list->kind = AMG_LIST_CPUS;
    while (run_read(&text, ret_list)) {
        if (*text == '\0')
            return;
        if (*text != ',') {
            bad(ret_list, text, "there is neither a comma nor the end");
            return;
        }
        text++;
    }
}
