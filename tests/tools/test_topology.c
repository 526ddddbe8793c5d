/* SPDX-License-Identifier: BSD-3-Clause */
/* A node as a topology of hwloc: written completely, or not at all. */
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
#include <hwloc.h>

#include "file.h"
#include "jobs/tools/writers.h"
#include "node.h"

enum { PATH_CAP = 256 };

static char dir[] = "/tmp/amalgam_topology_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[PATH_CAP];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static bool write_to(const struct node *node, const char *path)
{
    struct map map;
    bool is_done = false;

    assert_true(map_make(&map, &node->report));
    is_done = topology_write(&node->report, &map, path);
    map_fini(&map);
    return is_done;
}

/* The file as hwloc reads it; the caller destroys it. */
static hwloc_topology_t written(const struct node *node)
{
    hwloc_topology_t topology = NULL;

    assert_true(write_to(node, path_of("node.xml")));
    assert_int_not_equal(access(path_of("node.xml.tmp"), F_OK), 0);
    assert_int_equal(hwloc_topology_init(&topology), 0);
    hwloc_topology_set_type_filter(
        topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
    assert_int_equal(hwloc_topology_set_xml(topology, path_of("node.xml")), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    assert_int_equal(unlink(path_of("node.xml")), 0);
    return topology;
}

/* Boxes of that name in the hardware thread; CPU_ANY: in any. */
enum { CPU_ANY = -1 };

static unsigned boxes(hwloc_topology_t topology, int cpu, const char *name)
{
    unsigned count = 0;

    for (hwloc_obj_t box = NULL; (box = hwloc_get_next_obj_by_type(
                                      topology, HWLOC_OBJ_MISC, box)) != NULL;)
        count += strcmp(box->name, name) == 0 &&
                 (cpu == CPU_ANY || (int)box->parent->os_index == cpu);
    return count;
}

/* Lines of the legend with that text. */
static unsigned lines(hwloc_topology_t topology, const char *part)
{
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    unsigned count = 0;

    for (unsigned i = 0; i < root->infos_count; i++)
        count += strcmp(root->infos[i].name, "lstopoLegend") == 0 &&
                 strstr(root->infos[i].value, part) != NULL;
    return count;
}

static void test_topology_shows_every_rank_and_thread(void **state)
{
    struct node node;
    hwloc_topology_t topology = NULL;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:2 numa:2 core:8 pu:2(indexes=2*32:1*2)", 1);
    node_make(&node, 2, 2, 8, 2);
    for (unsigned rank = 0; rank < 4; rank++) {
        struct report_rank *local = node_rank(&node, rank * 8, rank * 8 + 6);

        node_thread(local, (int)(rank * 8 + 7), true);
    }
    topology = written(&node);
    for (unsigned rank = 0; rank < 4; rank++) {
        char text[PATH_CAP];

        snprintf(text, sizeof(text), "rank %u", rank);
        assert_int_equal(boxes(topology, CPU_ANY, text), 7);
        assert_int_equal(boxes(topology, (int)rank * 8 + 6, text), 1);
        snprintf(text, sizeof(text), "P%u", rank);
        assert_int_equal(boxes(topology, CPU_ANY, text), 1);
        assert_int_equal(boxes(topology, (int)rank * 8 + 7, text), 1);
        snprintf(text, sizeof(text),
            "rank %u  bound %u-%u; mode thread (); progress cpu %u", rank,
            rank * 8, rank * 8 + 6, rank * 8 + 7);
        assert_int_equal(lines(topology, text), 1);
    }
    hwloc_topology_destroy(topology);
    node_free(&node);
}

static void test_topology_names_ranks_that_share(void **state)
{
    struct node node;
    hwloc_topology_t topology = NULL;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:1 core:2 pu:1", 1);
    node_make(&node, 1, 1, 2, 1);
    for (unsigned rank = 0; rank < NODE_RANKS_MAX; rank++)
        node_rank(&node, 0, 0);
    topology = written(&node);
    assert_int_equal(boxes(topology, 0, "ranks 0-255"), 1);
    assert_int_equal(lines(topology, "rank 255  bound 0; "), 1);
    hwloc_topology_destroy(topology);
    node_free(&node);
}

static void test_topology_keeps_names_that_xml_does_not_allow(void **state)
{
    struct report_node nodes[2] = {{"<&\"\x01>", 0, 1}, {"b & c", 1, 3}};
    struct node node;
    hwloc_topology_t topology = NULL;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:1 core:2 pu:1", 1);
    node_make(&node, 1, 1, 2, 1);
    node_rank(&node, 0, 1);
    node.report.nodes = nodes;
    node.report.node_count = 2;
    topology = written(&node);
    assert_int_equal(lines(topology, "<&\">: Amalgam 0 over nothing"), 1);
    assert_int_equal(
        lines(topology, "other node b & c: 3 ranks, the first is 1"), 1);
    hwloc_topology_destroy(topology);
    node_free(&node);
}

static void test_topology_that_cannot_be_written_leaves_nothing(void **state)
{
    struct node node;
    char *text = NULL;
    FILE *old = NULL;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:1 core:2 pu:1", 1);
    node_make(&node, 1, 1, 2, 1);
    node_rank(&node, 0, 1);
    assert_false(write_to(&node, path_of("nowhere/node.xml")));
    assert_false(write_to(&node, dir));
    assert_false(write_to(&node, "/dev/null"));
    assert_int_not_equal(access("/dev/null.tmp", F_OK), 0);

    /* The temporary file cannot be created, so the older file stays. */
    old = fopen(path_of("node.xml"), "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    assert_int_equal(mkdir(path_of("node.xml.tmp"), 0700), 0);
    assert_false(write_to(&node, path_of("node.xml")));
    assert_int_equal(rmdir(path_of("node.xml.tmp")), 0);
    text = file_read(path_of("node.xml"));
    assert_string_equal(text, "old");
    free(text);
    assert_true(write_to(&node, path_of("node.xml")));
    assert_int_equal(unlink(path_of("node.xml")), 0);
    node_free(&node);
}

static int dir_make(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL;
}

static int dir_remove(void **state)
{
    (void)state;
    return rmdir(dir); /* fails when a test has left a file */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_shows_every_rank_and_thread),
        cmocka_unit_test(test_topology_names_ranks_that_share),
        cmocka_unit_test(test_topology_keeps_names_that_xml_does_not_allow),
        cmocka_unit_test(test_topology_that_cannot_be_written_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
