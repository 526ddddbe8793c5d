/* SPDX-License-Identifier: BSD-3-Clause */
/* The node as a picture: XML that shows all, or nothing at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "jobs/tools/shape.h"
#include "jobs/tools/writers.h"
#include "node.h"
#include "xml.h"

enum { PATH_CAP = 256 };

static char dir[] = "/tmp/amalgam_picture_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[PATH_CAP];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static bool draw(const struct node *node, const char *path)
{
    struct map map;
    bool is_done = false;

    assert_true(map_make(&map, &node->report));
    is_done = svg_write(&node->report, &map, path);
    map_fini(&map);
    return is_done;
}

/* The picture, which is XML and is removed; to be freed. */
static char *drawn(const struct node *node)
{
    const char *wrong = NULL;
    char *text = NULL;

    assert_true(draw(node, path_of("node.svg")));
    assert_int_not_equal(access(path_of("node.svg.tmp"), F_OK), 0);
    text = file_read(path_of("node.svg"));
    assert_int_equal(unlink(path_of("node.svg")), 0);
    assert_non_null(text);
    wrong = xml_check(text);
    if (wrong != NULL)
        print_error("no XML: %s\n", wrong);
    assert_null(wrong);
    return text;
}

static unsigned times(const char *text, const char *part)
{
    unsigned count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

static void test_picture_shows_every_rank_and_thread(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 2, 2, 8, 2);
    for (unsigned rank = 0; rank < 4; rank++) {
        struct report_rank *local = node_rank(&node, rank * 8, rank * 8 + 6);

        node_thread(local, (int)(rank * 8 + 7), true);
        node_handler(local, (int)(rank * 8 + 39), false);
    }
    text = drawn(&node);
    assert_int_equal(times(text, "<title>cpu "), 64);
    assert_int_equal(times(text, ">NUMA node "), 4);
    assert_int_equal(times(text, ">core "), 32);
    for (unsigned rank = 0; rank < 4; rank++) {
        char part[PATH_CAP];

        snprintf(part, sizeof(part),
            ">rank %u: bound to %u-%u; progress by "
            "thread, cpu %u; 1 handler; waits",
            rank, rank * 8, rank * 8 + 6, rank * 8 + 7);
        assert_int_equal(times(text, part), 2); /* in words, and when asked */
        snprintf(
            part, sizeof(part), "cpu %u: no rank; P%u<", rank * 8 + 7, rank);
        assert_int_equal(times(text, part), 1);
        snprintf(
            part, sizeof(part), "cpu %u: no rank; h%u<", rank * 8 + 39, rank);
        assert_int_equal(times(text, part), 1);
    }
    /* A sign each, and one in the legend. */
    assert_int_equal(times(text, ">P<"), 4 + 2);
    assert_int_equal(times(text, ">H<"), 4 + 2);
    free(text);
    node_free(&node);
}

static void test_picture_of_largest_and_smallest_is_whole(void **state)
{
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 2, 4, 16, 2);
    for (unsigned rank = 0; rank < NODE_RANKS_MAX; rank++)
        node_thread(node_rank(&node, rank, rank), 255, false);
    text = drawn(&node);
    for (unsigned rank = 0; rank < NODE_RANKS_MAX; rank++) {
        char part[PATH_CAP];

        snprintf(part, sizeof(part), "<title>rank %u: ", rank);
        assert_int_equal(times(text, part), 1);
    }
    assert_int_equal(times(text, ">+255<"), 1);
    free(text);
    node_free(&node);

    node_make(&node, 1, 1, 1, 1);
    node_rank(&node, 0, 0);
    text = drawn(&node);
    assert_int_equal(times(text, "<title>cpu 0: rank 0<"), 1);
    free(text);
    node_free(&node);
}

static void test_picture_escapes_what_xml_does_not_allow(void **state)
{
    struct report_node nodes[2] = {{"<&\"\x01\xff>", 0, 1}, {"b & c", 1, 3}};
    struct node node;
    char *text = NULL;

    (void)state;
    node_make(&node, 1, 1, 2, 1);
    node_rank(&node, 0, 1);
    node_nic(&node, "a<b>&\"\n", 0, 1);
    node.report.nodes = nodes;
    node.report.node_count = 2;
    text = drawn(&node);
    assert_int_equal(times(text, ">a&lt;b&gt;&amp;&quot;?<"), 1);
    assert_int_equal(times(text, "&lt;&amp;&quot;??&gt;: 2 cores"), 1);
    assert_int_equal(
        times(text, "another node, b &amp; c: 3 ranks from 1 on"), 1);
    free(text);
    node_free(&node);
}

static void test_picture_that_cannot_be_written_leaves_nothing(void **state)
{
    struct node node;
    char *text = NULL;
    FILE *old = NULL;

    (void)state;
    node_make(&node, 1, 1, 2, 1);
    node_rank(&node, 0, 1);
    assert_false(draw(&node, path_of("nowhere/node.svg")));
    assert_false(draw(&node, dir));
    assert_false(draw(&node, "/dev/null"));
    assert_int_not_equal(access("/dev/null.tmp", F_OK), 0);

    /* The draft is in the way, so the older file stays. */
    old = fopen(path_of("node.svg"), "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    assert_int_equal(mkdir(path_of("node.svg.tmp"), 0700), 0);
    assert_false(draw(&node, path_of("node.svg")));
    assert_int_equal(rmdir(path_of("node.svg.tmp")), 0);
    text = file_read(path_of("node.svg"));
    assert_string_equal(text, "old");
    free(text);
    assert_true(draw(&node, path_of("node.svg")));
    assert_int_equal(unlink(path_of("node.svg")), 0);
    node_free(&node);
}

static void test_colors_of_near_ranks_differ(void **state)
{
    char colors[16][SHAPE_COLOR_CAP];

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(strlen(shape_color(i, colors[i])), 7);
        for (uint32_t other = 0; other < i; other++)
            assert_string_not_equal(colors[i], colors[other]);
    }
    assert_int_equal(strlen(shape_color(UINT32_MAX, colors[0])), 7);
}

/* The judge of the tests above is no yes-man. */
static void test_xml_check_finds_what_is_wrong(void **state)
{
    static const char *const bad[] = {"", "text", "<a>", "<a></b>", "</a>",
        "<a/><b/>", "<a b></a>", "<a b=c></a>", "<a b=\"1\" b=\"2\"/>",
        "<a>&nothing;</a>", "<a>\x01</a>", "<a b=\"<\"/>", "<a><b></a></b>",
        "<a", "<a b=\"", "<1/>", "<a/>text"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_non_null(xml_check(bad[i]));
    assert_null(xml_check("<a/>"));
    assert_null(xml_check("<a b=\"1\" c=\"2\"><d>x &amp; y</d>\n</a>\n"));
}

static int dir_make(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL;
}

static int dir_remove(void **state)
{
    (void)state;
    return rmdir(dir); /* fails when a test has left something behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picture_shows_every_rank_and_thread),
        cmocka_unit_test(test_picture_of_largest_and_smallest_is_whole),
        cmocka_unit_test(test_picture_escapes_what_xml_does_not_allow),
        cmocka_unit_test(test_picture_that_cannot_be_written_leaves_nothing),
        cmocka_unit_test(test_colors_of_near_ranks_differ),
        cmocka_unit_test(test_xml_check_finds_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
