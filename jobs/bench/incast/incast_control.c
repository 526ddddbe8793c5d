/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks but one call that one, by bare non-blocking MPI calls.
 *
 * What a program would write that needs no more than this: the target keeps
 * receives posted, answers to the place in the window that a request names, and
 * ends when each origin has sent its end, which it does when it has all its
 * answers. */
#include "jobs/bench/frame/team.h"
#include "jobs/bench/incast/incast.h"

enum {
    WORDS = 3, /* of an answer: as long as our reply is */
    TAG_REQUEST = 200,
    TAG_END = 201,
    TAG_ANSWER = 202,         /* and one more for each place in the window */
    END = OPTIONS_WINDOW_MAX, /* the receive for ends */
};

/* NOTE(gcc 12): it takes the constant for the address of an array, and warns;
 * so it must not see what this is. */
static MPI_Status *volatile all_statuses = MPI_STATUSES_IGNORE;

struct answer {
    uint64_t
        words[WORDS]; /* the origin, the number, the place; of an end: how
                       * many requests there were, the sum of the numbers */
};

/* Of an origin or the target, during a batch. */
struct side {
    struct pair *team;
    size_t len; /* of a request */
    unsigned window;
    MPI_Request receives[OPTIONS_WINDOW_MAX + 1]; /* the last one for ends */
    MPI_Request sends[OPTIONS_WINDOW_MAX + 1];
    struct answer answers[OPTIONS_WINDOW_MAX];
    uint64_t number_sum;
    /* The origin's. */
    struct stint stint;
    double posted_us[OPTIONS_WINDOW_MAX];
    uint64_t numbers[OPTIONS_WINDOW_MAX]; /* of the requests in flight */
    /* The target's. */
    unsigned receive_count;
    uint64_t served;
    unsigned ended; /* origins that have */
    struct answer end;
    uint64_t told; /* how many requests they have made */
    uint64_t told_sum;
};

static void side_init(
    struct side *side, struct pair *team, const struct duel *duel)
{
    unsigned all = duel->window * incast_origins(team);

    *side = (struct side){.team = team, .window = duel->window};
    side->len = duel->size == 0 ? INCAST_HEAD_LEN : duel->size;
    side->receive_count = all < END ? all : END;
    for (unsigned i = 0; i <= END; i++)
        side->sends[i] = side->receives[i] = MPI_REQUEST_NULL;
}

static unsigned char *place_of(
    const struct side *side, unsigned char *buf, unsigned i)
{
    return buf + i * side->len;
}

/* Waits for what has as good as ended, without keeping the core. */
static void request_wait(const struct side *side, MPI_Request *request)
{
    int is_done = 0;

    while (MPI_Test(request, &is_done, MPI_STATUS_IGNORE), !is_done)
        team_idle(side->team);
}

/* The next request, from that place of the window. */
static void request_post(struct side *side, unsigned place)
{
    struct pair *team = side->team;
    unsigned char *room = place_of(side, team->room, place);
    uint64_t number = side->stint.posted;

    incast_head_write(team, number, place, room);
    side->numbers[place] = number;
    side->number_sum += number;
    side->posted_us[place] = stint_post(&side->stint);
    MPI_Irecv(side->answers[place].words, WORDS, MPI_UINT64_T, INCAST_TARGET,
        TAG_ANSWER + (int)place, team->comm, &side->receives[place]);
    MPI_Isend(room, (int)side->len, MPI_BYTE, INCAST_TARGET, TAG_REQUEST,
        team->comm, &side->sends[place]);
}

/* The answer to the request of that place is here. */
static void answer_take(struct side *side, unsigned place, bool goes_on)
{
    const uint64_t *words = side->answers[place].words;

    if (words[0] != (uint64_t)side->team->rank ||
        words[1] != side->numbers[place] || words[2] != place)
        pair_fail(side->team, "an answer of the control is another's");
    stint_call_ended(&side->stint, side->posted_us[place]);
    request_wait(side, &side->sends[place]);
    if (goes_on)
        request_post(side, place);
}

static void answers_look(struct side *side, bool goes_on)
{
    int indices[OPTIONS_WINDOW_MAX];
    int count = 0;

    MPI_Testsome(
        (int)side->window, side->receives, &count, indices, all_statuses);
    for (int i = 0; i < count; i++)
        answer_take(side, (unsigned)indices[i], goes_on);
    if (count <= 0)
        team_idle(side->team);
}

static void origin_run(struct side *side, const struct incast *incast)
{
    struct pair *team = side->team;
    struct stint *stint = &side->stint;
    struct answer end = {{0}};
    MPI_Request request;

    for (unsigned i = 0; i < side->window; i++)
        incast_fill(team, place_of(side, team->room, i), side->len);
    pair_barrier(team);
    stint_start(stint, incast->counts_ms, side->len);
    for (unsigned i = 0; i < side->window; i++)
        request_post(side, i);
    while (stint_goes_on(stint))
        answers_look(side, true);
    while (stint->ended < stint->posted)
        answers_look(side, false);
    end.words[0] = stint->posted;
    end.words[1] = side->number_sum;
    MPI_Isend(end.words, WORDS, MPI_UINT64_T, INCAST_TARGET, TAG_END,
        team->comm, &request);
    request_wait(side, &request);
}

static void receive_post(struct side *side, unsigned i)
{
    struct pair *team = side->team;

    if (i == END)
        MPI_Irecv(side->end.words, WORDS, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_END,
            team->comm, &side->receives[i]);
    else
        MPI_Irecv(place_of(side, team->landing, i), (int)side->len, MPI_BYTE,
            MPI_ANY_SOURCE, TAG_REQUEST, team->comm, &side->receives[i]);
}

/* Answers what receive `i` got, and posts it again. */
static void request_serve(struct side *side, unsigned i)
{
    struct incast_head head =
        incast_check(side->team, place_of(side, side->team->landing, i),
            side->len, "a request of the control");
    uint64_t *words = side->answers[i].words;

    if (head.place >= side->window ||
        head.origin >= (unsigned)side->team->world->size)
        pair_fail(side->team, "a request of the control is damaged");
    side->served++;
    side->number_sum += head.number;
    request_wait(side, &side->sends[i]);
    words[0] = head.origin;
    words[1] = head.number;
    words[2] = head.place;
    MPI_Isend(words, WORDS, MPI_UINT64_T, (int)head.origin,
        TAG_ANSWER + (int)head.place, side->team->comm, &side->sends[i]);
    receive_post(side, i);
}

/* An origin has all its answers. */
static void end_take(struct side *side)
{
    side->ended++;
    side->told += side->end.words[0];
    side->told_sum += side->end.words[1];
    receive_post(side, END);
}

static void receives_cancel(struct side *side)
{
    for (unsigned i = 0; i <= END; i++) {
        request_wait(side, &side->sends[i]);
        if (side->receives[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(&side->receives[i]);
        request_wait(side, &side->receives[i]);
    }
}

static void target_run(struct side *side)
{
    int indices[END + 1];

    for (unsigned i = 0; i < side->receive_count; i++)
        receive_post(side, i);
    receive_post(side, END);
    pair_barrier(side->team);
    while (side->ended < incast_origins(side->team)) {
        int count = 0;

        MPI_Testsome(END + 1, side->receives, &count, indices, all_statuses);
        for (int i = 0; i < count; i++)
            if (indices[i] == END)
                end_take(side);
            else
                request_serve(side, (unsigned)indices[i]);
        if (count <= 0)
            team_idle(side->team);
    }
    receives_cancel(side);
    if (side->served != side->told || side->number_sum != side->told_sum)
        pair_fail(side->team,
            "%llu requests of the control came instead of %llu",
            (unsigned long long)side->served, (unsigned long long)side->told);
}

double incast_control(struct pair *team, struct duel *duel, double *ret_samples)
{
    struct incast *incast = duel->more;
    bool is_target = team->rank == INCAST_TARGET;
    struct side side;

    side_init(&side, team, duel);
    if (is_target)
        target_run(&side);
    else
        origin_run(&side, incast);
    pair_barrier(team);
    return incast_end(team, duel, is_target ? NULL : &side.stint,
        &incast->control, ret_samples);
}
