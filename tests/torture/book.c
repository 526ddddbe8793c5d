/* SPDX-License-Identifier: BSD-3-Clause */
/* Book of every call that this rank makes or handles.
 *
 * A table with open addressing: a call that is to oneself has one row for both
 * sides. A thread that adds a row claims it by its id, and rows are never taken
 * out before book_open(). */
#include "book.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "exchange.h"
#include "plan.h"

enum { FINDINGS_SHOWN = 20, ROWS_PER_CALL = 4, FINDING_CAP = 800 };

struct row {
    _Atomic uint64_t id; /* 0: free */
    atomic_uchar posts;
    atomic_uchar refused;
    atomic_uchar ends;
    atomic_uchar handled;
    atomic_int code;
};

/* Counts of calls without an id, by class and rank. */
struct counts {
    atomic_long sent[BOOK_COUNTS][PLAN_CLASSES_MAX][PLAN_RANKS_MAX];
    atomic_long handled[BOOK_COUNTS][PLAN_CLASSES_MAX][PLAN_RANKS_MAX];
};

struct book {
    unsigned rank;
    unsigned ranks;
    uint64_t seed;
    unsigned round;
    size_t cap; /* a power of two */
    struct row *rows;
    struct counts *counts;
    atomic_uint findings;
    atomic_long begun;
    atomic_long over;
    atomic_ulong moves;
    atomic_ulong posts;
    bool is_lossy;
    unsigned long vanished;
};

/* What a rank tells of a call that it handled. */
struct note {
    uint64_t id;
    uint64_t handled;
};

struct book *book_create(unsigned rank, unsigned ranks, size_t calls)
{
    struct book *book = calloc(1, sizeof(*book));

    if (book == NULL)
        return NULL;
    book->rank = rank;
    book->ranks = ranks;
    for (book->cap = 1024; book->cap < calls * ROWS_PER_CALL;)
        book->cap *= 2;
    book->rows = calloc(book->cap, sizeof(*book->rows));
    book->counts = calloc(1, sizeof(*book->counts));
    if (book->rows == NULL || book->counts == NULL) {
        book_destroy(book);
        return NULL;
    }
    return book;
}

void book_destroy(struct book *book)
{
    if (book == NULL)
        return;
    free(book->rows);
    free(book->counts);
    free(book);
}

void book_finding(struct book *book, const char *format, ...)
{
    char text[FINDING_CAP];
    va_list list;

    if (atomic_fetch_add(&book->findings, 1) >= FINDINGS_SHOWN)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    fprintf(stderr, "torture: FINDING seed %" PRIu64 " rank %u: round %u: %s\n",
        book->seed, book->rank, book->round, text);
}

unsigned book_findings(const struct book *book)
{
    return atomic_load(&book->findings);
}

void book_open(struct book *book, uint64_t seed, unsigned round)
{
    book->seed = seed;
    book->round = round;
    memset((void *)book->rows, 0, book->cap * sizeof(*book->rows));
    memset((void *)book->counts, 0, sizeof(*book->counts));
    atomic_store(&book->begun, 0);
    atomic_store(&book->over, 0);
    atomic_store(&book->posts, 0);
    book->vanished = 0;
}

void book_lossy(struct book *book)
{
    book->is_lossy = true;
}

uint64_t book_vanished(const struct book *book)
{
    return book->vanished;
}

void book_vanish(struct book *book)
{
    book->vanished++;
}

/* The row of a call, which is added if it is new. */
static struct row *row_of(struct book *book, uint64_t id)
{
    size_t at = (size_t)content_mix(id) & (book->cap - 1);

    for (size_t tries = 0; tries < book->cap; tries++) {
        struct row *row = &book->rows[at];
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&row->id, &found, id) || found == id)
            return row;
        at = (at + 1) & (book->cap - 1);
    }
    fputs("torture: the book is too small\n", stderr);
    abort();
}

static void moved(struct book *book)
{
    atomic_fetch_add_explicit(&book->moves, 1, memory_order_relaxed);
}

void book_post(struct book *book, uint64_t id)
{
    if (atomic_fetch_add(&row_of(book, id)->posts, 1) > 0)
        book_finding(book, "call %016" PRIx64 " posted twice (harness)", id);
    atomic_fetch_add(&book->posts, 1);
    moved(book);
}

void book_refuse(struct book *book, uint64_t id, int code)
{
    struct row *row = row_of(book, id);

    atomic_store(&row->code, code);
    atomic_store(&row->refused, 1);
    moved(book);
}

bool book_end(struct book *book, uint64_t id, int code)
{
    struct row *row = row_of(book, id);

    moved(book);
    if (atomic_fetch_add(&row->ends, 1) > 0) {
        book_finding(book, "callback of call %016" PRIx64 " ran twice", id);
        return false;
    }
    atomic_store(&row->code, code);
    return true;
}

bool book_handle(struct book *book, uint64_t id)
{
    moved(book);
    if (atomic_fetch_add(&row_of(book, id)->handled, 1) > 0) {
        book_finding(book, "call %016" PRIx64 " handled twice", id);
        return false;
    }
    return true;
}

void book_begin(struct book *book)
{
    atomic_fetch_add(&book->begun, 1);
}

void book_over(struct book *book)
{
    atomic_fetch_add(&book->over, 1);
}

void book_count(struct book *book, enum book_count what, unsigned cls,
    bool is_origin, unsigned other)
{
    atomic_fetch_add(is_origin ? &book->counts->sent[what][cls][other]
                               : &book->counts->handled[what][cls][other],
        1);
    moved(book);
}

struct book_sums book_sums(const struct book *book)
{
    struct book_sums sums;

    /* What begins before it ends must not be missed by the later look. */
    sums.over = atomic_load(&book->over);
    sums.begun = atomic_load(&book->begun);
    return sums;
}

uint64_t book_moves(const struct book *book)
{
    return atomic_load_explicit(&book->moves, memory_order_relaxed);
}

uint64_t book_posts(const struct book *book)
{
    return atomic_load(&book->posts);
}

/* Gathers what this rank handled for other ranks. */
static struct note *notes_make(
    struct book *book, book_origin_fn origin, void *arg, size_t *ret_count)
{
    struct note *notes = calloc(book->cap, sizeof(*notes));
    size_t count = 0;

    for (size_t i = 0; notes != NULL && i < book->cap; i++) {
        struct row *row = &book->rows[i];
        uint64_t id = atomic_load(&row->id);

        if (id != 0 && atomic_load(&row->handled) > 0 &&
            origin(arg, id) != book->rank)
            notes[count++] = (struct note){id, atomic_load(&row->handled)};
    }
    *ret_count = count;
    return notes;
}

static void notes_take(struct book *book, struct exchange *exchange,
    book_origin_fn origin, void *arg)
{
    for (unsigned rank = 0; rank < book->ranks; rank++) {
        size_t len = 0;
        const struct note *notes = exchange_of(exchange, rank, &len);

        for (size_t i = 0; rank != book->rank && i < len / sizeof(*notes); i++)
            if (origin(arg, notes[i].id) == book->rank)
                atomic_fetch_add(&row_of(book, notes[i].id)->handled,
                    (unsigned char)notes[i].handled);
    }
}

static void rows_judge(
    struct book *book, book_origin_fn origin, book_judge_fn judge, void *arg)
{
    for (size_t i = 0; i < book->cap; i++) {
        struct row *row = &book->rows[i];
        struct book_fate fate;
        uint64_t id = atomic_load(&row->id);
        const char *wrong = NULL;

        if (id == 0 || origin(arg, id) != book->rank)
            continue;
        fate.was_posted = atomic_load(&row->posts) > 0;
        fate.was_refused = atomic_load(&row->refused) > 0;
        fate.ends = atomic_load(&row->ends);
        fate.code = atomic_load(&row->code);
        fate.handled = atomic_load(&row->handled);
        wrong = fate.was_posted ? judge(arg, id, &fate) : "nobody posted it";
        if (wrong != NULL)
            book_finding(book,
                "call %016" PRIx64 ": %s (refused %d, code %d, ended %u "
                "times, handled %u times)",
                id, wrong, fate.was_refused, fate.code, fate.ends,
                fate.handled);
    }
}

static const char *const count_names[BOOK_COUNTS] = {
    [BOOK_EMPTY] = "empty calls",
    [BOOK_STREAM_EMPTY] = "one-way calls of 0 bytes",
};

static void counts_compare(struct book *book, struct exchange *exchange)
{
    exchange_all(exchange, (const void *)book->counts, sizeof(*book->counts));
    for (unsigned rank = 0; rank < book->ranks; rank++) {
        size_t len = 0;
        const struct counts *other = exchange_of(exchange, rank, &len);

        for (int what = 0; what < BOOK_COUNTS; what++)
            for (int cls = 0; cls < PLAN_CLASSES_MAX; cls++) {
                long sent = atomic_load(&other->sent[what][cls][book->rank]);
                long handled =
                    atomic_load(&book->counts->handled[what][cls][rank]);

                if (book->is_lossy && sent > handled) {
                    if (what == BOOK_STREAM_EMPTY)
                        book->vanished += (unsigned long)(sent - handled);
                } else if (sent != handled)
                    book_finding(book,
                        "%s from rank %u in class %d: %ld sent, %ld handled",
                        count_names[what], rank, cls, sent, handled);
            }
    }
}

void book_compare(struct book *book, struct exchange *exchange,
    book_origin_fn origin, book_judge_fn judge, void *arg)
{
    size_t count = 0;
    struct note *notes = notes_make(book, origin, arg, &count);

    if (notes == NULL)
        abort();
    exchange_all(exchange, notes, count * sizeof(*notes));
    free(notes);
    notes_take(book, exchange, origin, arg);
    rows_judge(book, origin, judge, arg);
    counts_compare(book, exchange);
}
