/* SPDX-License-Identifier: BSD-3-Clause */
/* Set of hardware threads, by the system's numbers, and the lists of cpus that
 * users write: "auto", "none", or "0-3,8". */
#include "affinity/cpuset.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 24 /* letters of a bad list that are shown */ };

unsigned amg_cpuset_count(const struct amg_cpuset *set)
{
    unsigned count = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}

bool amg_cpuset_meets(
    const struct amg_cpuset *one, const struct amg_cpuset *other)
{
    uint64_t both = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        both |= one->words[i] & other->words[i];
    return both != 0;
}

bool amg_cpuset_covers(
    const struct amg_cpuset *set, const struct amg_cpuset *part)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        missing |= part->words[i] & ~set->words[i];
    return missing == 0;
}

void amg_cpuset_unite(struct amg_cpuset *set, const struct amg_cpuset *more)
{
    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        set->words[i] |= more->words[i];
}

void amg_cpuset_cut(struct amg_cpuset *set, const struct amg_cpuset *limit)
{
    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        set->words[i] &= limit->words[i];
}

const char *amg_cpuset_format(
    const struct amg_cpuset *set, char *ret_text, size_t cap)
{
    size_t len = 0;

    if (cap == 0)
        return ret_text;
    ret_text[0] = '\0';
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        char run[16]; /* ",1000-1023" and its end are 11 */
        unsigned first = cpu;
        size_t run_len = 0;

        if (!amg_cpuset_has(set, cpu))
            continue;
        while (amg_cpuset_has(set, cpu + 1))
            cpu++;
        run_len = (size_t)snprintf(run, sizeof(run),
            first == cpu ? "%s%u" : "%s%u-%u", len > 0 ? "," : "", first, cpu);
        if (len + run_len >= cap) {
            static const char dots[] = "...";
            size_t room = cap < sizeof(dots) ? cap - 1 : sizeof(dots) - 1;

            if (len + room >= cap)
                len = cap - 1 - room;
            memcpy(ret_text + len, dots, room);
            ret_text[len + room] = '\0';
            return ret_text;
        }
        memcpy(ret_text + len, run, run_len + 1);
        len += run_len;
    }
    return ret_text;
}

static void bad(struct amg_cpu_list *list, const char *at, const char *why)
{
    list->kind = AMG_CPU_LIST_BAD;
    if (*at == '\0')
        snprintf(list->why, sizeof(list->why), "%s%s", why,
            list->count > 0 ? " at its end" : "");
    else
        snprintf(
            list->why, sizeof(list->why), "%s at \"%.*s\"", why, WORD_MAX, at);
}

/* Reads a number and moves `*text` behind it. False: no digit. A number that is
 * too large becomes AMG_CPUS_MAX, which no machine has. */
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

/* Reads "3" or "0-3". False: not a run; `list->why` has the cause. */
static bool run_read(const char **text, struct amg_cpu_list *list)
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

void amg_cpu_list_parse(const char *text, struct amg_cpu_list *ret_list)
{
    ret_list->count = 0;
    ret_list->why[0] = '\0';
    ret_list->kind = AMG_CPU_LIST_AUTO;
    if (text == NULL || strcmp(text, "auto") == 0)
        return;
    ret_list->kind = AMG_CPU_LIST_NONE;
    if (strcmp(text, "none") == 0)
        return;
    ret_list->kind = AMG_CPU_LIST_CPUS;
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
