/* SPDX-License-Identifier: BSD-3-Clause */
/* Report of amalgam_info as one JSON document.
 *
 * Field names are stable, for programs. Unknown values are null. After a
 * failed allocation json-c refuses additions, and no incomplete document is
 * written. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "mercury.h"
#include "writers.h"

/* A document under construction; `is_whole` until an allocation fails. */
struct doc {
    const struct report *report;
    bool is_whole;
};

/* `value` may be NULL, which stands for null. */
static void put(struct doc *doc, struct json_object *object, const char *key,
    struct json_object *value)
{
    if (object != NULL && json_object_object_add(object, key, value) == 0)
        return;
    doc->is_whole = false;
    json_object_put(value);
}

static void add(
    struct doc *doc, struct json_object *array, struct json_object *value)
{
    if (array != NULL && value != NULL &&
        json_object_array_add(array, value) == 0)
        return;
    doc->is_whole = false;
    json_object_put(value);
}

/* Like put(), but a NULL `value` means that there was no memory. */
static void put_made(struct doc *doc, struct json_object *object,
    const char *key, struct json_object *value)
{
    doc->is_whole = doc->is_whole && value != NULL;
    put(doc, object, key, value);
}

static void put_text(struct doc *doc, struct json_object *object,
    const char *key, const char *text)
{
    if (text == NULL)
        put(doc, object, key, NULL);
    else
        put_made(doc, object, key, json_object_new_string(text));
}

static void put_number(struct doc *doc, struct json_object *object,
    const char *key, uint64_t number)
{
    put_made(doc, object, key, json_object_new_uint64(number));
}

static void put_bool(
    struct doc *doc, struct json_object *object, const char *key, bool is_true)
{
    put_made(doc, object, key, json_object_new_boolean(is_true));
}

static struct json_object *put_object(
    struct doc *doc, struct json_object *object, const char *key)
{
    struct json_object *value = json_object_new_object();

    put_made(doc, object, key, value);
    return doc->is_whole ? value : NULL;
}

static struct json_object *put_array(
    struct doc *doc, struct json_object *object, const char *key)
{
    struct json_object *value = json_object_new_array();

    put_made(doc, object, key, value);
    return doc->is_whole ? value : NULL;
}

static struct json_object *add_object(
    struct doc *doc, struct json_object *array)
{
    struct json_object *value = json_object_new_object();

    add(doc, array, value);
    return doc->is_whole ? value : NULL;
}

static void put_cpus(struct doc *doc, struct json_object *object,
    const char *key, const struct amg_cpuset *set)
{
    struct json_object *array = put_array(doc, object, key);

    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++)
        if (amg_cpuset_has(set, cpu))
            add(doc, array, json_object_new_int((int)cpu));
}

static void put_build(struct doc *doc, struct json_object *root)
{
    char version[REPORT_HOST_CAP];
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;

    HG_Version_get(&major, &minor, &patch);
    snprintf(version, sizeof(version), "%u.%u.%u", major, minor, patch);
    put_text(doc, root, "amalgam", INFO_VERSION);
    put_text(doc, root, "mercury", version);
}

/* "self, mpi, auto" */
static void put_offer(struct doc *doc, struct json_object *root)
{
    struct json_object *array = put_array(doc, root, "transports");
    const char *offer = doc->report->offer;

    while (*offer != '\0') {
        size_t len = strcspn(offer, ",");

        add(doc, array, json_object_new_string_len(offer, (int)len));
        offer += len;
        offer += strspn(offer, ", ");
    }
}

static void put_environment(struct doc *doc, struct json_object *root)
{
    struct json_object *array = put_array(doc, root, "environment");

    for (unsigned i = 0; i < AMG_ENV_COUNT; i++) {
        enum amg_env_id id = (enum amg_env_id)i;
        const struct amg_env_var *var = amg_env_var(id);
        struct json_object *one = add_object(doc, array);

        put_text(doc, one, "name", var->name);
        put_text(doc, one, "set_to", amg_env_text(id));
        if (var->max != 0) {
            put_number(doc, one, "value", amg_env_number(id));
            put_text(doc, one, "unit", var->unit);
            put_number(doc, one, "default", var->default_value);
            put_number(doc, one, "min", var->min);
            put_number(doc, one, "max", var->max);
        }
        put_text(doc, one, "help", var->help);
    }
}

static void put_class(struct doc *doc, struct json_object *root)
{
    const struct report *report = doc->report;
    hg_class_t *cls = report->cls;
    struct json_object *one = put_object(doc, root, "class");

    put_text(doc, one, "asked_for", report->transport);
    put_text(doc, one, "transport", HG_Class_get_name(cls));
    put_text(doc, one, "protocol", HG_Class_get_protocol(cls));
    put_text(doc, one, "reaches", cls->reach);
    put_text(
        doc, one, "bulk_reason", cls->reason[0] == '\0' ? NULL : cls->reason);
    put_number(doc, one, "input_bytes", HG_Class_get_input_eager_size(cls));
    put_number(doc, one, "output_bytes", HG_Class_get_output_eager_size(cls));
    put_number(doc, one, "credits", cls->limits.credits);
    put_text(doc, one, "waiting", report_waiting(cls));
    put_bool(doc, one, "has_descriptor", !cls->limits.is_spinning);
    put_number(doc, one, "heap_bytes", report->memory.bytes);
    put_number(doc, one, "heap_blocks", report->memory.live);
    put_text(doc, one, "address",
        report->address[0] == '\0' ? NULL : report->address);
}

static void put_job(struct doc *doc, struct json_object *root)
{
    const struct report *report = doc->report;
    struct json_object *one = put_object(doc, root, "job");
    struct json_object *nodes = NULL;

    put_bool(doc, one, "is_over_mpi", report->is_over_mpi);
    put_number(doc, one, "ranks", (uint64_t)report->size);
    put_text(doc, one, "thread_level", report->thread_level);
    put_text(doc, one, "library", report->is_over_mpi ? report->library : NULL);
    nodes = put_array(doc, one, "nodes");
    for (uint32_t i = 0; i < report->node_count; i++) {
        struct json_object *node = add_object(doc, nodes);

        put_text(doc, node, "host", report->nodes[i].host);
        put_number(doc, node, "first_rank", report->nodes[i].first);
        put_number(doc, node, "ranks", report->nodes[i].ranks);
    }
}

static void put_pus(struct doc *doc, struct json_object *machine)
{
    const struct amg_machine *all = doc->report->machine;
    struct json_object *array = put_array(doc, machine, "pus");

    for (uint32_t i = 0; i < all->pu_count; i++) {
        const struct amg_pu *pu = &all->pus[i];
        struct json_object *one = add_object(doc, array);

        put_number(doc, one, "cpu", pu->cpu);
        put_number(doc, one, "core", pu->core);
        put_number(doc, one, "thread", pu->thread);
        put_number(doc, one, "package", pu->package);
        put_number(doc, one, "numa_node", pu->numa);
        put_number(doc, one, "cache", pu->cache);
        put_bool(
            doc, one, "is_allowed", amg_cpuset_has(&all->allowed, pu->cpu));
    }
}

static void put_nics(struct doc *doc, struct json_object *machine)
{
    const struct amg_machine *all = doc->report->machine;
    struct json_object *array = put_array(doc, machine, "networks");

    for (uint32_t i = 0; i < all->nic_count; i++) {
        const struct amg_nic *nic = &all->nics[i];
        struct json_object *one = add_object(doc, array);

        put_text(doc, one, "name", nic->name);
        put_text(doc, one, "bus", nic->bus[0] == '\0' ? NULL : nic->bus);
        put_bool(doc, one, "is_everywhere", nic->is_everywhere);
        put_cpus(doc, one, "near", &nic->near);
    }
}

static void put_machine(struct doc *doc, struct json_object *root)
{
    const struct amg_machine *machine = doc->report->machine;
    struct json_object *one = put_object(doc, root, "machine");

    put_bool(doc, one, "is_known", machine->is_known);
    put_bool(doc, one, "is_this", machine->is_this);
    put_number(doc, one, "packages", machine->package_count);
    put_number(doc, one, "numa_nodes", machine->numa_count);
    put_number(doc, one, "cores", machine->core_count);
    put_pus(doc, one);
    put_nics(doc, one);
}

/* The rule that placed a thread, as one word. */
static const char *rule_name(enum amg_slot_rule rule)
{
    static const char *const names[AMG_SLOT_RULES] = {
        [AMG_SLOT_CHOSEN] = "chosen",
        [AMG_SLOT_SIBLING] = "sibling",
        [AMG_SLOT_CORE] = "core",
        [AMG_SLOT_NIC] = "nic",
        [AMG_SLOT_NUMA] = "numa_node",
        [AMG_SLOT_ANY] = "any",
        [AMG_SLOT_LAST] = "last",
        [AMG_SLOT_UNPINNED] = "unpinned",
    };

    return names[rule];
}

static void slot_fill(
    struct doc *doc, struct json_object *one, const struct amg_core_slot *slot)
{
    if (slot->cpu < 0)
        put(doc, one, "cpu", NULL);
    else
        put_number(doc, one, "cpu", (uint64_t)slot->cpu);
    put_bool(doc, one, "is_dedicated", slot->is_dedicated);
    put_number(doc, one, "sharers", slot->sharers);
    put_text(doc, one, "rule", rule_name(slot->rule));
    put_text(doc, one, "reason", slot->reason);
}

static void rank_fill(
    struct doc *doc, struct json_object *one, const struct report_rank *local)
{
    const struct amg_placement *placement = &local->placement;

    put_number(doc, one, "rank", local->rank);
    put_cpus(doc, one, "binding", &local->binding);
    if (local->threads == 0)
        put(doc, one, "threads", NULL);
    else
        put_number(doc, one, "threads", local->threads);
    put_text(doc, one, "progress",
        amg_progress_config_progress_name(placement->progress));
    put_text(doc, one, "progress_reason", placement->reason);
    put_bool(doc, one, "is_oversubscribed", placement->is_oversubscribed);
    put_text(doc, one, "waiting", local->wait);
    if (amg_policy_has_thread(placement->progress))
        slot_fill(
            doc, put_object(doc, one, "progress_thread"), &placement->slot);
    else
        put(doc, one, "progress_thread", NULL);
    put_text(doc, one, "notes",
        placement->notes[0] == '\0' ? NULL : placement->notes);
}

static void put_placement(struct doc *doc, struct json_object *root)
{
    const struct report *report = doc->report;
    struct json_object *one = put_object(doc, root, "placement");
    struct json_object *ranks = NULL;

    put_bool(doc, one, "are_neighbours_known", report->are_all_known);
    put_text(doc, one, "progress_of_amalgam_init",
        amg_progress_config_progress_name(report->own_progress));
    ranks = put_array(doc, one, "ranks");
    for (uint32_t i = 0; i < report->local_count; i++)
        rank_fill(doc, add_object(doc, ranks), &report->locals[i]);
}

static void put_provider(struct doc *doc, struct json_object *array,
    const struct amg_provider *provider)
{
    struct json_object *one = add_object(doc, array);

    put_text(doc, one, "init", provider->init);
    put_text(doc, one, "address", provider->address);
    put_text(doc, one, "networks", provider->nics);
    put_text(doc, one, "exposed_memory", provider->demands);
    put_number(doc, one, "message_bytes", provider->message_len);
    put_number(doc, one, "credits", provider->credits);
    put_number(doc, one, "inject_bytes", provider->inject_len);
    put_number(doc, one, "piece_bytes", provider->piece_len);
    put_number(doc, one, "piece_segments", provider->piece_segments);
    put_number(doc, one, "key_bytes", provider->key_len);
    put_bool(doc, one, "has_descriptor", provider->can_sleep);
}

static void put_libfabric(struct doc *doc, struct json_object *root)
{
    const struct report *report = doc->report;
    struct json_object *one = NULL;
    struct json_object *providers = NULL;

    if (!report->has_libfabric) {
        put(doc, root, "libfabric", NULL);
        return;
    }
    one = put_object(doc, root, "libfabric");
    put_text(doc, one, "loaded", report->libfabric[0]);
    put_text(doc, one, "built_with", report->libfabric[1]);
    providers = put_array(doc, one, "providers");
    for (unsigned i = 0; i < report->provider_count; i++)
        put_provider(doc, providers, &report->providers[i].facts);
}

static void put_need(struct doc *doc, struct json_object *parent,
    const char *key, uint32_t ranks)
{
    const struct amg_shm_need *need = &doc->report->need;
    struct json_object *one = put_object(doc, parent, key);

    put_number(doc, one, "opened_bytes", need->opened * ranks);
    put_number(doc, one, "called_bytes", need->called * ranks);
    put_number(doc, one, "most_bytes", need->most * ranks);
}

static void put_shm(struct doc *doc, struct json_object *root)
{
    const struct report *report = doc->report;
    struct json_object *one = put_object(doc, root, "shared_memory");

    put_number(doc, one, "total_bytes", report->shm_total);
    put_number(doc, one, "free_bytes", report->shm_free);
    put_number(doc, one, "ranks", report->local_count);
    put_number(doc, one, "contexts", report->need.contexts);
    put_need(doc, one, "rank", 1);
    put_need(doc, one, "node", report->local_count);
}

static void put_limit(struct doc *doc, struct json_object *object,
    const char *key, uint64_t limit)
{
    if (limit == UINT64_MAX)
        put(doc, object, key, NULL);
    else
        put_number(doc, object, key, limit);
}

static void put_limits(struct doc *doc, struct json_object *root)
{
    const struct limits *limits = &doc->report->limits;
    struct json_object *one = put_object(doc, root, "limits");
    char lines[LIMITS_ADVICE_MAX][LIMITS_TEXT_CAP];
    unsigned count = limits_advise(limits, lines);
    struct json_object *array = NULL;

    put_limit(doc, one, "locked_bytes", limits->locked);
    put_number(doc, one, "locked_now_bytes", limits->locked_now);
    put_bool(doc, one, "is_locking", limits->is_locking);
    put_limit(doc, one, "descriptors", limits->files);
    put_number(doc, one, "descriptors_open", limits->files_open);
    put_number(doc, one, "descriptors_needed", limits->files_need);
    array = put_array(doc, one, "too_small");
    for (unsigned i = 0; i < count; i++)
        add(doc, array, json_object_new_string(lines[i]));
}

bool json_is_there(void)
{
    return true;
}

bool json_write(const struct report *report)
{
    struct doc doc = {.report = report, .is_whole = true};
    struct json_object *root = json_object_new_object();
    const char *text = NULL;

    if (root == NULL)
        return false;
    put_build(&doc, root);
    put_offer(&doc, root);
    put_environment(&doc, root);
    put_class(&doc, root);
    put_job(&doc, root);
    put_machine(&doc, root);
    put_placement(&doc, root);
    put_shm(&doc, root);
    put_limits(&doc, root);
    put_libfabric(&doc, root);
    if (doc.is_whole)
        text = json_object_to_json_string_ext(
            root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text != NULL)
        puts(text);
    json_object_put(root);
    return text != NULL;
}
