/* SPDX-License-Identifier: BSD-3-Clause */
/* Book of every call that this rank makes or handles.
 *
 * The origin of a call writes that it posts it, that the library refused it,
 * and how it ended; its target writes that a handler began. At the end the
 * ranks exchange what they handled, and each judges the calls that it made.
 * Calls without an id are counted for each pair of ranks.
 *
 * Any thread may write. */
#ifndef TESTS_TORTURE_BOOK_H
#define TESTS_TORTURE_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct book;
struct exchange;

/* What became of a call, as its origin sees it. */
struct book_fate {
    bool was_posted;
    bool was_refused; /* the post failed with `code` */
    unsigned ends;    /* runs of the callback */
    int code;         /* the last one */
    unsigned handled; /* runs of its handler, in all ranks */
};

/* Calls without an id. */
enum book_count { BOOK_EMPTY, BOOK_STREAM_EMPTY, BOOK_COUNTS };

/* Nothing is under way when the sums over all ranks are equal, and did not
 * change between two exchanges. */
struct book_sums {
    long begun;
    long over;
};

/* Room for `calls` calls. */
struct book *book_create(unsigned rank, unsigned ranks, size_t calls);
void book_destroy(struct book *book);

/* Writes a line "torture: FINDING seed S rank R: ...". */
void book_finding(struct book *book, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
unsigned book_findings(const struct book *book);

/* Forgets all calls; names the seed and round of the next ones. */
void book_open(struct book *book, uint64_t seed, unsigned round);

/* Origin: before the post, if the library refused it, and in the callback.
 * book_end() returns false, with a finding, if the callback ran before. */
void book_post(struct book *book, uint64_t id);
void book_refuse(struct book *book, uint64_t id, int code);
bool book_end(struct book *book, uint64_t id, int code);

/* Target. False, with a finding: a handler of the call began before. */
bool book_handle(struct book *book, uint64_t id);

/* Either side: something is under way from now on, and is over. A one-way call
 * begins at its origin and is over at its target. */
void book_begin(struct book *book);
void book_over(struct book *book);

/* Either side counts a call without an id; `other` is the other side. */
void book_count(struct book *book, enum book_count what, unsigned cls,
    bool is_origin, unsigned other);

struct book_sums book_sums(const struct book *book);
/* One-way calls of this rank, and such to this rank without an id, may vanish
 * from now on, as calls of the library fail; how many did, after
 * book_compare(). */
void book_lossy(struct book *book);
uint64_t book_vanished(const struct book *book);
/* Judge: a one-way call vanished. */
void book_vanish(struct book *book);
/* A number that changes whenever something happens. */
uint64_t book_moves(const struct book *book);
/* Calls that this rank made. */
uint64_t book_posts(const struct book *book);

/* Judges a call of this rank: NULL, or what is wrong. */
typedef const char *(*book_judge_fn)(
    void *arg, uint64_t id, const struct book_fate *fate);
/* Names the origin of a call. */
typedef unsigned (*book_origin_fn)(void *arg, uint64_t id);

/* Compares the books of all ranks, which all call it. */
void book_compare(struct book *book, struct exchange *exchange,
    book_origin_fn origin, book_judge_fn judge, void *arg);

#ifdef __cplusplus
}
#endif

#endif
