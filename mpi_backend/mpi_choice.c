/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way bulk data of MPI take: by a window, or by messages.
 *
 * Messages are the way that always works: they can be cancelled, they gather
 * what is small, and the exposer looks at each access. A window has to earn its
 * place, by 5 %. Where it is reached while its owner is away, it may be as much
 * slower: what the exposer computes meanwhile is worth more.
 *
 * Pulls are measured, pushes are not: both move the same bytes by the same
 * windows, and between two ranks each takes the time of the other (1.28 GB/s
 * either way through a dynamic window, 13.0 and 10.3 through one over a pool,
 * MPICH 4.0.2, ch4:ucx). One thing differs: a push has to know that its bytes
 * are at the target. Where nothing moves without the target, that is asked of
 * it by one message there and back, which a short push cannot win back: by
 * messages it is one there and back in all. */
#include "mpi_backend/mpi_choice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum {
    GAIN_PERCENT = 105,        /* a window's speed, messages' being 100 */
    GAIN_PASSIVE_PERCENT = 95, /* the same where its owner may be away */
    ALL_SIZES = (1 << AMG_MPI_SIZES) - 1,
    TEXT_CAP = 64,
};

/* How the sizes of a set are called; bit n is size n. */
static const char *const set_names[ALL_SIZES + 1] = {
    [1] = " up to 16 KiB",
    [2] = " from 16 to 256 KiB",
    [3] = " up to 256 KiB",
    [4] = " above 256 KiB",
    [5] = " up to 16 KiB and above 256 KiB",
    [6] = " above 16 KiB",
    [ALL_SIZES] = "",
};

static const char *const len_names[AMG_MPI_SIZES] = {
    "4 KiB", "64 KiB", "1 MiB"};

static const char *const memory_names[AMG_MPI_MEMORIES] = {
    [AMG_MPI_MEMORY_LIBRARY] = "library memory",
    [AMG_MPI_MEMORY_USER] = "user memory",
};

static const char *const window_names[AMG_MPI_MEMORIES] = {
    [AMG_MPI_MEMORY_LIBRARY] = "the pool window",
    [AMG_MPI_MEMORY_USER] = "a dynamic window",
};

/* The order in which the reason speaks of them. */
static const enum amg_mpi_memory memory_order[AMG_MPI_MEMORIES] = {
    AMG_MPI_MEMORY_USER, AMG_MPI_MEMORY_LIBRARY};

uint64_t amg_mpi_choice_probe_len(enum amg_mpi_size size)
{
    static const uint64_t lens[AMG_MPI_SIZES] = {4096, 65536, 1048576};

    return lens[size];
}

static bool figure_is_whole(const struct amg_mpi_figure *figure)
{
    return figure->window_ns > 0 && figure->message_ns > 0;
}

bool amg_mpi_choice_is_faster(
    const struct amg_mpi_figure *figure, bool is_passive)
{
    uint64_t percent = is_passive ? GAIN_PASSIVE_PERCENT : GAIN_PERCENT;

    return figure_is_whole(figure) &&
           figure->message_ns * 100 >= figure->window_ns * percent;
}

bool amg_mpi_choice_is_worse(
    const struct amg_mpi_figure *one, const struct amg_mpi_figure *other)
{
    double one_ratio = 0;
    double other_ratio = 0;

    if (figure_is_whole(one) != figure_is_whole(other))
        return figure_is_whole(other);
    if (figure_is_whole(one)) {
        one_ratio = (double)one->window_ns * (double)other->message_ns;
        other_ratio = (double)other->window_ns * (double)one->message_ns;
    }
    if (one_ratio < other_ratio || one_ratio > other_ratio)
        return one_ratio > other_ratio;
    if (one->window_ns != other->window_ns)
        return one->window_ns > other->window_ns;
    return one->message_ns > other->message_ns;
}

/* Appends to the text, of which `cap` bytes have room. */
__attribute__((format(printf, 3, 4))) static void text_add(
    char *text, size_t cap, const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + len, cap - len, format, args);
    va_end(args);
}

void amg_mpi_choice_set(
    struct amg_mpi_choice *choice, bool is_window, const char *why)
{
    *choice = (struct amg_mpi_choice){.is_passive = false};
    for (unsigned put = 0; put < 2; put++)
        for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
            for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
                choice->is_window[put][memory][size] = is_window;
    snprintf(choice->reason, sizeof(choice->reason), "%s", why);
}

static double speed(enum amg_mpi_size size, uint64_t ns)
{
    return (double)amg_mpi_choice_probe_len(size) / (double)ns; /* GB/s */
}

/* "(a dynamic window moves 4 KiB at 0.7 GB/s, messages at 1.4; ...)" */
static void figures_write(const struct amg_mpi_figures *figures,
    enum amg_mpi_memory memory, struct amg_mpi_choice *choice)
{
    char *text = choice->reason;
    size_t cap = sizeof(choice->reason);
    bool is_first = true;

    for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
        const struct amg_mpi_figure *figure = &figures->of[memory][size];

        if (!figure_is_whole(figure))
            continue;
        if (is_first)
            text_add(text, cap, " (%s moves %s at %.2g GB/s, messages at %.2g",
                window_names[memory], len_names[size],
                speed(size, figure->window_ns),
                speed(size, figure->message_ns));
        else
            text_add(text, cap, "; %s at %.2g, %.2g", len_names[size],
                speed(size, figure->window_ns),
                speed(size, figure->message_ns));
        is_first = false;
    }
    text_add(
        text, cap, is_first ? " (nothing could be measured in time)" : ")");
}

/* "user memory by messages", "library memory by the pool window above 16 KiB"
 */
static void memory_write(
    enum amg_mpi_memory memory, struct amg_mpi_choice *choice)
{
    unsigned set = 0;

    for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
        set |= (unsigned)choice->is_window[false][memory][size] << size;
    if (set == 0)
        text_add(choice->reason, sizeof(choice->reason), "%s by messages",
            memory_names[memory]);
    else
        text_add(choice->reason, sizeof(choice->reason), "%s by %s%s",
            memory_names[memory], window_names[memory], set_names[set]);
}

static void trouble_write(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *choice)
{
    static const char *const whats[] = {
        [AMG_MPI_TROUBLE_NONE] = "",
        [AMG_MPI_TROUBLE_LATE] = "did not answer in time",
        [AMG_MPI_TROUBLE_MEMORY] = "has no memory to try it with",
        [AMG_MPI_TROUBLE_BYTES] = "got wrong bytes from a window",
        [AMG_MPI_TROUBLE_FAILED] = "got an error of MPI, which its log has",
        [AMG_MPI_TROUBLE_WINDOWS] = "has no windows, as its log says",
    };

    text_add(choice->reason, sizeof(choice->reason), "; rank %u %s",
        (unsigned)figures->rank, whats[figures->trouble]);
}

/* A figure that may be believed: all ranks got on with it. */
static bool figures_are_sound(const struct amg_mpi_figures *figures)
{
    return figures->trouble == AMG_MPI_TROUBLE_NONE ||
           figures->trouble == AMG_MPI_TROUBLE_LATE ||
           figures->trouble == AMG_MPI_TROUBLE_MEMORY;
}

static bool figures_are_any(const struct amg_mpi_figures *figures)
{
    for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
            if (figure_is_whole(&figures->of[memory][size]))
                return true;
    return false;
}

static void table_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *choice)
{
    if (!figures_are_sound(figures))
        return;
    choice->is_passive = figures->is_passive;
    for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
            bool is_faster = amg_mpi_choice_is_faster(
                &figures->of[memory][size], figures->is_passive);

            choice->is_window[false][memory][size] = is_faster;
            choice->is_window[true][memory][size] =
                is_faster &&
                (figures->is_passive || size != AMG_MPI_SIZE_SMALL);
        }
}

void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice)
{
    char *text = ret_choice->reason;
    size_t cap = sizeof(ret_choice->reason);

    amg_mpi_choice_set(ret_choice, false, "bulk between nodes: ");
    ret_choice->was_probed = true;
    table_make(figures, ret_choice);
    if (!figures_are_sound(figures)) {
        text_add(text, cap, "by messages");
    } else {
        for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
            text_add(text, cap, i == 0 ? "" : ", ");
            memory_write(memory_order[i], ret_choice);
            figures_write(figures, memory_order[i], ret_choice);
        }
        if (figures_are_any(figures))
            text_add(text, cap, "; RMA %s",
                figures->is_passive ? "needs no help of its target"
                                    : "waits for its target");
    }
    if (figures->trouble != AMG_MPI_TROUBLE_NONE)
        trouble_write(figures, ret_choice);
    text_add(text, cap, "; windows took %.1f ms, the probe %.1f ms",
        (double)figures->windows_ns / AMG_NS_PER_MS,
        (double)figures->probe_ns / AMG_NS_PER_MS);
}

bool amg_mpi_choice_uses_memory(
    const struct amg_mpi_choice *choice, enum amg_mpi_memory memory)
{
    for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
        if (choice->is_window[false][memory][size])
            return true;
    return false;
}

bool amg_mpi_choice_uses_windows(const struct amg_mpi_choice *choice)
{
    return amg_mpi_choice_uses_memory(choice, AMG_MPI_MEMORY_LIBRARY) ||
           amg_mpi_choice_uses_memory(choice, AMG_MPI_MEMORY_USER);
}

const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice)
{
    bool has_window = amg_mpi_choice_uses_windows(choice);
    bool has_message = false;

    for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
            if (!choice->is_window[false][memory][size])
                has_message = true;
    if (has_window && has_message)
        return "mpi+p2p and mpi+rma";
    return has_window ? "mpi+rma" : "mpi+p2p";
}
