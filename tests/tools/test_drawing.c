/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a node: short for equal cores, and complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "jobs/tools/writers.h"
#include "node.h"

/* Columns do not matter. */
static void spaces_squeeze(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++)
        if (*text != ' ' || text[1] != ' ')
            *to++ = *text;
    *to = '\0';
}

/* The printed text; the caller frees it. */
static char *drawn(const struct node *node)
{
    char path[] = "/tmp/amalgam_drawing_XXXXXX";
    int file = mkstemp(path);
    int kept = dup(STDOUT_FILENO);
    struct map map;
    char *text = NULL;

    assert_true(file >= 0 && kept >= 0);
    assert_true(map_make(&map, &node->report));
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    text_node(&node->report, &map);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    map_fini(&map);
    text = file_read(path);
    unlink(path);
    assert_non_null(text);
    spaces_squeeze(text);
    return text;
}

/* Number of lines with this beginning, after spaces; one of them must be
 * `line`, unless that is NULL. */
static unsigned lines_of(const char *text, const char *begin, const char *line)
{
    unsigned count = 0;
    bool is_there = line == NULL;

    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        const char *start = text + strspn(text, " ");

        count += strncmp(start, begin, strlen(begin)) == 0;
        is_there = is_there || (strlen(line) == (size_t)(text + len - start) &&
                                   strncmp(start, line, strlen(line)) == 0);
        text += len + (text[len] == '\n');
    }
    if (!is_there)
        print_error("not there: '%s'\n", line);
    assert_true(is_there);
    return count;
}

static void test_drawing_of_alike_cores_is_one_line(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 2, 1, 64, 2);
    for (unsigned rank = 0; rank < 128; rank++) {
        struct report_rank *local = node_rank(&node, rank, rank);

        node_thread(local, (int)rank + 128, true);
    }
    text = drawn(&node);
    assert_int_equal(lines_of(text, "cores ",
                         "cores 0-63 cpus 0-63 ranks 0-63, one "
                         "each"),
        2);
    lines_of(text, "", "cpus 128-191 no rank; P0-P63 on 128-191");
    lines_of(text, "", "cpus 192-255 no rank; P64-P127 on 192-255");
    assert_int_equal(lines_of(text, "core ", NULL), 0);
    free(text);
    node_free(&node);
}

static void test_drawing_of_a_marked_core_stands_alone(void **state)
{
    struct node node;
    struct report_rank *local = NULL;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 8, 1);
    local = node_rank(&node, 0, 3);
    node_thread(local, 2, false);
    text = drawn(&node);
    lines_of(text, "", "cores 0-1 cpus 0-1 rank 0");
    lines_of(text, "", "core 2 cpus 2 rank 0; p0 on 2");
    lines_of(text, "", "core 3 cpus 3 rank 0");
    lines_of(text, "", "cores 4-7 cpus 4-7 no rank");
    lines_of(text, "", "rank 0 progress cpu 2 shared said by the test");
    free(text);
    node_free(&node);
}

static void test_drawing_tells_what_is_not_ours(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 4, 1);
    node_rank(&node, 0, 0);
    node.machine.allowed.words[0] &= ~(3ull << 2);
    text = drawn(&node);
    lines_of(text, "", "cores 2-3 cpus 2-3 not available");
    free(text);
    node_free(&node);
}

static void test_drawing_of_many_ranks_on_all_cores_is_short(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 16, 2);
    for (unsigned rank = 0; rank < 16; rank++)
        node_rank(&node, 0, 31);
    text = drawn(&node);
    lines_of(text, "", "cores 0-15 cpus 0-31 ranks 0-15");
    free(text);
    node_free(&node);
}

static void test_drawing_of_caches_tells_those_of_some_cores(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 8, 1);
    node_rank(&node, 0, 7);
    for (unsigned i = 0; i < 8; i++)
        node.pus[i].cache = (uint16_t)(i / 4);
    text = drawn(&node);
    lines_of(text, "", "cores 0-3 (cache 0) cpus 0-3 rank 0");
    lines_of(text, "", "cores 4-7 (cache 1) cpus 4-7 rank 0");
    free(text);
    /* A cache per core is not mentioned. */
    for (unsigned i = 0; i < 8; i++)
        node.pus[i].cache = (uint16_t)i;
    text = drawn(&node);
    lines_of(text, "", "cores 0-7 cpus 0-7 rank 0");
    free(text);
    node_free(&node);
}

static void test_drawing_of_far_numbers_is_short(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 32, 2);
    for (unsigned i = 0; i < 64; i++)
        node.pus[i].cpu = (uint16_t)i;
    for (unsigned rank = 0; rank < 32; rank++)
        node_thread(
            node_rank(&node, 2 * rank, 2 * rank), (int)(2 * rank + 1), true);
    text = drawn(&node);
    lines_of(text, "", "cores 0-31 cpus 0,2...62 ranks 0-31, one each");
    lines_of(text, "", "cpus 1,3...63 no rank; P0-P31 on 1...63");
    free(text);
    node_free(&node);
}

static void test_drawing_names_networks_and_false_machines(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 2, 1, 2, 1);
    node_rank(&node, 0, 3);
    node_nic(&node, "eth0", 0, 3);
    node_nic(&node, "hsn0", 2, 3);
    node.machine.is_this = false;
    text = drawn(&node);
    lines_of(text, "", "networks eth0");
    /* The package has one NUMA node, which is nearer. */
    lines_of(text, "", "NUMA node 1, networks hsn0");
    assert_non_null(strstr(text, "not this one"));
    free(text);
    node_free(&node);
}

static void test_drawing_tells_every_note(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 1, 1);
    snprintf(node_rank(&node, 0, 0)->placement.notes, AMG_NOTES_CAP,
        "first\nsecond");
    node.locals[0].threads = 2;
    text = drawn(&node);
    lines_of(text, "", "rank 0 note first");
    lines_of(text, "", "rank 0 note second");
    lines_of(text, "", "rank 0 bound cpus 0, 2 threads of the program");
    free(text);
    node_free(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawing_of_alike_cores_is_one_line),
        cmocka_unit_test(test_drawing_of_a_marked_core_stands_alone),
        cmocka_unit_test(test_drawing_tells_what_is_not_ours),
        cmocka_unit_test(test_drawing_of_many_ranks_on_all_cores_is_short),
        cmocka_unit_test(test_drawing_of_caches_tells_those_of_some_cores),
        cmocka_unit_test(test_drawing_of_far_numbers_is_short),
        cmocka_unit_test(test_drawing_names_networks_and_false_machines),
        cmocka_unit_test(test_drawing_tells_every_note),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
