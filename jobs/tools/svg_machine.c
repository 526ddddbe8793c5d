/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the machine: packages, NUMA nodes, cores and hardware threads, each as
 * a box in the box of what it is part of.
 *
 * A box is as large as its content asks for: a label, a row of networks, and a
 * grid of smaller boxes, each in a cell of the largest one's size. */
#include <string.h>

#include "picture.h"

enum level { LEVEL_NODE, LEVEL_PACKAGE, LEVEL_NUMA, LEVEL_CORE, LEVEL_PU };

enum {
    PU_WIDTH = 42,
    PU_LINE = 14,  /* height of a line of text or marks in it */
    MARK_ROWS = 2, /* at most */
    STRIPES = 4,   /* more ranks than that are not told apart by colours */
    GAP = 6,
    LABEL = 18,
    LABEL_CAP = 64,
};

/* Where the boxes within a box stand. */
struct grid {
    int columns;
    int rows;
    struct shape_size cell;
};

/* How many places the box at `first` has, of those up to `end`. */
static uint32_t level_len(
    const struct picture *picture, enum level level, uint32_t first)
{
    switch (level) {
    case LEVEL_PACKAGE:
        return map_package_len(picture->map, first);
    case LEVEL_NUMA:
        return map_numa_len(picture->map, first);
    case LEVEL_CORE:
        return map_core_len(picture->map, first);
    case LEVEL_PU:
        return 1;
    case LEVEL_NODE:
        break;
    }
    return picture->map->count;
}

static void level_label(const struct picture *picture, enum level level,
    uint32_t first, char ret_label[LABEL_CAP])
{
    const struct amg_pu *pu = picture->map->places[first].pu;
    const char *names[] = {"node", "package", "NUMA node", "core", "cpu"};
    const unsigned numbers[] = {0, pu->package, pu->numa, pu->core, pu->cpu};

    if (level == LEVEL_NODE)
        snprintf(ret_label, LABEL_CAP, "the node");
    else
        snprintf(ret_label, LABEL_CAP, "%s %u", names[level], numbers[level]);
}

/* The networks of that box, in rows of at most `width`; their height. */
static int nics_place(const struct picture *picture, struct shape_pen *pen,
    enum level level, uint32_t first, int x, int y, int width)
{
    const struct amg_machine *machine = picture->report->machine;
    const struct amg_pu *pu = picture->map->places[first].pu;
    unsigned number = level == LEVEL_PACKAGE ? pu->package
                      : level == LEVEL_NUMA  ? pu->numa
                                             : 0;
    int left = 0;
    int top = 0;
    bool has_any = false;

    for (uint32_t i = 0; level <= LEVEL_NUMA && i < machine->nic_count; i++) {
        const char *name = machine->nics[i].name;
        unsigned at = 0;
        enum map_home home = map_home_of(machine, &machine->nics[i], &at);

        /* Levels and homes have the same order. */
        if ((unsigned)home != (unsigned)level || at != number)
            continue;
        if (left > 0 && left + nic_draw(NULL, 0, 0, name) > width) {
            left = 0;
            top += NIC_HEIGHT + GAP;
        }
        left += nic_draw(pen, x + left, y + top, name) + GAP;
        has_any = true;
    }
    return has_any ? top + NIC_HEIGHT + GAP : 0;
}

/* About twice as wide as high; wider, where no row is left half empty then. */
static int columns_for(int count, struct shape_size cell)
{
    int columns = 1;
    int even = 0;

    while (columns < count &&
           columns * cell.width <
               2 * ((count + columns - 1) / columns) * cell.height)
        columns++;
    for (even = columns; even < 2 * columns; even++)
        if (count % even == 0)
            return even;
    return columns;
}

static struct shape_size box_size(
    const struct picture *picture, enum level level, uint32_t first);

static struct grid grid_of(
    const struct picture *picture, enum level level, uint32_t first)
{
    uint32_t end = first + level_len(picture, level, first);
    struct grid grid = {0};
    int count = 0;

    for (; first < end; first += level_len(picture, level + 1, first)) {
        struct shape_size size = box_size(picture, level + 1, first);

        if (size.width > grid.cell.width)
            grid.cell.width = size.width;
        if (size.height > grid.cell.height)
            grid.cell.height = size.height;
        count++;
    }
    grid.columns = level == LEVEL_CORE ? count : columns_for(count, grid.cell);
    grid.rows = (count + grid.columns - 1) / grid.columns;
    return grid;
}

static uint32_t mark_rows(const struct picture *picture)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < picture->map->count; i++)
        if (picture->map->places[i].mark_count > rows)
            rows = picture->map->places[i].mark_count;
    return rows < MARK_ROWS ? rows : MARK_ROWS;
}

static struct shape_size box_size(
    const struct picture *picture, enum level level, uint32_t first)
{
    struct grid grid;
    struct shape_size size = {
        PU_WIDTH, PU_LINE * (2 + (int)mark_rows(picture)) + GAP / 2};
    char label[LABEL_CAP];
    int width = 0;

    if (level == LEVEL_PU)
        return size;
    grid = grid_of(picture, level, first);
    level_label(picture, level, first, label);
    width = shape_text_width(level == LEVEL_CORE ? SHAPE_SMALL : SHAPE_NORMAL,
        (unsigned)strlen(label));
    size.width = grid.columns * (grid.cell.width + GAP) - GAP;
    if (size.width < width)
        size.width = width;
    size.height = LABEL + grid.rows * (grid.cell.height + GAP) +
                  nics_place(picture, NULL, level, first, 0, 0, size.width);
    size.width += 2 * GAP;
    return size;
}

/* The colours of the ranks that are bound to it. */
static void pu_paint(struct picture *picture, const struct map_place *place,
    int x, int y, struct shape_size size)
{
    char color[SHAPE_COLOR_CAP];
    int count = (int)place->rank_count;

    shape_box(&picture->pen, x, y, size, 2,
        !place->is_allowed ? "#d8d8d8"
        : count > STRIPES  ? "#eceff3"
                           : "#ffffff",
        NULL);
    for (int i = 0; place->is_allowed && count <= STRIPES && i < count; i++) {
        int left = size.width * i / count;
        int right = size.width * (i + 1) / count;

        shape_box(&picture->pen, x + left, y,
            (struct shape_size){right - left, size.height}, 0,
            shape_color(place->ranks[i], color), NULL);
    }
    if (!place->is_allowed)
        shape_line(
            &picture->pen, x, y + size.height, x + size.width, y, "#909090");
    shape_box(&picture->pen, x, y, size, 2, "none", "#707070");
}

static void pu_marks(
    struct picture *picture, const struct map_place *place, int x, int y)
{
    char text[LABEL_CAP];

    for (uint32_t i = 0; i < place->mark_count && i < MARK_ROWS; i++) {
        if (i + 1 == MARK_ROWS && place->mark_count > MARK_ROWS) {
            snprintf(
                text, sizeof(text), "+%u", place->mark_count - (MARK_ROWS - 1));
            shape_text(&picture->pen, x, y + 10, SHAPE_SMALL, "#202020", text);
            return;
        }
        mark_draw(picture, x, y, place->marks[i].letter);
        snprintf(text, sizeof(text), "%u", place->marks[i].rank);
        shape_text(&picture->pen, x + MARK_LEN + 2, y + 10, SHAPE_SMALL,
            "#202020", text);
        y += PU_LINE;
    }
}

/* "cpu 7: ranks 0-3; P0 h1" */
static void pu_title(
    const struct map_place *place, char ret_title[REPORT_TEXT_CAP])
{
    char ranks[REPORT_FIELD_CAP];
    size_t len = 0;

    map_list(place->ranks, place->rank_count, ranks, sizeof(ranks));
    len = (size_t)snprintf(ret_title, REPORT_TEXT_CAP, "cpu %u: %s%s",
        place->pu->cpu,
        !place->is_allowed       ? "not ours to use"
        : place->rank_count == 0 ? "no rank"
        : place->rank_count == 1 ? "rank "
                                 : "ranks ",
        place->is_allowed ? ranks : "");
    for (uint32_t i = 0; i < place->mark_count && len < REPORT_TEXT_CAP; i++)
        len += (size_t)snprintf(ret_title + len, REPORT_TEXT_CAP - len,
            "%s %c%u", i == 0 ? ";" : "", place->marks[i].letter,
            place->marks[i].rank);
}

static void pu_draw(struct picture *picture, uint32_t at, int x, int y)
{
    const struct map_place *place = &picture->map->places[at];
    struct shape_size size = box_size(picture, LEVEL_PU, at);
    char title[REPORT_TEXT_CAP];
    char text[8]; /* what fits into the box */

    pu_title(place, title);
    shape_group_begin(&picture->pen, title);
    pu_paint(picture, place, x, y, size);
    snprintf(text, sizeof(text), "%u", place->pu->cpu);
    shape_text(&picture->pen, x + 3, y + 10, SHAPE_SMALL, "#606060", text);
    map_list(place->ranks, place->rank_count, text, sizeof(text));
    if (place->is_allowed)
        shape_text_middle(&picture->pen, x + PU_WIDTH / 2, y + PU_LINE + 10,
            SHAPE_NORMAL - 1, "#101010", text);
    pu_marks(picture, place, x + 3, y + 2 * PU_LINE);
    shape_group_end(&picture->pen);
}

static void box_draw(
    struct picture *picture, enum level level, uint32_t first, int x, int y)
{
    static const char *const fills[] = {
        "#fbfbf9", "#f3f1ea", "#e6ecf2", "#ffffff", ""};
    uint32_t end = first + level_len(picture, level, first);
    struct shape_size size = box_size(picture, level, first);
    struct grid grid;
    char label[LABEL_CAP];

    if (level == LEVEL_PU) {
        pu_draw(picture, first, x, y);
        return;
    }
    grid = grid_of(picture, level, first);
    level_label(picture, level, first, label);
    shape_box(&picture->pen, x, y, size, 3, fills[level], "#909090");
    shape_text(&picture->pen, x + GAP, y + LABEL - 5,
        level == LEVEL_CORE ? SHAPE_SMALL : SHAPE_NORMAL, "#303030", label);
    y += LABEL;
    y += nics_place(
        picture, &picture->pen, level, first, x + GAP, y, size.width - 2 * GAP);
    for (int i = 0; first < end; i++) {
        box_draw(picture, level + 1, first,
            x + GAP + i % grid.columns * (grid.cell.width + GAP),
            y + i / grid.columns * (grid.cell.height + GAP));
        first += level_len(picture, level + 1, first);
    }
}

struct shape_size machine_size(const struct picture *picture)
{
    return box_size(picture, LEVEL_NODE, 0);
}

void machine_draw(struct picture *picture, int x, int y)
{
    box_draw(picture, LEVEL_NODE, 0, x, y);
}
