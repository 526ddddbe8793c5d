/* SPDX-License-Identifier: BSD-3-Clause */
/* Child process that creates a segment, exposes memory, and waits to be killed;
 * copies between it and the test. */
#ifndef TESTS_UNIT_SHM_EXPOSER_H
#define TESTS_UNIT_SHM_EXPOSER_H

#include <sys/types.h>

#include "base/mem.h"
#include "shm/shm_bulk.h"

enum {
    LEN = 3 << 20,
    HOLE_LEN = 16 * AMG_PAGE_LEN, /* the second half is unmapped */
};

static const uint64_t HUGE_LEN = 5ull << 30;
static const uint64_t FAR_AT = (4ull << 30) - 5000;

/* Memory that the child exposes. */
enum {
    IN_HEAP,
    IN_AREA,
    READ_ONLY,
    IN_HOLE,
    HUGE_ONE,
    ROWS_IN_HEAP,
    ROWS_IN_AREA,
    ROWS_IN_BOTH, /* alternately */
    ROWS_IN_HOLE, /* the second half of them */
    KINDS
};

enum { ROWS = 1500, ROW_LEN = 128, HOLE_AT = 24 * AMG_PAGE_LEN };

struct shown {
    char name[AMG_SHM_NAME_CAP];
    struct amg_shm_key keys[KINDS];
};

struct exposer {
    pid_t child;
    struct shown shown;
    struct amg_shm_domain domain;
    struct amg_shm_peer peer;
    char *local;
};

/* The bytes of exposed memory, by their position in it. */
char exposer_byte_at(uint64_t i);
void exposer_fill(char *bytes, uint64_t from, size_t len);
void exposer_assert_filled(const char *bytes, uint64_t from, size_t len);

/* The rows are of uneven length, some of them empty, some adjacent. */
uint64_t exposer_row_len(unsigned i);
uint64_t exposer_rows_sum(void);

/* cmocka's. */
int exposer_setup(void **state);
int exposer_teardown(void **state);

void exposer_kill(struct exposer *f);
/* Chooses a way of copying, and skips the test if the system forbids it. */
void exposer_skip_without(struct exposer *f, enum amg_shm_copy copy);

/* Copies all of it, step by step. Returns the result, and the number of copied
 * bytes. */
hg_return_t exposer_move(struct exposer *f, int kind, uint32_t direction,
    uint64_t offset, uint64_t len, uint64_t *ret_moved);

#endif
