/* SPDX-License-Identifier: BSD-3-Clause */
/* Says in words what is in the picture of a node. */
#include <string.h>

#include "picture.h"

enum {
    LINE = 18,
    COLUMN = 420, /* the least width of one */
    SWATCH = 12,
    NODES_SHOWN = 8,
    FEW = 12,
    GAP = 8,
    WORDS = 5,
    BINDING_CAP = 48,
};

void mark_draw(struct picture *picture, int x, int y, char letter)
{
    bool is_dedicated = letter == 'P' || letter == 'H';
    const char *fill = is_dedicated ? "#202020" : "#ffffff";
    char text[2] = {letter == 'p' || letter == 'P' ? 'P' : 'H', '\0'};

    if (text[0] == 'P')
        shape_circle(&picture->pen, x + MARK_LEN / 2, y + MARK_LEN / 2,
            MARK_LEN / 2, fill, "#202020");
    else
        shape_box(&picture->pen, x, y, (struct shape_size){MARK_LEN, MARK_LEN},
            2, fill, "#202020");
    shape_text_middle(&picture->pen, x + MARK_LEN / 2, y + MARK_LEN - 3,
        SHAPE_SMALL, is_dedicated ? "#ffffff" : "#202020", text);
}

int nic_draw(struct shape_pen *pen, int x, int y, const char *name)
{
    int width =
        shape_text_width(SHAPE_NORMAL - 1, (unsigned)strlen(name)) + 2 * GAP;

    if (pen == NULL)
        return width;
    shape_box(pen, x, y, (struct shape_size){width, NIC_HEIGHT}, 8, "#d7f0d2",
        "#3a7a34");
    shape_text_middle(pen, x + width / 2, y + NIC_HEIGHT - 4, SHAPE_NORMAL - 1,
        "#1d4a19", name);
    return width;
}

/* Of ranks: few have room for more words. */
static int columns_of(const struct picture *picture, int width)
{
    return picture->report->local_count <= FEW || width < 2 * COLUMN
               ? 1
               : width / COLUMN;
}

/* Lines that say of other nodes how many ranks they have. */
static int node_lines(const struct picture *picture)
{
    uint32_t count = picture->report->node_count;

    if (count < 2)
        return 0;
    return count - 1 > NODES_SHOWN ? NODES_SHOWN + 1 : (int)count - 1;
}

int legend_height(const struct picture *picture, int width)
{
    int columns = columns_of(picture, width);
    int ranks = (int)picture->report->local_count;

    return (WORDS + node_lines(picture) + (ranks + columns - 1) / columns) *
               LINE +
           2 * GAP;
}

static void words_draw(struct picture *picture, int x, int y)
{
    static const struct {
        const char *marks;
        const char *text;
    } words[] = {
        {"Pp", "progress thread of that rank; filled: alone on its core, "
               "hollow: shares it"},
        {"Hh", "handler thread, in the same way"},
    };
    struct shape_size swatch = {SWATCH, SWATCH};
    int text_x = x + 2 * MARK_LEN + 2 * GAP;
    struct shape_pen *pen = &picture->pen;

    for (unsigned i = 0; i < 2; i++, y += LINE) {
        mark_draw(picture, x, y, words[i].marks[0]);
        mark_draw(picture, x + MARK_LEN + 4, y, words[i].marks[1]);
        shape_text(pen, text_x, y + 10, SHAPE_NORMAL, "#202020", words[i].text);
    }
    nic_draw(pen, x, y - 1, "n");
    shape_text(pen, text_x, y + 10, SHAPE_NORMAL, "#202020",
        "a network, where it is near to");
    y += LINE;
    shape_box(pen, x, y, swatch, 2, "#ffffff", "#707070");
    shape_text(pen, text_x, y + 10, SHAPE_NORMAL, "#202020",
        "a hardware thread that no rank is bound to: its number above, ranks "
        "below");
    y += LINE;
    shape_box(pen, x, y, swatch, 2, "#d8d8d8", "#707070");
    shape_line(pen, x, y + SWATCH, x + SWATCH, y, "#909090");
    shape_text(pen, text_x, y + 10, SHAPE_NORMAL, "#202020",
        "one that is not ours to use (cgroup)");
}

/* "rank 3: bound to 6-7; progress by assist, cpu 7; 1 handler; spins, ..." */
static void rank_text(const struct report_rank *local, char *ret_text)
{
    const struct amg_placement *placement = &local->placement;
    char binding[BINDING_CAP];
    char where[BINDING_CAP] = "";
    char handlers[BINDING_CAP] = "";

    if (amg_policy_has_thread(placement->progress)) {
        if (placement->seat.cpu < 0)
            snprintf(where, sizeof(where), ", not pinned");
        else
            snprintf(
                where, sizeof(where), ", cpu %d", (int)placement->seat.cpu);
    }
    if (placement->handlers > 0)
        snprintf(handlers, sizeof(handlers), "%u handler%s; ",
            placement->handlers, placement->handlers == 1 ? "" : "s");
    snprintf(ret_text, REPORT_TEXT_CAP,
        "rank %u: bound to %s; progress by %s%s; %s%s", local->rank,
        amg_cpuset_format(&local->binding, binding, sizeof(binding)),
        amg_progress_config_progress_name(placement->progress), where, handlers,
        local->wait);
}

/* What is longer than `width` is cut; a pointer is told all of it, and why. */
static void rank_draw(struct picture *picture, const struct report_rank *local,
    int x, int y, int width)
{
    const struct amg_placement *placement = &local->placement;
    struct shape_size swatch = {SWATCH, SWATCH};
    char text[REPORT_TEXT_CAP];
    char title[2 * REPORT_TEXT_CAP];
    char color[SHAPE_COLOR_CAP];
    unsigned letters =
        shape_text_letters(SHAPE_NORMAL - 1, width - SWATCH - 2 * GAP);

    rank_text(local, text);
    snprintf(title, sizeof(title), "%s; %s; %s", text, placement->reason,
        placement->seat.reason);
    shape_group_begin(&picture->pen, title);
    shape_box(&picture->pen, x, y, swatch, 2, shape_color(local->rank, color),
        "#707070");
    if (strlen(text) > letters)
        memcpy(text + letters - 3, "...", 4);
    shape_text(&picture->pen, x + SWATCH + GAP, y + 10, SHAPE_NORMAL - 1,
        "#202020", text);
    shape_group_end(&picture->pen);
}

static void nodes_draw(struct picture *picture, int x, int y)
{
    const struct report *report = picture->report;
    char text[REPORT_TEXT_CAP];

    for (uint32_t i = 1; i < report->node_count; i++, y += LINE) {
        const struct report_node *node = &report->nodes[i];

        snprintf(text, sizeof(text), "another node, %s: %u rank%s from %u on",
            node->host, node->ranks, node->ranks == 1 ? "" : "s", node->first);
        if (i > NODES_SHOWN)
            snprintf(text, sizeof(text), "and %u nodes more",
                report->node_count - i);
        shape_text(&picture->pen, x, y + 10, SHAPE_NORMAL, "#202020", text);
        if (i > NODES_SHOWN)
            return;
    }
}

void legend_draw(struct picture *picture, int x, int y, int width)
{
    const struct report *report = picture->report;
    int columns = columns_of(picture, width);
    int rows = ((int)report->local_count + columns - 1) / columns;

    words_draw(picture, x, y);
    y += WORDS * LINE + GAP;
    for (uint32_t i = 0; i < report->local_count; i++)
        rank_draw(picture, &report->locals[i],
            x + (int)i / rows * (width / columns), y + (int)i % rows * LINE,
            width / columns);
    nodes_draw(picture, x, y + rows * LINE);
}
