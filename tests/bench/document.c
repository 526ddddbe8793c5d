/* SPDX-License-Identifier: BSD-3-Clause */
/* Check of a complete JSON document of amalgam_bench: document FILE
 * complete|incomplete. Prints its number of rows. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

static const struct {
    const char *object; /* "": the document itself */
    const char *key;
    enum json_type type;
} members[] = {
    {"", "format", json_type_string},
    {"", "version", json_type_int},
    {"", "complete", json_type_boolean},
    {"", "why", json_type_string},
    {"", "ranks", json_type_array},
    {"", "warnings", json_type_array},
    {"", "rows", json_type_array},
    {"run", "date", json_type_string},
    {"run", "command", json_type_string},
    {"run", "bench", json_type_string},
    {"run", "transport", json_type_string},
    {"run", "via", json_type_string},
    {"run", "ranks", json_type_int},
    {"run", "nodes", json_type_int},
    {"run", "quick", json_type_boolean},
    {"run", "seconds", json_type_double},
    {"machine", "host", json_type_string},
    {"machine", "cpu", json_type_string},
    {"machine", "cores", json_type_int},
    {"machine", "kernel", json_type_string},
    {"versions", "amalgam", json_type_string},
    {"versions", "mpi", json_type_string},
    {"versions", "libfabric", json_type_string},
    {"versions", "hwloc", json_type_string},
    {"versions", "compiler", json_type_string},
};

static int fail(const char *what, const char *which)
{
    printf("the document %s %s\n", what, which);
    return EXIT_FAILURE;
}

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *found = NULL;

    json_object_object_get_ex(object, key, &found);
    return found;
}

static int members_check(struct json_object *root)
{
    for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        struct json_object *in = members[i].object[0] == '\0'
                                     ? root
                                     : member(root, members[i].object);
        struct json_object *found = member(in, members[i].key);

        if (found == NULL)
            return fail("has no", members[i].key);
        if (!json_object_is_type(found, members[i].type) &&
            !(members[i].type == json_type_double &&
                json_object_is_type(found, json_type_int)))
            return fail("has another type of", members[i].key);
    }
    return EXIT_SUCCESS;
}

static int ranks_check(struct json_object *root)
{
    struct json_object *ranks = member(root, "ranks");
    int count = json_object_get_int(member(member(root, "run"), "ranks"));

    if ((int)json_object_array_length(ranks) != count)
        return fail("does not tell of all", "ranks");
    for (int i = 0; i < count; i++) {
        struct json_object *rank = json_object_array_get_idx(ranks, (size_t)i);

        if (json_object_get_int(member(rank, "rank")) != i ||
            json_object_get_string_len(member(rank, "host")) == 0 ||
            json_object_get_string_len(member(rank, "cores")) == 0 ||
            member(rank, "progress") == NULL)
            return fail("tells nothing of one of the", "ranks");
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct json_object *root = NULL;
    bool is_complete = false;
    size_t why_len = 0;

    if (argc != 3)
        return EXIT_FAILURE;
    root = json_object_from_file(argv[1]);
    if (root == NULL)
        return fail("cannot be read:", json_util_get_last_err());
    if (members_check(root) != EXIT_SUCCESS ||
        ranks_check(root) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    is_complete = json_object_get_boolean(member(root, "complete"));
    if (is_complete != (strcmp(argv[2], "complete") == 0))
        return fail("should be", argv[2]);
    why_len = (size_t)json_object_get_string_len(member(root, "why"));
    if ((why_len == 0) != is_complete)
        return fail("does not say", "why");
    printf("%zu\n", json_object_array_length(member(root, "rows")));
    json_object_put(root);
    return EXIT_SUCCESS;
}
