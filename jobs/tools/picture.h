/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the picture of a node. */
#ifndef TOOLS_PICTURE_H
#define TOOLS_PICTURE_H

#include "map.h"
#include "shape.h"

/* A picture of the node, while it is drawn. */
struct picture {
    struct shape_pen pen;
    const struct report *report;
    const struct map *map;
};

/* The machine: boxes in boxes. */
struct shape_size machine_size(const struct picture *picture);
void machine_draw(struct picture *picture, int x, int y);

/* What shapes and colours mean; ranks and nodes in words. */
int legend_height(const struct picture *picture, int width);
void legend_draw(struct picture *picture, int x, int y, int width);

/* A sign for a thread of the library, 12 pixels in size. */
void mark_draw(struct picture *picture, int x, int y, char letter);
enum { MARK_LEN = 12 };
/* A NIC's sign; its width. `pen` NULL: draws nothing. */
int nic_draw(struct shape_pen *pen, int x, int y, const char *name);
enum { NIC_HEIGHT = 16 };

#endif
