/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of segments: chosen, in use, left by dead processes, and missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "log_kept.h"
#include "shm/shm_files.h"
#include "shm/shm_transport.h"
#include "unit/shm/party.h"

enum { ROUNDS = 300, REMOVERS = 3 };

static const struct amg_transport *const shm = &amg_shm_transport;

/* A name that no other test or run chooses. */
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
        shm->addr.unref(party.domain, peer);
    }
    party_child_end(&child);
    party_close(&party);
}

static void address_expect(const struct amg_domain *domain, unsigned number)
{
    struct amg_shm_id id;
    char name[AMG_SHM_NAME_CAP];

    snprintf(name, sizeof(name), "%d-%u", (int)getpid(), number);
    amg_shm_node_id(domain, &id);
    assert_string_equal(id.name, name);
}

/* A peer that knows the address finds the class when it was closed and opened
 * again, also by the program that this process runs by exec(). */
static void test_default_name_depends_on_the_open_classes_only(void **state)
{
    struct amg_domain *first = NULL;
    struct amg_domain *second = NULL;
    int fds[2];

    (void)state;
    assert_int_equal(open_as("", &first), HG_SUCCESS);
    address_expect(first, 0);
    shm->domain.close(first);
    assert_int_equal(pipe(fds), 0); /* other descriptors than before */
    assert_int_equal(open_as("", &first), HG_SUCCESS);
    address_expect(first, 0);
    assert_int_equal(open_as("", &second), HG_SUCCESS);
    address_expect(second, 1);
    shm->domain.close(first);
    assert_int_equal(open_as("", &first), HG_SUCCESS);
    address_expect(first, 0);
    shm->domain.close(first);
    shm->domain.close(second);
    close(fds[0]);
    close(fds[1]);
}

/* With ulimit -f the files of a class would end the process by SIGXFSZ. */
static void test_limit_of_file_sizes_is_an_error(void **state)
{
    struct amg_mapping mapping;
    struct amg_domain *domain = NULL;
    struct rlimit old;
    struct rlimit none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none = (struct rlimit){0, old.rlim_max};
    log_len = 0;
    hg_log_set_func(log_keep);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(open_as("", &domain), HG_NA_ERROR);
    assert_int_not_equal(amg_mapping_open("test", 4096, &mapping), HG_SUCCESS);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    hg_log_set_func(NULL);
    assert_non_null(strstr(log_text, "ulimit -f"));
    assert_int_equal(open_as("", &domain), HG_SUCCESS);
    shm->domain.close(domain);
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

/* The files of the process: segments and doorbells. */
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
    shm->addr.unref(party.domain, peer);
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

/* The first class of this process: a later one does not clean. */
static void test_open_cleans_unless_another_rank_does(void **state)
{
    struct amg_open how = {.info = "", .max_contexts = 1, .is_clean = true};
    struct party_child dead;
    struct amg_domain *domain = NULL;
    char name[AMG_SHM_NAME_CAP];

    (void)state;
    party_child_start(&dead, PARTY_DEAF, name_choose(name, "first"));
    party_child_kill(&dead);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(shm->domain.open(&how, &domain), HG_SUCCESS);
        shm->domain.close(domain);
        assert_int_equal(has_file(name), how.is_clean);
        how.is_clean = false;
    }
}

static void test_cleaning_removes_files_of_dead_processes_only(void **state)
{
    struct party_child dead;
    struct party_child living;
    struct amg_shm_region region;
    char dead_name[AMG_SHM_NAME_CAP];
    char living_name[AMG_SHM_NAME_CAP];
    char doorbell[AMG_SHM_PATH_CAP];

    (void)state;
    party_child_start(&dead, PARTY_DEAF, name_choose(dead_name, "dead"));
    party_child_start(&living, PARTY_DEAF, name_choose(living_name, "living"));
    assert_int_equal(amg_shm_region_map(dead_name, &region), HG_SUCCESS);
    amg_shm_files_doorbell(dead_name, region.incarnation, 0, doorbell);
    assert_int_equal(amg_shm_files_owner(&region), AMG_LIFE_ALIVE);
    assert_int_equal(access(doorbell, F_OK), 0);
    party_child_kill(&dead);
    assert_int_equal(amg_shm_files_owner(&region), AMG_LIFE_DEAD);
    assert_true(has_file(dead_name));
    (void)amg_shm_files_clean();
    assert_false(has_file(dead_name));
    assert_int_equal(access(doorbell, F_OK), -1);
    assert_true(has_file(living_name));
    amg_shm_region_fini(&region);
    party_child_end(&living);
    assert_false(has_file(living_name));
}

/* Removes the stale file, again until it is gone. */
static void *remover(void *path)
{
    uint32_t pid = 0;

    while (!amg_shm_files_remove_stale(path, &pid) && pid == 0)
        continue;
    return NULL;
}

/* A server that starts again takes its name while others still clean up what
 * it left behind: none of them may take the new file for the old one. */
static void test_cleaning_keeps_a_name_that_has_a_new_owner(void **state)
{
    struct amg_shm_region_params params = {
        .max_contexts = 1, .message_len = 4096};
    char name[AMG_SHM_NAME_CAP];
    char path[AMG_SHM_PATH_CAP];

    (void)state;
    params.name = name_choose(name, "again");
    amg_shm_files_path(name, path);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct amg_shm_region old;
        struct amg_shm_region region;
        pthread_t threads[REMOVERS];

        assert_int_equal(amg_shm_region_create(&params, &old), HG_SUCCESS);
        old.head->start_time ^= 1; /* its owner was another process */
        for (unsigned i = 0; i < REMOVERS; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, remover, path), 0);
        assert_int_equal(amg_shm_region_create(&params, &region), HG_SUCCESS);
        for (unsigned i = 0; i < REMOVERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(has_file(name));
        amg_shm_region_fini(&region);
        amg_shm_region_fini(&old);
        assert_false(has_file(name));
    }
}

/* Descriptors from `limit` on are not for this process. */
static void descriptors_use_up(struct rlimit *ret_kept, rlim_t limit)
{
    struct rlimit none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_kept), 0);
    none = *ret_kept;
    none.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void test_ended_process_is_dead_before_its_parent_has_waited(
    void **state)
{
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(amg_process_life((uint32_t)pid, 0), AMG_LIFE_DEAD);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(amg_process_life((uint32_t)pid, 0), AMG_LIFE_DEAD);
}

static void *sleeper(void *in)
{
    char byte = 0;

    _exit(read(*(int *)in, &byte, 1) != 1);
}

/* Its state in /proc is that of a process that has ended. */
static void test_process_whose_first_thread_has_ended_lives(void **state)
{
    int ends[2];
    pid_t pid = -1;
    char path[64];
    char text[512];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t thread;

        close(ends[1]);
        if (pthread_create(&thread, NULL, sleeper, &ends[0]) == 0)
            pthread_exit(NULL);
        _exit(1);
    }
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    do {
        FILE *stat = fopen(path, "r");

        assert_non_null(stat);
        assert_non_null(fgets(text, sizeof(text), stat));
        fclose(stat);
    } while (strstr(text, ") Z ") == NULL);
    assert_int_equal(amg_process_life((uint32_t)pid, 0), AMG_LIFE_ALIVE);
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
}

/* exec() keeps the pid and the time at which the process began. */
static void test_process_that_became_another_program_is_dead(void **state)
{
    struct amg_shm_owner child;
    int began[2];
    int input[2];
    pid_t pid = -1;

    (void)state;
    assert_int_equal(pipe2(began, O_CLOEXEC), 0);
    assert_int_equal(pipe(input), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(input[1]);
        amg_shm_files_self(&child);
        if (amg_process_life(child.pid, child.start_time) == AMG_LIFE_ALIVE &&
            write(began[1], &child, sizeof(child)) == sizeof(child) &&
            dup2(input[0], STDIN_FILENO) == STDIN_FILENO)
            execl("/bin/cat", "cat", (char *)NULL);
        _exit(1);
    }
    close(began[1]);
    close(input[0]);
    assert_int_equal(read(began[0], &child, sizeof(child)), sizeof(child));
    assert_int_equal(read(began[0], &child, 1), 0); /* exec() closed it */
    assert_int_equal(child.pid, pid);
    assert_int_equal(amg_process_life(child.pid, 0), AMG_LIFE_ALIVE);
    assert_int_equal(
        amg_process_life(child.pid, child.start_time), AMG_LIFE_DEAD);
    close(input[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(began[0]);
}

static void test_without_descriptors_no_process_counts_as_dead(void **state)
{
    enum amg_life life = AMG_LIFE_ALIVE;
    struct amg_shm_owner self;
    struct rlimit kept;

    (void)state;
    amg_shm_files_self(&self);
    descriptors_use_up(&kept, 0);
    life = amg_process_life(self.pid, self.start_time);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
    assert_int_equal(life, AMG_LIFE_UNKNOWN);
    assert_int_equal(
        amg_process_life(self.pid, self.start_time), AMG_LIFE_ALIVE);
    assert_int_equal(
        amg_process_life(self.pid, self.start_time + 1), AMG_LIFE_DEAD);
}

/* A limit on descriptors that permits `more` further ones. */
static rlim_t limit_of(unsigned more)
{
    rlim_t limit = 0;
    int fds[8];
    unsigned count = 0;

    assert_true(more < sizeof(fds) / sizeof(fds[0]));
    for (count = 0; count <= more; count++) {
        fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fds[count] >= 0);
    }
    limit = (rlim_t)fds[more];
    while (count > 0)
        close(fds[--count]);
    return limit;
}

/* With 2 left it can read a segment, and not check its owner. */
static void test_cleaning_without_descriptors_keeps_living_processes(
    void **state)
{
    struct party_child living;
    struct amg_shm_region region;
    struct rlimit kept;
    char name[AMG_SHM_NAME_CAP];
    char doorbell[AMG_SHM_PATH_CAP];

    (void)state;
    party_child_start(&living, PARTY_DEAF, name_choose(name, "spared"));
    assert_int_equal(amg_shm_region_map(name, &region), HG_SUCCESS);
    amg_shm_files_doorbell(name, region.incarnation, 0, doorbell);
    for (unsigned more = 0; more < 4; more++) {
        descriptors_use_up(&kept, limit_of(more));
        (void)amg_shm_files_clean();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
        assert_true(has_file(name));
        assert_int_equal(access(doorbell, F_OK), 0);
    }
    amg_shm_region_fini(&region);
    party_child_end(&living);
}

/* A segment of another version may be alive, and needs its doorbells. */
static void test_cleaning_leaves_doorbells_of_other_versions(void **state)
{
    struct party_child child;
    struct amg_shm_region region;
    char name[AMG_SHM_NAME_CAP];
    char doorbell[AMG_SHM_PATH_CAP];

    (void)state;
    party_child_start(&child, PARTY_DEAF, name_choose(name, "version"));
    assert_int_equal(amg_shm_region_map(name, &region), HG_SUCCESS);
    amg_shm_files_doorbell(name, region.incarnation, 0, doorbell);
    region.head->version++;
    (void)amg_shm_files_clean();
    assert_true(has_file(name));
    assert_int_equal(access(doorbell, F_OK), 0);
    region.head->version--;
    amg_shm_region_fini(&region);
    party_child_end(&child);
    assert_int_equal(access(doorbell, F_OK), -1);
}

/* The header decides, whatever the name of the file is. */
static uint64_t bytes_taken(const struct amg_shm_region *region)
{
    struct stat status;

    assert_int_equal(fstat(region->fd, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

/* A segment takes the bytes that it was said to need, with some slots in use
 * and with all. */
static void test_segment_takes_what_it_needs(void **state)
{
    static const uint32_t slots[] = {0, 1, 7, 508, 513, AMG_SHM_SLOTS};
    const struct amg_shm_region_params params = {
        .name = "", .max_contexts = 4, .message_len = 16384};
    struct amg_shm_region region;
    struct amg_shm_need need;

    (void)state;
    assert_int_equal(amg_shm_region_create(&params, &region), HG_SUCCESS);
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        amg_shm_region_need(&params, slots[i], &need);
        if (slots[i] > AMG_SHM_CLAIMS_AT_ONCE)
            assert_true(amg_shm_region_reserve(&region,
                (void *)(uintptr_t)&region.claims[AMG_SHM_CLAIMS_AT_ONCE],
                (slots[i] - AMG_SHM_CLAIMS_AT_ONCE) * sizeof(uint64_t)));
        for (uint32_t slot = 0; slot < slots[i]; slot++)
            assert_true(amg_shm_region_reserve(
                &region, &region.rings[slot], sizeof(region.rings[slot])));
        assert_int_equal(bytes_taken(&region), need.called);
        if (slots[i] == 0)
            assert_int_equal(need.called, need.opened);
    }
    assert_int_equal(region.len, need.most);
    assert_true(amg_shm_region_reserve(&region, region.head, region.len));
    assert_int_equal(bytes_taken(&region), need.most);
    amg_shm_region_fini(&region);
}

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
            region.head->msgbuf_stride = AMG_SHM_LINE;
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
        cmocka_unit_test(test_open_cleans_unless_another_rank_does),
        cmocka_unit_test(test_chosen_name_is_the_address),
        cmocka_unit_test(test_default_name_depends_on_the_open_classes_only),
        cmocka_unit_test(test_limit_of_file_sizes_is_an_error),
        cmocka_unit_test(test_name_in_use_is_refused_until_its_owner_dies),
        cmocka_unit_test(
            test_segment_without_a_name_is_found_and_leaves_no_file),
        cmocka_unit_test(test_no_name_is_refused),
        cmocka_unit_test(test_cleaning_removes_files_of_dead_processes_only),
        cmocka_unit_test(test_cleaning_keeps_a_name_that_has_a_new_owner),
        cmocka_unit_test(
            test_ended_process_is_dead_before_its_parent_has_waited),
        cmocka_unit_test(test_process_whose_first_thread_has_ended_lives),
        cmocka_unit_test(test_process_that_became_another_program_is_dead),
        cmocka_unit_test(test_without_descriptors_no_process_counts_as_dead),
        cmocka_unit_test(
            test_cleaning_without_descriptors_keeps_living_processes),
        cmocka_unit_test(test_cleaning_leaves_doorbells_of_other_versions),
        cmocka_unit_test(test_segment_takes_what_it_needs),
        cmocka_unit_test(test_damaged_segment_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
