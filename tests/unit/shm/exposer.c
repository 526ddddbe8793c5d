/* SPDX-License-Identifier: BSD-3-Clause */
/* Child process that creates a segment, exposes memory, and waits to be killed;
 * copies between it and the test. */
#include "unit/shm/exposer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"
#include "transport/self.h"

enum { AREA_LEN = 8 << 20, ROWS_AT = LEN + AMG_PAGE_LEN };

char exposer_byte_at(uint64_t i)
{
    return (char)(i * 7 + i / 4096 * 13);
}

void exposer_fill(char *bytes, uint64_t from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = exposer_byte_at(from + i);
}

void exposer_assert_filled(const char *bytes, uint64_t from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != exposer_byte_at(from + i))
            fail_msg("byte %zu is wrong", i);
}

static void die_if(bool is_bad)
{
    if (is_bad)
        _exit(EXIT_FAILURE);
}

static void expose_list(struct amg_shm_exposer *keys,
    const struct amg_segment *parts, uint32_t count, uint8_t flags,
    struct amg_shm_key *ret_key)
{
    struct amg_mem *mem = NULL;
    struct amg_key key;

    die_if(amg_shm_exposer_add(keys, &amg_self_transport, parts, count, flags,
               &mem) != HG_SUCCESS);
    amg_shm_key_write(mem, &key);
    die_if(amg_shm_key_read(&key, ret_key) != HG_SUCCESS);
}

static void expose(struct amg_shm_exposer *keys, void *base, uint64_t len,
    uint8_t flags, struct amg_shm_key *ret_key)
{
    expose_list(keys, &(struct amg_segment){base, len}, 1, flags, ret_key);
}

uint64_t exposer_row_len(unsigned i)
{
    return i % 11 == 3 ? 0 : i % 5 == 0 ? ROW_LEN : (i * 37) % 100 + 1;
}

uint64_t exposer_rows_sum(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < ROWS; i++)
        sum += exposer_row_len(i);
    return sum;
}

/* `odd` has every other seven of them. */
static void expose_rows(struct amg_shm_exposer *keys, char *even, char *odd,
    struct amg_shm_key *ret_key)
{
    struct amg_segment rows[ROWS];
    uint64_t sum = 0;

    for (unsigned i = 0; i < ROWS; i++) {
        char *base = (i / 7 % 2 == 0 ? even : odd) + i * ROW_LEN;

        rows[i] = (struct amg_segment){base, exposer_row_len(i)};
        exposer_fill(base, sum, rows[i].len);
        sum += rows[i].len;
    }
    expose_list(keys, rows, ROWS, AMG_MEM_READ | AMG_MEM_WRITE, ret_key);
}

static void *map(uint64_t len)
{
    void *base = mmap(NULL, len, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    die_if(base == MAP_FAILED);
    return base;
}

static void child_main(int out)
{
    static struct amg_shm_exposer keys;
    struct amg_shm_region region;
    struct amg_mapping mapping;
    struct amg_area area;
    struct shown shown;
    char *bytes = map(LEN);
    char *hole = map(HOLE_LEN);
    char *huge = map(HUGE_LEN);
    char *rows[] = {map(LEN), map(LEN), map(LEN)};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    die_if(amg_mapping_open("test", AREA_LEN, &mapping) != HG_SUCCESS);
    area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    die_if(amg_shm_region_create(&(struct amg_shm_region_params){.name = "",
                                     .max_contexts = 1,
                                     .message_len = 4096,
                                     .area = &area},
               &region) != HG_SUCCESS);
    memset(&shown, 0, sizeof(shown));
    memcpy(shown.name, region.name, sizeof(shown.name));
    amg_shm_exposer_init(
        &keys, region.keys, region.incarnation, amg_process_life);
    exposer_fill(bytes, 0, LEN);
    exposer_fill((char *)area.base + 100, 0, LEN);
    exposer_fill(hole, 0, HOLE_LEN);
    exposer_fill(huge + FAR_AT, FAR_AT, 10000);
    expose(
        &keys, bytes, LEN, AMG_MEM_READ | AMG_MEM_WRITE, &shown.keys[IN_HEAP]);
    expose(&keys, (char *)area.base + 100, LEN, AMG_MEM_READ | AMG_MEM_WRITE,
        &shown.keys[IN_AREA]);
    expose(&keys, bytes, LEN, AMG_MEM_READ, &shown.keys[READ_ONLY]);
    expose(&keys, hole, HOLE_LEN, AMG_MEM_READ | AMG_MEM_WRITE,
        &shown.keys[IN_HOLE]);
    expose(&keys, huge, HUGE_LEN, AMG_MEM_READ, &shown.keys[HUGE_ONE]);
    expose_rows(&keys, rows[0], rows[0], &shown.keys[ROWS_IN_HEAP]);
    expose_rows(&keys, (char *)area.base + ROWS_AT, (char *)area.base + ROWS_AT,
        &shown.keys[ROWS_IN_AREA]);
    expose_rows(&keys, (char *)area.base + 2 * ROWS_AT, rows[1],
        &shown.keys[ROWS_IN_BOTH]);
    expose_rows(&keys, rows[2], rows[2], &shown.keys[ROWS_IN_HOLE]);
    die_if(munmap(hole + HOLE_LEN / 2, HOLE_LEN / 2) != 0);
    die_if(munmap(rows[2] + HOLE_AT, AMG_PAGE_LEN) != 0);
    die_if(write(out, &shown, sizeof(shown)) != sizeof(shown));
    for (;;)
        pause();
}

int exposer_setup(void **state)
{
    struct exposer *f = calloc(1, sizeof(*f));
    int pipes[2];

    *state = f;
    f->local = calloc(1, LEN);
    if (pipe(pipes) != 0)
        return 1;
    f->child = fork();
    if (f->child == 0)
        child_main(pipes[1]);
    close(pipes[1]);
    if (read(pipes[0], &f->shown, sizeof(f->shown)) != sizeof(f->shown))
        return 1;
    close(pipes[0]);
    if (amg_shm_region_create(
            &(struct amg_shm_region_params){
                .name = "", .max_contexts = 1, .message_len = 4096},
            &f->domain.region) != HG_SUCCESS)
        return 1;
    f->domain.bulk.id =
        (struct amg_shm_accessor_id){f->domain.region.incarnation | 2,
            f->domain.region.start_time, f->domain.region.pid};
    f->peer.domain = &f->domain;
    return amg_shm_region_map(f->shown.name, &f->peer.region) != HG_SUCCESS;
}

void exposer_kill(struct exposer *f)
{
    if (f->child == 0)
        return;
    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    f->child = 0;
}

int exposer_teardown(void **state)
{
    struct exposer *f = *state;

    amg_shm_peer_bulk_fini(&f->peer.bulk);
    exposer_kill(f);
    amg_shm_region_fini(&f->peer.region);
    amg_shm_region_fini(&f->domain.region);
    amg_shm_files_clean();
    free(f->local);
    free(f);
    return 0;
}

hg_return_t exposer_move(struct exposer *f, int kind, uint32_t direction,
    uint64_t offset, uint64_t len, uint64_t *ret_moved)
{
    struct amg_shm_access access = {.key = f->shown.keys[kind],
        .direction = direction,
        .offset = offset,
        .len = len};
    const struct amg_segment here = {f->local, LEN};
    struct amg_seg_iter local = {&here, 1, 0, 0};
    uint64_t moved = 0;
    hg_return_t rc = HG_SUCCESS;

    while (moved < len && rc == HG_SUCCESS) {
        uint64_t budget = 1 << 20;
        uint64_t step = 0;

        access.offset = offset + moved;
        access.len = len - moved;
        rc = amg_shm_copy_step(
            &f->domain, &f->peer, &access, &local, &budget, &step);
        if (rc == HG_SUCCESS) {
            assert_in_range(step, 1, 1 << 20);
            moved += step;
        }
    }
    if (ret_moved != NULL)
        *ret_moved = moved;
    return rc;
}

void exposer_skip_without(struct exposer *f, enum amg_shm_copy copy)
{
    f->domain.bulk.copy = copy;
    if (exposer_move(f, copy == AMG_SHM_COPY_DIRECT ? IN_AREA : IN_HEAP,
            AMG_MEM_READ, 0, 1, NULL) == HG_OPNOTSUPPORTED)
        skip();
}
