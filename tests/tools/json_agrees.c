/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON document of amalgam_info has its fields, and agrees with the text of
 * the same job: json_agrees JSON TEXT RANKS. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { LINE_CAP = 512 };

/* A required field and its type. */
struct field {
    const char *name;
    enum json_type type;
    bool may_be_null;
};

static const struct field root_fields[] = {
    {"amalgam", json_type_string, false},
    {"mercury", json_type_string, false},
    {"transports", json_type_array, false},
    {"environment", json_type_array, false},
    {"class", json_type_object, false},
    {"job", json_type_object, false},
    {"machine", json_type_object, false},
    {"placement", json_type_object, false},
    {"shared_memory", json_type_object, false},
    {"limits", json_type_object, false},
    {"libfabric", json_type_object, true},
    {NULL, json_type_null, false},
};
static const struct field limits_fields[] = {
    {"locked_bytes", json_type_int, true},
    {"locked_now_bytes", json_type_int, false},
    {"is_locking", json_type_boolean, false},
    {"descriptors", json_type_int, true},
    {"descriptors_open", json_type_int, false},
    {"descriptors_needed", json_type_int, false},
    {"too_small", json_type_array, false},
    {NULL, json_type_null, false},
};
static const struct field variable_fields[] = {
    {"name", json_type_string, false},
    {"set_to", json_type_string, true},
    {"help", json_type_string, false},
    {NULL, json_type_null, false},
};
static const struct field class_fields[] = {
    {"asked_for", json_type_string, false},
    {"transport", json_type_string, false},
    {"protocol", json_type_string, false},
    {"reaches", json_type_string, false},
    {"bulk_reason", json_type_string, true},
    {"input_bytes", json_type_int, false},
    {"output_bytes", json_type_int, false},
    {"credits", json_type_int, false},
    {"waiting", json_type_string, false},
    {"has_descriptor", json_type_boolean, false},
    {"heap_bytes", json_type_int, false},
    {"heap_blocks", json_type_int, false},
    {"address", json_type_string, true},
    {NULL, json_type_null, false},
};
static const struct field job_fields[] = {
    {"is_over_mpi", json_type_boolean, false},
    {"ranks", json_type_int, false},
    {"thread_level", json_type_string, true},
    {"library", json_type_string, true},
    {"nodes", json_type_array, false},
    {NULL, json_type_null, false},
};
static const struct field node_fields[] = {
    {"host", json_type_string, false},
    {"first_rank", json_type_int, false},
    {"ranks", json_type_int, false},
    {NULL, json_type_null, false},
};
static const struct field machine_fields[] = {
    {"is_known", json_type_boolean, false},
    {"is_this", json_type_boolean, false},
    {"packages", json_type_int, false},
    {"numa_nodes", json_type_int, false},
    {"cores", json_type_int, false},
    {"pus", json_type_array, false},
    {"networks", json_type_array, false},
    {NULL, json_type_null, false},
};
static const struct field pu_fields[] = {
    {"cpu", json_type_int, false},
    {"core", json_type_int, false},
    {"thread", json_type_int, false},
    {"package", json_type_int, false},
    {"numa_node", json_type_int, false},
    {"cache", json_type_int, false},
    {"is_allowed", json_type_boolean, false},
    {NULL, json_type_null, false},
};
static const struct field nic_fields[] = {
    {"name", json_type_string, false},
    {"bus", json_type_string, true},
    {"is_everywhere", json_type_boolean, false},
    {"near", json_type_array, false},
    {NULL, json_type_null, false},
};
static const struct field placement_fields[] = {
    {"are_neighbours_known", json_type_boolean, false},
    {"progress_of_amalgam_init", json_type_string, false},
    {"ranks", json_type_array, false},
    {NULL, json_type_null, false},
};
static const struct field rank_fields[] = {
    {"rank", json_type_int, false},
    {"binding", json_type_array, false},
    {"threads", json_type_int, true},
    {"progress", json_type_string, false},
    {"progress_reason", json_type_string, false},
    {"is_oversubscribed", json_type_boolean, false},
    {"waiting", json_type_string, false},
    {"progress_thread", json_type_object, true},
    {"notes", json_type_string, true},
    {NULL, json_type_null, false},
};
static const struct field slot_fields[] = {
    {"cpu", json_type_int, true},
    {"is_dedicated", json_type_boolean, false},
    {"sharers", json_type_int, false},
    {"rule", json_type_string, false},
    {"reason", json_type_string, false},
    {NULL, json_type_null, false},
};
static const struct field shm_fields[] = {
    {"total_bytes", json_type_int, false},
    {"free_bytes", json_type_int, false},
    {"ranks", json_type_int, false},
    {"contexts", json_type_int, false},
    {"rank", json_type_object, false},
    {"node", json_type_object, false},
    {NULL, json_type_null, false},
};
static const struct field need_fields[] = {
    {"opened_bytes", json_type_int, false},
    {"called_bytes", json_type_int, false},
    {"most_bytes", json_type_int, false},
    {NULL, json_type_null, false},
};
static const struct field provider_fields[] = {
    {"init", json_type_string, false},
    {"address", json_type_string, false},
    {"networks", json_type_string, false},
    {"exposed_memory", json_type_string, false},
    {"message_bytes", json_type_int, false},
    {"credits", json_type_int, false},
    {"inject_bytes", json_type_int, false},
    {"piece_bytes", json_type_int, false},
    {"piece_segments", json_type_int, false},
    {"key_bytes", json_type_int, false},
    {"has_descriptor", json_type_boolean, false},
    {NULL, json_type_null, false},
};

static bool is_good = true;

static void complain(const char *what, const char *which)
{
    fprintf(stderr, "json_agrees: %s: %s\n", what, which);
    is_good = false;
}

static struct json_object *get(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(object, key, &value);
    return value;
}

static const char *text_of(struct json_object *object, const char *key)
{
    const char *text = json_object_get_string(get(object, key));

    return text == NULL ? "" : text;
}

static int64_t number_of(struct json_object *object, const char *key)
{
    return json_object_get_int64(get(object, key));
}

static void fields_check(
    struct json_object *object, const struct field *fields, const char *where)
{
    for (; fields->name != NULL; fields++) {
        struct json_object *value = NULL;
        bool is_there =
            json_object_object_get_ex(object, fields->name, &value) != 0;

        if (!is_there || (json_object_get_type(value) != fields->type &&
                             !(value == NULL && fields->may_be_null)))
            complain(where, fields->name);
    }
}

static void items_check(
    struct json_object *array, const struct field *fields, const char *where)
{
    for (size_t i = 0; array != NULL && i < json_object_array_length(array);
         i++)
        fields_check(json_object_array_get_idx(array, i), fields, where);
}

static void ranks_check(struct json_object *ranks)
{
    items_check(ranks, rank_fields, "a rank");
    for (size_t i = 0; i < json_object_array_length(ranks); i++) {
        struct json_object *rank = json_object_array_get_idx(ranks, i);
        struct json_object *slot = get(rank, "progress_thread");

        if (slot != NULL)
            fields_check(slot, slot_fields, "a progress thread");
    }
}

static void shm_check(struct json_object *shm)
{
    struct json_object *rank = get(shm, "rank");
    struct json_object *node = get(shm, "node");

    fields_check(shm, shm_fields, "the shared memory");
    fields_check(rank, need_fields, "the need of a rank");
    fields_check(node, need_fields, "the need of a node");
    for (const struct field *field = need_fields; field->name != NULL; field++)
        if (number_of(rank, field->name) <= 0 ||
            number_of(node, field->name) !=
                number_of(rank, field->name) * number_of(shm, "ranks"))
            complain("not that of all ranks", field->name);
}

static void all_fields_check(struct json_object *root)
{
    fields_check(root, root_fields, "the document");
    items_check(get(root, "environment"), variable_fields, "a variable");
    fields_check(get(root, "class"), class_fields, "the class");
    fields_check(get(root, "job"), job_fields, "the job");
    items_check(get(get(root, "job"), "nodes"), node_fields, "a node");
    fields_check(get(root, "machine"), machine_fields, "the machine");
    items_check(get(get(root, "machine"), "pus"), pu_fields, "a cpu");
    items_check(get(get(root, "machine"), "networks"), nic_fields, "a NIC");
    fields_check(get(root, "placement"), placement_fields, "the placement");
    ranks_check(get(get(root, "placement"), "ranks"));
    shm_check(get(root, "shared_memory"));
    fields_check(get(root, "limits"), limits_fields, "the limits");
    if (get(root, "libfabric") != NULL)
        items_check(get(get(root, "libfabric"), "providers"), provider_fields,
            "a provider");
}

/* The rest of the first line that begins so, after spaces; NULL: none. */
static const char *line_find(const char *text, const char *begin)
{
    for (; *text != '\0'; text += strcspn(text, "\n")) {
        text += strspn(text, "\n ");
        if (strncmp(text, begin, strlen(begin)) == 0)
            return text + strlen(begin);
    }
    return NULL;
}

static void line_check(const char *text, const char *begin)
{
    if (line_find(text, begin) == NULL)
        complain("not in the text", begin);
}

/* Compares with the text on this rank, and on its threads. */
static void rank_agrees(const char *text, struct json_object *rank)
{
    struct json_object *slot = get(rank, "progress_thread");
    int64_t number = number_of(rank, "rank");
    char line[LINE_CAP];
    char cpu[16] = "-";
    char use[32] = "shared";

    snprintf(line, sizeof(line), "rank %-6" PRId64 " bound     cpus ", number);
    line_check(text, line);
    snprintf(line, sizeof(line), "rank %-6" PRId64 " mode      %s (%s)", number,
        text_of(rank, "progress"), text_of(rank, "progress_reason"));
    line_check(text, line);
    snprintf(line, sizeof(line), "rank %-6" PRId64 " waiting   %s", number,
        text_of(rank, "waiting"));
    line_check(text, line);
    if (slot == NULL)
        return;
    if (get(slot, "cpu") != NULL)
        snprintf(cpu, sizeof(cpu), "cpu %" PRId64, number_of(slot, "cpu"));
    if (json_object_get_boolean(get(slot, "is_dedicated")))
        snprintf(use, sizeof(use), "own");
    else if (number_of(slot, "sharers") > 1)
        snprintf(
            use, sizeof(use), "shared by %" PRId64, number_of(slot, "sharers"));
    snprintf(line, sizeof(line), "rank %-6" PRId64 " progress  %-8s %-11s %s",
        number, cpu, use, text_of(slot, "reason"));
    line_check(text, line);
}

static void limits_agree(const char *text, struct json_object *limits)
{
    struct json_object *advice = get(limits, "too_small");
    char line[LINE_CAP];

    if (get(limits, "descriptors") != NULL) {
        snprintf(line, sizeof(line), "descriptors      %12" PRId64 " ",
            number_of(limits, "descriptors"));
        line_check(text, line);
    }
    if (json_object_array_length(advice) == 0)
        line_check(text, "too small          nothing");
    for (size_t i = 0; i < json_object_array_length(advice); i++) {
        snprintf(line, sizeof(line), "too small          %s",
            json_object_get_string(json_object_array_get_idx(advice, i)));
        line_check(text, line);
    }
}

static void text_agrees(const char *text, struct json_object *root)
{
    struct json_object *cls = get(root, "class");
    struct json_object *machine = get(root, "machine");
    struct json_object *ranks = get(get(root, "placement"), "ranks");
    struct json_object *libfabric = get(root, "libfabric");
    struct json_object *shm = get(root, "shared_memory");
    char line[LINE_CAP];

    snprintf(line, sizeof(line), "transport          %s, protocol %s",
        text_of(cls, "transport"), text_of(cls, "protocol"));
    line_check(text, line);
    snprintf(line, sizeof(line),
        "credits            %" PRId64 " unanswered calls per peer",
        number_of(cls, "credits"));
    line_check(text, line);
    snprintf(line, sizeof(line), "ranks              %" PRId64,
        number_of(get(root, "job"), "ranks"));
    line_check(text, line);
    snprintf(line, sizeof(line), "called by all    %12" PRId64 " %12" PRId64,
        number_of(get(shm, "rank"), "called_bytes"),
        number_of(get(shm, "node"), "called_bytes"));
    line_check(text, line);
    limits_agree(text, get(root, "limits"));
    snprintf(line, sizeof(line), "%zu hardware thread",
        json_object_array_length(get(machine, "pus")));
    if (strstr(text, line) == NULL)
        complain("not in the text", line);
    for (size_t i = 0; i < json_object_array_length(ranks); i++)
        rank_agrees(text, json_object_array_get_idx(ranks, i));
    if (libfabric == NULL)
        line_check(text, "Libfabric: driver not installed");
    for (size_t i = 0; libfabric != NULL && i < json_object_array_length(get(
                                                    libfabric, "providers"));
         i++)
        line_check(text,
            text_of(json_object_array_get_idx(get(libfabric, "providers"), i),
                "init"));
}

int main(int argc, char **argv)
{
    char *json = argc == 4 ? file_read(argv[1]) : NULL;
    char *text = argc == 4 ? file_read(argv[2]) : NULL;
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *root = NULL;
    size_t end = 0;

    if (json == NULL || text == NULL || tokener == NULL) {
        fputs("json_agrees JSON TEXT RANKS\n", stderr);
        return 1;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    root = json_tokener_parse_ex(tokener, json, (int)strlen(json) + 1);
    end = json_tokener_get_parse_end(tokener);
    if (root == NULL || strspn(json + end, " \n") != strlen(json + end)) {
        complain("no JSON document, and nothing else",
            json_tokener_error_desc(json_tokener_get_error(tokener)));
    } else {
        all_fields_check(root);
        if (is_good)
            text_agrees(text, root);
        if (json_object_array_length(get(get(root, "placement"), "ranks")) !=
            strtoul(argv[3], NULL, 10))
            complain("so many ranks are on the node of rank 0", argv[3]);
    }
    json_object_put(root);
    json_tokener_free(tokener);
    free(json);
    free(text);
    return is_good ? 0 : 1;
}
