/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of segments: chosen, in use, left behind by the dead, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "shm/shm_files.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum { ROUNDS = 300, REMOVERS = 3 };

static const struct amg_transport *const shm = &amg_shm_transport;

/* A name that no other test, nor another run of this one, chooses. */
static const char *name_choose(char room[AMG_SHM_NAME_CAP], const char *what)
{
    snprintf(room, AMG_SHM_NAME_CAP, "test.%s-%d", what, (int)getpid());
    return room;
}

static hg_return_t open_as(const char *name, struct amg_domain **ret_domain)
{
    const struct amg_open how = {
        .info = name, .is_listening = true, .max_contexts = 1};

    return shm->domain.open(&how, ret_domain);
}

static void test_chosen_name_is_the_address(void **state)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;
    char name[AMG_SHM_NAME_CAP];
    char text[PARTY_TEXT_CAP];

    (void)state;
    party_child_start(&child, PARTY_ECHO, name_choose(name, "server"));
    snprintf(text, sizeof(text), "na+sm://%s", name);
    assert_string_equal(child.address, text);
    party_open(&party, "", 0);
    for (int i = 0; i < 3; i++) {
        static const char *const schemes[] = {"sm", "shm", "na+sm"};

        snprintf(text, sizeof(text), "%s://%s", schemes[i], name);
        peer = party_find(&party, text);
        party_ask(&party, peer, &call, 7, 16);
        assert_int_equal(party_wait(&party, &call), HG_SUCCESS);
        assert_true(party_answer_is(&party, &call, 7));
        shm->addr.drop(party.domain, peer);
    }
    party_child_end(&child);
    party_close(&party);
}

static void test_name_in_use_is_refused_until_its_owner_dies(void **state)
{
    struct party_child child;
    struct amg_domain *domain = NULL;
    struct amg_domain *second = NULL;
    char name[AMG_SHM_NAME_CAP];

    (void)state;
    party_child_start(&child, PARTY_DEAF, name_choose(name, "used"));
    assert_int_equal(open_as(name, &domain), HG_ADDRINUSE);
    assert_null(domain);
    party_child_kill(&child);
    assert_int_equal(open_as(name, &domain), HG_SUCCESS);
    assert_int_equal(open_as(name, &second), HG_ADDRINUSE);
    shm->domain.close(domain);
    assert_int_equal(open_as(name, &domain), HG_SUCCESS);
    shm->domain.close(domain);
}

/* The files of the process: segments and bells. */
static unsigned files_count(pid_t pid)
{
    char prefix[AMG_SHM_PATH_CAP];
    struct dirent *entry = NULL;
    DIR *folder = opendir("/dev/shm");
    unsigned count = 0;

    assert_non_null(folder);
    snprintf(prefix, sizeof(prefix), "amalgam-%u-%d-", (unsigned)geteuid(),
        (int)pid);
    while ((entry = readdir(folder)) != NULL)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(folder);
    return count;
}

static void test_segment_without_a_name_is_found_and_leaves_no_file(
    void **state)
{
    struct party_child child;
    struct party party;
    struct party_call call;
    struct amg_peer *peer = NULL;

    (void)state;
    party_child_start(&child, PARTY_NAMELESS, "");
    assert_int_equal(files_count(child.pid), 0);
    party_open(&party, "", 0);
    assert_int_equal(files_count(getpid()), 2);
    peer = party_find(&party, child.address);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        party_ask(&party, peer, &call, i, 16);
        assert_int_equal(party_wait_asleep(&party, &call), HG_SUCCESS);
        assert_true(party_answer_is(&party, &call, i));
    }
    party_child_kill(&child);
    assert_int_equal(files_count(child.pid), 0);
    party_ask(&party, peer, &call, 1, 16);
    assert_int_equal(party_wait(&party, &call), HG_HOSTUNREACH);
    shm->addr.drop(party.domain, peer);
    party_close(&party);
}

static void test_no_name_is_refused(void **state)
{
    static const char *const none[] = {"a/b", "a b", "..:1", "\t",
        "0123456789012345678901234567890123456789012345678901234567890123"};
    struct amg_domain *domain = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_int_equal(open_as(none[i], &domain), HG_INVALID_ARG);
    assert_null(domain);
}

static bool has_file(const char *name)
{
    char path[AMG_SHM_PATH_CAP];

    amg_shm_files_path(name, path);
    return access(path, F_OK) == 0;
}

static void test_cleaning_takes_the_dead_and_leaves_the_living(void **state)
{
    struct party_child dead;
    struct party_child living;
    struct amg_shm_region region;
    char dead_name[AMG_SHM_NAME_CAP];
    char living_name[AMG_SHM_NAME_CAP];
    char bell[AMG_SHM_PATH_CAP];

    (void)state;
    party_child_start(&dead, PARTY_DEAF, name_choose(dead_name, "dead"));
    party_child_start(&living, PARTY_DEAF, name_choose(living_name, "living"));
    assert_int_equal(amg_shm_region_map(dead_name, &region), HG_SUCCESS);
    amg_shm_files_bell(dead_name, region.incarnation, 0, bell);
    assert_true(amg_shm_files_has_owner(&region));
    assert_int_equal(access(bell, F_OK), 0);
    party_child_kill(&dead);
    assert_false(amg_shm_files_has_owner(&region));
    assert_true(has_file(dead_name));
    (void)amg_shm_files_clean();
    assert_false(has_file(dead_name));
    assert_int_equal(access(bell, F_OK), -1);
    assert_true(has_file(living_name));
    amg_shm_region_fini(&region);
    party_child_end(&living);
    assert_false(has_file(living_name));
}

/* Removes what its owner left behind, and stops as soon as it is gone. */
static void *remover(void *path)
{
    uint32_t pid = 0;

    while (!amg_shm_files_remove_stale(path, &pid) && pid == 0)
        continue;
    return NULL;
}

/* A server that starts again takes its name while others still clean up what
 * it left behind: none of them may take the new file for the old one. */
static void test_cleaning_leaves_the_name_to_its_next_owner(void **state)
{
    struct amg_shm_plan plan = {.max_contexts = 1, .message_len = 4096};
    char name[AMG_SHM_NAME_CAP];
    char path[AMG_SHM_PATH_CAP];

    (void)state;
    plan.name = name_choose(name, "again");
    amg_shm_files_path(name, path);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct amg_shm_region old;
        struct amg_shm_region region;
        pthread_t threads[REMOVERS];

        assert_int_equal(amg_shm_region_create(&plan, &old), HG_SUCCESS);
        old.head->start_time ^= 1; /* its owner was another process */
        for (unsigned i = 0; i < REMOVERS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, remover, path), 0);
        assert_int_equal(amg_shm_region_create(&plan, &region), HG_SUCCESS);
        for (unsigned i = 0; i < REMOVERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(has_file(name));
        amg_shm_region_fini(&region);
        amg_shm_region_fini(&old);
        assert_false(has_file(name));
    }
}

/* A segment of another version may be alive, and needs its bells. */
static void test_cleaning_leaves_bells_of_other_versions(void **state)
{
    struct party_child child;
    struct amg_shm_region region;
    char name[AMG_SHM_NAME_CAP];
    char bell[AMG_SHM_PATH_CAP];

    (void)state;
    party_child_start(&child, PARTY_DEAF, name_choose(name, "version"));
    assert_int_equal(amg_shm_region_map(name, &region), HG_SUCCESS);
    amg_shm_files_bell(name, region.incarnation, 0, bell);
    region.head->version++;
    (void)amg_shm_files_clean();
    assert_true(has_file(name));
    assert_int_equal(access(bell, F_OK), 0);
    region.head->version--;
    amg_shm_region_fini(&region);
    party_child_end(&child);
    assert_int_equal(access(bell, F_OK), -1);
}

/* What stands in the head decides, whatever the file is called. */
static void test_damaged_segment_is_refused(void **state)
{
    struct party_child child;
    struct amg_shm_region region;
    struct amg_shm_region again;
    struct amg_shm_head kept;
    char name[AMG_SHM_NAME_CAP];

    (void)state;
    party_child_start(&child, PARTY_DEAF, name_choose(name, "damaged"));
    assert_int_equal(amg_shm_region_map(name, &region), HG_SUCCESS);
    memcpy(&kept, region.head, sizeof(kept));
    for (size_t i = 0; i < 7; i++) {
        memcpy(region.head, &kept, sizeof(kept));
        switch (i) {
        case 0:
            region.head->magic ^= 1;
            break;
        case 1:
            region.head->version++;
            break;
        case 2:
            region.head->len += AMG_SHM_PAGE;
            break;
        case 3:
            region.head->rings_at = region.head->len - AMG_SHM_PAGE;
            break;
        case 4:
            region.head->slab_stride = AMG_SHM_LINE;
            break;
        case 5:
            region.head->max_contexts = AMG_SHM_CONTEXTS + 1;
            break;
        default:
            memset(region.head->name, 'x', AMG_SHM_NAME_CAP);
            break;
        }
        assert_int_equal(amg_shm_region_map(name, &again), HG_PROTOCOL_ERROR);
    }
    memcpy(region.head, &kept, sizeof(kept));
    assert_int_equal(amg_shm_region_map(name, &again), HG_SUCCESS);
    amg_shm_region_fini(&again);
    amg_shm_region_fini(&region);
    party_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen_name_is_the_address),
        cmocka_unit_test(test_name_in_use_is_refused_until_its_owner_dies),
        cmocka_unit_test(
            test_segment_without_a_name_is_found_and_leaves_no_file),
        cmocka_unit_test(test_no_name_is_refused),
        cmocka_unit_test(test_cleaning_takes_the_dead_and_leaves_the_living),
        cmocka_unit_test(test_cleaning_leaves_the_name_to_its_next_owner),
        cmocka_unit_test(test_cleaning_leaves_bells_of_other_versions),
        cmocka_unit_test(test_damaged_segment_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
