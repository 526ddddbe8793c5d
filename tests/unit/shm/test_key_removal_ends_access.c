/* SPDX-License-Identifier: BSD-3-Clause */
/* Removal of exposed memory: no access is in flight afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

#include "shm/shm_keys.h"
#include "transport/self.h"

static const struct amg_shm_accessor_id me = {
    .id = 77, .start_time = 5, .pid = 4};

static enum amg_life is_alive(uint32_t pid, uint64_t start_time)
{
    (void)pid;
    (void)start_time;
    return AMG_LIFE_ALIVE;
}

/* Exposes and removes again and again, while threads access: inside an access
 * they never see the value written after the removal. */
enum { SLOTS = 4, VISITORS = 3, TURNS = 20000 };

struct race {
    struct amg_shm_exposer keys;
    struct amg_shm_key_table *table;
    struct amg_shm_accessor *accessor;
    _Atomic uint64_t shown[SLOTS]; /* index and serial */
    atomic_uint cells[SLOTS];      /* 1 while exposed, else 0 */
    atomic_uint bad;
    atomic_uint entered;
    atomic_bool is_over;
};

static void *visitor_run(void *arg)
{
    struct race *race = arg;
    unsigned i = 0;

    while (!atomic_load(&race->is_over)) {
        uint64_t key = atomic_load(&race->shown[i++ % SLOTS]);
        struct amg_shm_access access = {
            .key = {(uint32_t)key, (uint32_t)(key >> 32), race->keys.salt},
            .direction = AMG_MEM_READ,
            .len = sizeof(unsigned)};
        unsigned visit = 0;
        struct amg_shm_view view;

        if (amg_shm_access_enter(race->table, race->accessor, &access, &visit,
                &view) != HG_SUCCESS)
            continue;
        atomic_fetch_add(&race->entered, 1);
        for (int k = 0; k < 20; k++)
            if (atomic_load_explicit((atomic_uint *)(uintptr_t)view.at,
                    memory_order_relaxed) != 1)
                atomic_fetch_add(&race->bad, 1);
        amg_shm_access_leave(race->accessor, visit);
    }
    return NULL;
}

static void hide(struct race *race, struct amg_mem *mem)
{
    assert_int_equal(
        amg_shm_exposer_remove(&race->keys, mem, 10000), HG_SUCCESS);
}

static void test_keys_removed_memory_is_left_alone(void **state)
{
    static struct race race;
    pthread_t threads[VISITORS];
    struct amg_mem *mems[SLOTS] = {NULL};

    (void)state;
    race.table = calloc(1, sizeof(*race.table));
    assert_non_null(race.table);
    amg_shm_exposer_init(&race.keys, race.table, 0x1234567890ull, is_alive);
    race.accessor = amg_shm_access_claim(race.table, NULL, &me, is_alive);
    for (int i = 0; i < VISITORS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, visitor_run, &race), 0);
    for (unsigned turn = 0; turn < TURNS || atomic_load(&race.entered) == 0;
         turn++) {
        unsigned i = turn % SLOTS;
        struct amg_segment part = {&race.cells[i], sizeof(unsigned)};
        struct amg_shm_key key;
        struct amg_key wire;

        if (mems[i] != NULL) {
            hide(&race, mems[i]);
            atomic_store(&race.cells[i], 0);
        }
        atomic_store(&race.cells[i], 1);
        assert_int_equal(amg_shm_exposer_add(&race.keys, &amg_self_transport,
                             &part, 1, AMG_MEM_READ, &mems[i]),
            HG_SUCCESS);
        amg_shm_key_write(mems[i], &wire);
        assert_int_equal(amg_shm_key_read(&wire, &key), HG_SUCCESS);
        atomic_store(&race.shown[i], (uint64_t)key.serial << 32 | key.index);
    }
    atomic_store(&race.is_over, true);
    for (int i = 0; i < VISITORS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        hide(&race, mems[i]);
    amg_shm_access_release(race.accessor);
    amg_shm_exposer_fini(&race.keys);
    free(race.table);
    assert_int_equal(atomic_load(&race.bad), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_removed_memory_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
