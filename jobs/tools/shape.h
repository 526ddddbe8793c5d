/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes and texts of a picture, as elements of SVG. */
#ifndef TOOLS_SHAPE_H
#define TOOLS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A picture that is being written; lengths are pixels. */
struct shape_pen {
    FILE *file;
};

struct shape_size {
    int width;
    int height;
};

enum {
    SHAPE_SMALL = 9,   /* heights of letters */
    SHAPE_NORMAL = 12, /* all of the same width, */
    SHAPE_LARGE = 15,  /* see shape_text_width() */
    SHAPE_COLOR_CAP = 8
};

void shape_begin(struct shape_pen *pen, int width, int height);
void shape_end(struct shape_pen *pen);

/* What a pointer over the shapes in between is told. */
void shape_group_begin(struct shape_pen *pen, const char *title);
void shape_group_end(struct shape_pen *pen);

/* `stroke` NULL: no border. */
void shape_box(struct shape_pen *pen, int x, int y, struct shape_size size,
    int radius, const char *fill, const char *stroke);
void shape_circle(struct shape_pen *pen, int x, int y, int radius,
    const char *fill, const char *stroke);
void shape_line(struct shape_pen *pen, int x, int y, int to_x, int to_y,
    const char *stroke);
/* From `x` on; `y` is its foot. What XML does not allow is escaped, or '?'. */
void shape_text(struct shape_pen *pen, int x, int y, int height,
    const char *fill, const char *text);
/* With its middle at `x`. */
void shape_text_middle(struct shape_pen *pen, int x, int y, int height,
    const char *fill, const char *text);
int shape_text_width(int height, unsigned letters);
/* How many letters fit into that. */
unsigned shape_text_letters(int height, int width);

/* A light colour for each number, "#rrggbb"; near numbers differ most. */
const char *shape_color(uint32_t number, char ret_color[SHAPE_COLOR_CAP]);

#endif
