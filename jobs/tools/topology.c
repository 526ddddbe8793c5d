/* SPDX-License-Identifier: BSD-3-Clause */
/* The node as a topology of hwloc, annotated with its ranks, the threads of the
 * library, and a legend, for lstopo. */
#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writers.h"

enum { COLOR_CAP = 48, NODES_SHOWN = 8 };

/* A light colour for each rank, in the form of lstopo; close ranks differ most.
 */
static const char *style_of(uint32_t rank, char ret_style[COLOR_CAP])
{
    enum { LOW = 165, HIGH = 250, SECTOR = 60 };
    /* Steps of the golden angle: a few dozen colours are all different. */
    unsigned hue = (210 + rank % 360 * 137) % 360;
    unsigned step = hue % SECTOR * (HIGH - LOW) / SECTOR;
    const unsigned rgb[6][3] = {
        {HIGH, LOW + step, LOW},
        {HIGH - step, HIGH, LOW},
        {LOW, HIGH, LOW + step},
        {LOW, HIGH - step, HIGH},
        {LOW + step, LOW, HIGH},
        {HIGH, LOW, HIGH - step},
    };
    const unsigned *one = rgb[hue / SECTOR];

    snprintf(ret_style, COLOR_CAP, "Background=#%02x%02x%02x", one[0] & 0xffu,
        one[1] & 0xffu, one[2] & 0xffu);
    return ret_style;
}

/* Adds a box named `text` to a hardware thread. False: no memory. */
static bool box_add(hwloc_topology_t topology, hwloc_obj_t pu, const char *text,
    const char *style)
{
    hwloc_obj_t box = hwloc_topology_insert_misc_object(topology, pu, text);

    return box != NULL && hwloc_obj_add_info(box, "lstopoStyle", style) == 0;
}

/* Adds the ranks that are bound to a hardware thread, and the threads on it. */
static bool place_annotate(
    hwloc_topology_t topology, hwloc_obj_t pu, const struct map_place *place)
{
    char list[REPORT_FIELD_CAP];
    char text[REPORT_TEXT_CAP];
    char style[COLOR_CAP] = "Background=#ffffff";
    bool is_done = true;

    if (place->rank_count == 1)
        style_of(place->ranks[0], style);
    is_done = hwloc_obj_add_info(pu, "lstopoStyle", style) == 0;
    snprintf(text, sizeof(text), "%s %s",
        place->rank_count == 1 ? "rank" : "ranks",
        map_list(place->ranks, place->rank_count, list, sizeof(list)));
    if (place->rank_count > 0)
        is_done = is_done && box_add(topology, pu, text, style);
    for (uint32_t i = 0; is_done && i < place->mark_count; i++) {
        char letter = place->marks[i].letter;

        snprintf(text, sizeof(text), "%c%u", letter, place->marks[i].rank);
        is_done = box_add(topology, pu, text,
            letter == 'P' ? "Background=#202020;Text=#ffffff"
                          : "Background=#ffffff");
    }
    return is_done;
}

/* "rank 3  bound 6-7; mode assist (idle core); progress cpu 7 (idle core); ..."
 */
static bool rank_annotate(hwloc_obj_t root, const struct report_rank *local)
{
    const struct amg_placement *placement = &local->placement;
    char binding[REPORT_HOST_CAP];
    char slot[REPORT_FIELD_CAP] = "";
    char text[2 * REPORT_TEXT_CAP];

    if (amg_policy_has_thread(placement->progress) && placement->slot.cpu >= 0)
        snprintf(slot, sizeof(slot), "; progress cpu %d (%s)",
            (int)placement->slot.cpu, placement->slot.reason);
    else if (amg_policy_has_thread(placement->progress))
        snprintf(slot, sizeof(slot), "; progress (%s)", placement->slot.reason);
    snprintf(text, sizeof(text),
        "rank %u  bound %s; mode %s (%s)%s; waiting %s", local->rank,
        amg_cpuset_format(&local->binding, binding, sizeof(binding)),
        amg_progress_config_progress_name(placement->progress),
        placement->reason, slot, local->wait);
    return hwloc_obj_add_info(root, "lstopoLegend", text) == 0;
}

static bool legend_annotate(hwloc_obj_t root, const struct report *report)
{
    const struct amg_machine *machine = report->machine;
    char text[REPORT_TEXT_CAP + REPORT_HOST_CAP];
    bool is_done = true;

    snprintf(text, sizeof(text), "%s: Amalgam %s over %s%s",
        report->node_count > 0 ? report->nodes[0].host : "this node",
        INFO_VERSION, report->transport,
        !machine->is_known  ? "; topology unknown"
        : !machine->is_this ? "; described by HWLOC_* variables"
                            : "");
    is_done = hwloc_obj_add_info(root, "lstopoLegend", text) == 0 &&
              hwloc_obj_add_info(root, "lstopoLegend",
                  "P: progress thread of that rank; p: on a shared core") == 0;
    for (uint32_t i = 0; is_done && i < report->local_count; i++)
        is_done = rank_annotate(root, &report->locals[i]);
    for (uint32_t i = 1; is_done && i < report->node_count; i++) {
        const struct report_node *node = &report->nodes[i];

        snprintf(text, sizeof(text),
            "other node %s: %u rank%s, the first is %u", node->host,
            node->ranks, node->ranks == 1 ? "" : "s", node->first);
        if (i > NODES_SHOWN)
            snprintf(text, sizeof(text), "and %u more nodes",
                report->node_count - i);
        is_done = hwloc_obj_add_info(root, "lstopoLegend", text) == 0;
        if (i > NODES_SHOWN)
            break;
    }
    return is_done;
}

/* NULL, or the cause of a failure; then there is no file. */
static const char *file_write(hwloc_topology_t topology,
    const struct report *report, const struct map *map, const char *path)
{
    errno = 0;
    if (hwloc_topology_set_flags(
            topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_set_io_types_filter(
            topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_set_type_filter(
            topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_load(topology) != 0)
        return "hwloc cannot load the topology";
    for (uint32_t i = 0; i < map->count; i++) {
        const struct map_place *place = &map->places[i];
        hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, place->pu->cpu);

        if (pu != NULL && !place_annotate(topology, pu, place))
            return strerror(ENOMEM);
    }
    if (!legend_annotate(hwloc_get_root_obj(topology), report))
        return strerror(ENOMEM);
    errno = 0;
    if (hwloc_topology_export_xml(topology, path, 0) == 0)
        return NULL;
    unlink(path);
    return errno == 0 ? "hwloc failed" : strerror(errno);
}

/* NULL, or why the path cannot be written. A device like /dev/null would be
 * replaced by a file. */
static const char *path_check(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return NULL;
    return S_ISDIR(status.st_mode) ? strerror(EISDIR) : "not a regular file";
}

bool topology_is_there(void)
{
    return true;
}

/* Writes a file beside the old one, and renames it when it is complete. */
bool topology_write(
    const struct report *report, const struct map *map, const char *path)
{
    size_t cap = strlen(path) + sizeof(".tmp");
    char *draft = amg_mem_alloc(cap);
    const char *why = draft == NULL ? strerror(ENOMEM) : path_check(path);
    hwloc_topology_t topology = NULL;

    if (why == NULL && hwloc_topology_init(&topology) != 0)
        why = strerror(ENOMEM);
    if (why == NULL) {
        snprintf(draft, cap, "%s.tmp", path);
        why = file_write(topology, report, map, draft);
    }
    if (why == NULL && rename(draft, path) != 0) {
        why = strerror(errno);
        unlink(draft);
    }
    if (topology != NULL)
        hwloc_topology_destroy(topology);
    amg_mem_free(draft);
    if (why != NULL)
        fprintf(stderr, "amalgam_info: cannot write the topology to %s: %s\n",
            path, why);
    return why == NULL;
}
