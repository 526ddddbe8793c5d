/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank that pulls while windows and messages are measured.
 *
 * These are plain MPI calls of the same shape as those of a transfer, and not
 * transfers: while a domain opens it has no endpoint, and a measurement that
 * goes wrong must leave nothing behind in one. By messages: a request of the
 * length of a header with an access, and one message with the bytes. By a
 * window: the exposer's entry is read and counted up, the bytes are got, the
 * entry is counted down, for which nobody waits. */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "mpi_backend/mpi_run.h"

enum {
    NAP_CLEAR_NS = 100000, /* for who naps to have left MPI */
    NAP_ROOM_NS = 4000000, /* of a round, kept for it */
};

/* Waits for a part of a measurement; who does not answer is remembered. */
static bool answer_wait(struct amg_mpi_run *run, enum amg_mpi_slot slot)
{
    if (amg_mpi_run_wait(run, slot, run->round_end_ns))
        return true;
    amg_mpi_run_trouble(run, AMG_MPI_TROUBLE_LATE, run->other_rank);
    return false;
}

static bool note_send(
    struct amg_mpi_run *run, enum amg_mpi_note_kind kind, uint64_t len)
{
    bool is_end = kind == AMG_MPI_NOTE_END;
    struct amg_mpi_note *note = is_end ? &run->end_out : &run->note_out;

    *note = (struct amg_mpi_note){.kind = kind, .len = len};
    return amg_mpi_run_send(run, note, sizeof(*note), AMG_MPI_TAG_NOTE,
        is_end ? AMG_MPI_SLOT_END_OUT : AMG_MPI_SLOT_NOTE_OUT);
}

static bool message_pull(struct amg_mpi_run *run, uint64_t len)
{
    return amg_mpi_run_expect(
               run, run->got, len, AMG_MPI_TAG_BYTES, AMG_MPI_SLOT_BYTES) &&
           note_send(run, AMG_MPI_NOTE_ASK, len) &&
           answer_wait(run, AMG_MPI_SLOT_BYTES) &&
           answer_wait(run, AMG_MPI_SLOT_NOTE_OUT);
}

static bool window_get(struct amg_mpi_run *run, enum amg_mpi_memory memory,
    void *into, uint64_t len, enum amg_mpi_slot slot)
{
    return amg_mpi_run_is_good(run,
        MPI_Rget(into, (int)len, MPI_BYTE, run->other_rank,
            (MPI_Aint)run->card.disp[memory], (int)len, MPI_BYTE,
            run->probe->spots[memory].win, &run->requests[false][slot]),
        "MPI_Rget");
}

/* Reads the entry, and counts it up. */
static bool entry_knock(struct amg_mpi_run *run)
{
    const int count = AMG_MPI_KNOCK_LEN / (int)sizeof(int64_t);

    return amg_mpi_run_is_good(run,
               MPI_Rget_accumulate(run->visit, count, MPI_INT64_T, run->entry,
                   count, MPI_INT64_T, run->other_rank,
                   (MPI_Aint)run->card.knock_disp, count, MPI_INT64_T, MPI_SUM,
                   run->probe->knock.win,
                   &run->requests[false][AMG_MPI_SLOT_KNOCK]),
               "MPI_Rget_accumulate") &&
           answer_wait(run, AMG_MPI_SLOT_KNOCK);
}

static bool entry_leave(struct amg_mpi_run *run)
{
    return amg_mpi_run_is_good(run,
        MPI_Raccumulate(&run->minus_one, 1, MPI_INT64_T, run->other_rank,
            (MPI_Aint)run->card.knock_disp, 1, MPI_INT64_T, MPI_SUM,
            run->probe->knock.win, &run->requests[false][AMG_MPI_SLOT_LEAVE]),
        "MPI_Raccumulate");
}

/* `ret_ns` is without the leaving, for which a transfer does not wait. */
static bool window_pull(struct amg_mpi_run *run, enum amg_mpi_memory memory,
    uint64_t len, uint64_t *ret_ns)
{
    uint64_t begin_ns = amg_clock_ns();
    bool is_done = true;

    if (run->card.has_knock)
        is_done = entry_knock(run);
    is_done = is_done &&
              window_get(run, memory, run->got, len, AMG_MPI_SLOT_GET) &&
              answer_wait(run, AMG_MPI_SLOT_GET);
    if (is_done && run->card.has_knock)
        is_done = entry_leave(run);
    *ret_ns = amg_clock_ns() - begin_ns;
    return is_done && answer_wait(run, AMG_MPI_SLOT_LEAVE);
}

static bool bytes_check(
    struct amg_mpi_run *run, enum amg_mpi_memory memory, uint64_t len)
{
    for (size_t i = 0; i < len / sizeof(uint64_t); i++) {
        uint64_t word = 0;

        memcpy(&word, run->got + i * sizeof(word), sizeof(word));
        if (word == amg_mpi_run_pattern(run->other_rank, memory, i))
            continue;
        amg_mpi_run_trouble(run, AMG_MPI_TROUBLE_BYTES, run->probe->rank);
        return false;
    }
    return true;
}

/* One repetition. False: measuring is over. */
static bool step_do(
    struct amg_mpi_run *run, enum amg_mpi_size size, enum amg_mpi_pull pull)
{
    enum amg_mpi_memory memory = pull == AMG_MPI_PULL_LIBRARY
                                     ? AMG_MPI_MEMORY_LIBRARY
                                     : AMG_MPI_MEMORY_USER;
    bool is_first = run->pace.steps[size][pull].done == 0;
    uint64_t len = amg_mpi_choice_probe_len(size);
    uint64_t ns = amg_clock_ns();
    bool is_done = false;

    if (pull == AMG_MPI_PULL_MESSAGE) {
        is_done = message_pull(run, len);
        ns = amg_clock_ns() - ns;
    } else {
        is_done = window_pull(run, memory, len, &ns);
        if (is_done && is_first)
            is_done = bytes_check(run, memory, len);
    }
    if (is_done)
        amg_mpi_pace_took(&run->pace, size, pull, ns);
    return is_done;
}

/* A long nap is an answer, too. */
static bool nap_wait(struct amg_mpi_run *run, enum amg_mpi_slot slot)
{
    return amg_mpi_run_wait(run, slot, run->round_end_ns);
}

/* Does a get by each window end while its target sleeps? What ended before a
 * nap could be over did not wait for it, whenever the nap began. */
static bool nap_is_passed(struct amg_mpi_run *run)
{
    static const enum amg_mpi_slot slots[AMG_MPI_MEMORIES] = {
        AMG_MPI_SLOT_GET, AMG_MPI_SLOT_GET_OTHER};
    uint64_t asked_ns = amg_clock_ns();
    uint64_t clear_ns = 0;
    bool has_any = false;
    bool is_done = amg_mpi_run_expect(run, &run->going[false], 1,
                       AMG_MPI_TAG_ANSWER, AMG_MPI_SLOT_ANSWER) &&
                   amg_mpi_run_expect(run, &run->back[false], 1,
                       AMG_MPI_TAG_ANSWER, AMG_MPI_SLOT_BACK) &&
                   note_send(run, AMG_MPI_NOTE_NAP, 0) &&
                   nap_wait(run, AMG_MPI_SLOT_ANSWER);

    clear_ns = amg_clock_ns() + NAP_CLEAR_NS;
    while (is_done && amg_clock_ns() < clear_ns)
        sched_yield();
    for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
        if (is_done && run->card.has[memory]) {
            has_any = true;
            is_done = window_get(run, (enum amg_mpi_memory)memory,
                run->got + memory * sizeof(uint64_t), sizeof(uint64_t),
                slots[memory]);
        }
    is_done = is_done && nap_wait(run, AMG_MPI_SLOT_GET) &&
              nap_wait(run, AMG_MPI_SLOT_GET_OTHER);
    return is_done && has_any && amg_clock_ns() - asked_ns < AMG_MPI_NAP_NS;
}

static void windows_close(struct amg_mpi_run *run)
{
    if (!run->card.has[AMG_MPI_MEMORY_LIBRARY])
        amg_mpi_pace_close(&run->pace, AMG_MPI_PULL_LIBRARY);
    if (!run->card.has[AMG_MPI_MEMORY_USER])
        amg_mpi_pace_close(&run->pace, AMG_MPI_PULL_USER);
}

void amg_mpi_ask(struct amg_mpi_run *run)
{
    enum amg_mpi_size size = AMG_MPI_SIZE_SMALL;
    enum amg_mpi_pull pull = AMG_MPI_PULL_MESSAGE;
    struct amg_mpi_figures *figures = &run->ballot.figures;
    bool is_going = amg_clock_ns() < run->round_end_ns;

    run->ballot.voices = 1;
    amg_mpi_pace_init(
        &run->pace, amg_clock_ns(), run->round_end_ns - NAP_ROOM_NS);
    if (amg_clock_ns() >= run->round_end_ns)
        amg_mpi_run_trouble(run, AMG_MPI_TROUBLE_LATE, run->other_rank);
    is_going = is_going &&
               amg_mpi_run_expect(run, &run->card, sizeof(run->card),
                   AMG_MPI_TAG_ANSWER, AMG_MPI_SLOT_ANSWER) &&
               note_send(run, AMG_MPI_NOTE_HELLO, 0) &&
               answer_wait(run, AMG_MPI_SLOT_ANSWER) &&
               answer_wait(run, AMG_MPI_SLOT_NOTE_OUT);
    if (is_going)
        windows_close(run);
    while (
        is_going && amg_mpi_pace_next(&run->pace, amg_clock_ns(), &size, &pull))
        is_going = step_do(run, size, pull);
    if (is_going)
        figures->is_passive = nap_is_passed(run);
    amg_mpi_pace_figures(&run->pace, figures);
    (void)note_send(run, AMG_MPI_NOTE_END, 0);
}
