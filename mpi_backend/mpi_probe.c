/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures what windows and messages are worth between nodes.
 *
 * The first rank of a node pulls from the first rank of the next one. They do
 * so in rounds, in which each rank has one part at most: even ones pull first,
 * then odd ones, and where their number is odd, the last one on its own.
 *
 * Each wait of a measurement ends with its round. Who pulls says END in any
 * case, who is pulled from waits for that, and nobody votes before all it began
 * has ended: so no message is left behind for others to find, and all that
 * remains for a rank that is away in the end is to wait for it. */
#include "mpi_backend/mpi_probe.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mpi_backend/mpi_comm.h"
#include "mpi_backend/mpi_run.h"

static void spot_fill(
    const struct amg_mpi_spot *spot, int rank, enum amg_mpi_memory memory)
{
    uint64_t *words = spot->bytes;

    for (size_t i = 0; i < AMG_MPI_PROBE_LEN / sizeof(*words); i++)
        words[i] = amg_mpi_run_pattern(rank, memory, i);
}

/* Away from MPI for a while; what is sent before has left by then. */
static bool nap_take(struct amg_mpi_run *run)
{
    uint64_t end_ns = 0;

    if (!amg_mpi_run_send(
            run, &run->going[true], 1, AMG_MPI_TAG_ANSWER, AMG_MPI_SLOT_ANSWER))
        return false;
    end_ns = amg_clock_ns() + AMG_MPI_NAP_NS;
    while (amg_clock_ns() < end_ns)
        amg_clock_sleep_ns(end_ns - amg_clock_ns());
    return amg_mpi_run_send(run, &run->back[true], 1, AMG_MPI_TAG_ANSWER,
               AMG_MPI_SLOT_BACK) &&
           amg_mpi_run_wait(run, AMG_MPI_SLOT_ANSWER, run->patience_end_ns) &&
           amg_mpi_run_wait(run, AMG_MPI_SLOT_BACK, run->patience_end_ns);
}

/* Does what a note says. False: that was the last. */
static bool note_serve(struct amg_mpi_run *run)
{
    const struct amg_mpi_note *note = &run->note_in;

    switch ((enum amg_mpi_note_kind)note->kind) {
    case AMG_MPI_NOTE_HELLO:
        return amg_mpi_run_send(run, &run->own, sizeof(run->own),
                   AMG_MPI_TAG_ANSWER, AMG_MPI_SLOT_ANSWER) &&
               amg_mpi_run_wait(run, AMG_MPI_SLOT_ANSWER, run->patience_end_ns);
    case AMG_MPI_NOTE_ASK:
        return amg_mpi_run_send(run, run->given, note->len, AMG_MPI_TAG_BYTES,
                   AMG_MPI_SLOT_BYTES) &&
               amg_mpi_run_wait(run, AMG_MPI_SLOT_BYTES, run->patience_end_ns);
    case AMG_MPI_NOTE_NAP:
        return nap_take(run);
    case AMG_MPI_NOTE_END:
        break;
    }
    return false;
}

static void card_write(struct amg_mpi_run *run)
{
    const struct amg_mpi_probe *probe = run->probe;
    struct amg_mpi_card *card = &run->own;

    *card = (struct amg_mpi_card){.knock_disp = probe->knock.disp};
    card->has_knock =
        probe->knock.win != MPI_WIN_NULL && probe->knock.bytes != NULL;
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++) {
        card->disp[i] = probe->spots[i].disp;
        card->has[i] = probe->spots[i].win != MPI_WIN_NULL &&
                       probe->spots[i].bytes != NULL;
    }
}

/* This rank is pulled from, in one round, by who is `run->other`. */
static void round_serve(struct amg_mpi_run *run)
{
    do {
        if (!amg_mpi_run_expect(run, &run->note_in, sizeof(run->note_in),
                AMG_MPI_TAG_NOTE, AMG_MPI_SLOT_NOTE_IN))
            return;
        if (!amg_mpi_run_wait(
                run, AMG_MPI_SLOT_NOTE_IN, run->patience_end_ns)) {
            amg_mpi_run_trouble(run, AMG_MPI_TROUBLE_LATE, run->other_rank);
            return;
        }
    } while (note_serve(run));
}

/* The rank in the job of one that measures. */
static int leader_rank(const struct amg_mpi_run *run, int leader)
{
    MPI_Group leaders = MPI_GROUP_NULL;
    MPI_Group all = MPI_GROUP_NULL;
    int rank = -1;

    if (MPI_Comm_group(run->leaders, &leaders) == MPI_SUCCESS &&
        MPI_Comm_group(run->probe->comm, &all) == MPI_SUCCESS)
        MPI_Group_translate_ranks(leaders, 1, &leader, all, &rank);
    if (leaders != MPI_GROUP_NULL)
        MPI_Group_free(&leaders);
    if (all != MPI_GROUP_NULL)
        MPI_Group_free(&all);
    return rank;
}

static void round_set(
    struct amg_mpi_run *run, unsigned round, unsigned rounds, bool is_serving)
{
    int step = is_serving ? run->count - 1 : 1;

    run->is_serving = is_serving;
    run->other = (run->me + step) % run->count;
    run->other_rank = leader_rank(run, run->other);
    run->round_end_ns =
        run->start_ns +
        (round + 1) * (run->probe->budget_ms * AMG_NS_PER_MS / rounds);
}

static void rounds_run(struct amg_mpi_run *run)
{
    unsigned count = (unsigned)run->count;
    unsigned me = (unsigned)run->me;
    unsigned rounds = amg_mpi_pace_rounds(count);

    for (unsigned round = 0; round < rounds; round++) {
        if (amg_mpi_pace_round_of(me, count) == round) {
            round_set(run, round, rounds, false);
            amg_mpi_ask(run);
        }
        if (amg_mpi_pace_round_of((me + count - 1) % count, count) == round) {
            round_set(run, round, rounds, true);
            round_serve(run);
        }
    }
}

/* Have all that measure what they need? All ranks begin together then: none of
 * those that measure is late from the start, and nobody waits for a vote while
 * one has not begun. */
static bool ranks_begin(struct amg_mpi_run *run)
{
    int mine =
        !run->probe->is_leader || (run->got != NULL && run->given != NULL);
    int all = 0;

    if (!mine)
        amg_mpi_run_trouble(run, AMG_MPI_TROUBLE_MEMORY, run->probe->rank);
    return amg_mpi_run_is_good(run,
               MPI_Allreduce(
                   &mine, &all, 1, MPI_INT, MPI_MIN, run->probe->comm),
               "MPI_Allreduce") &&
           all != 0;
}

static void leaders_prepare(struct amg_mpi_run *run)
{
    const struct amg_mpi_probe *probe = run->probe;

    MPI_Comm_set_errhandler(run->leaders, MPI_ERRORS_RETURN);
    MPI_Comm_rank(run->leaders, &run->me);
    MPI_Comm_size(run->leaders, &run->count);
    for (unsigned i = 0; i < AMG_MPI_MEMORIES; i++)
        if (probe->spots[i].bytes != NULL)
            spot_fill(&probe->spots[i], probe->rank, (enum amg_mpi_memory)i);
    card_write(run);
}

static void leaders_measure(struct amg_mpi_run *run)
{
    const struct amg_mpi_probe *probe = run->probe;

    run->start_ns = amg_clock_ns();
    run->patience_end_ns = run->start_ns + probe->patience_ms * AMG_NS_PER_MS;
    rounds_run(run);
    run->ballot.figures.probe_ns = amg_clock_ns() - run->start_ns;
}

static void run_init(struct amg_mpi_run *run, const struct amg_mpi_probe *probe)
{
    memset(run, 0, sizeof(*run));
    run->probe = probe;
    run->leaders = MPI_COMM_NULL;
    run->ballot.figures.windows_ns = probe->windows_ns;
    run->ballot.figures.trouble = probe->trouble;
    run->ballot.figures.rank = (uint32_t)probe->rank;
    run->visit[0] = 1;
    run->minus_one = -1;
    for (unsigned i = 0; i < AMG_MPI_SLOTS; i++)
        run->requests[false][i] = run->requests[true][i] = MPI_REQUEST_NULL;
}

/* Nothing of it is in motion. */
static void run_fini(struct amg_mpi_run *run)
{
    if (run->leaders != MPI_COMM_NULL)
        MPI_Comm_free(&run->leaders);
    amg_mem_free(run->got);
    amg_mem_free(run->given);
}

/* Who measured has waited once already, in a round. The others wait for that as
 * well, and last: who gave up before them would leave them alone. */
static uint64_t vote_wait_ns(const struct amg_mpi_probe *probe)
{
    uint64_t waits = probe->is_leader ? 1 : 3;

    return waits * probe->patience_ms * AMG_NS_PER_MS;
}

hg_return_t amg_mpi_probe_run(
    const struct amg_mpi_probe *probe, struct amg_mpi_figures *ret_figures)
{
    struct amg_mpi_run *made = amg_mem_alloc(sizeof(*made));
    struct amg_mpi_run spare; /* which nothing is begun with */
    struct amg_mpi_run *run = made == NULL ? &spare : made;
    hg_return_t rc = HG_SUCCESS;
    int code = MPI_SUCCESS;

    run_init(run, probe);
    if (probe->is_leader && made != NULL) {
        run->got = amg_mem_zalloc(AMG_MPI_PROBE_LEN);
        run->given = amg_mem_zalloc(AMG_MPI_PROBE_LEN);
    }
    code = MPI_Comm_split(probe->comm, probe->is_leader ? 0 : MPI_UNDEFINED,
        probe->rank, &run->leaders);
    if (code != MPI_SUCCESS) {
        run_fini(run);
        amg_mem_free(made);
        return amg_mpi_comm_error(code, "finding one rank of each node");
    }
    if (probe->is_leader)
        leaders_prepare(run);
    if (ranks_begin(run) && probe->is_leader)
        leaders_measure(run);
    rc = amg_mpi_vote(probe->comm, run->requests[false], 2 * AMG_MPI_SLOTS,
        amg_clock_ns() + vote_wait_ns(probe), &run->ballot);
    if (rc != HG_SUCCESS)
        return rc; /* MPI may still use what `run` has */
    *ret_figures = run->ballot.figures;
    run_fini(run);
    amg_mem_free(made);
    return HG_SUCCESS;
}
