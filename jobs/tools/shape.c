/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes and texts of a picture, as elements of SVG.
 *
 * Attributes alone, no style sheet: so programs that know little of SVG, and
 * documents with styles of their own, show the same. */
#include "shape.h"

void shape_begin(struct shape_pen *pen, int width, int height)
{
    fprintf(pen->file,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
        "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans Mono, "
        "monospace\">\n",
        width, height, width, height);
    shape_box(
        pen, 0, 0, (struct shape_size){width, height}, 0, "#ffffff", NULL);
}

void shape_end(struct shape_pen *pen)
{
    fputs("</svg>\n", pen->file);
}

static void escaped_put(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc(*text < ' ' || *text > '~' ? '?' : *text, file);
}

void shape_group_begin(struct shape_pen *pen, const char *title)
{
    fputs("<g><title>", pen->file);
    escaped_put(pen->file, title);
    fputs("</title>\n", pen->file);
}

void shape_group_end(struct shape_pen *pen)
{
    fputs("</g>\n", pen->file);
}

static void paint_put(FILE *file, const char *fill, const char *stroke)
{
    fprintf(file, " fill=\"%s\"", fill);
    if (stroke != NULL)
        fprintf(file, " stroke=\"%s\"", stroke);
    fputs("/>\n", file);
}

void shape_box(struct shape_pen *pen, int x, int y, struct shape_size size,
    int radius, const char *fill, const char *stroke)
{
    fprintf(pen->file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", x,
        y, size.width, size.height);
    if (radius > 0)
        fprintf(pen->file, " rx=\"%d\"", radius);
    paint_put(pen->file, fill, stroke);
}

void shape_circle(struct shape_pen *pen, int x, int y, int radius,
    const char *fill, const char *stroke)
{
    fprintf(pen->file, "<circle cx=\"%d\" cy=\"%d\" r=\"%d\"", x, y, radius);
    paint_put(pen->file, fill, stroke);
}

void shape_line(
    struct shape_pen *pen, int x, int y, int to_x, int to_y, const char *stroke)
{
    fprintf(pen->file,
        "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\"/>\n", x, y,
        to_x, to_y, stroke);
}

void shape_text(struct shape_pen *pen, int x, int y, int height,
    const char *fill, const char *text)
{
    fprintf(pen->file, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"%s\">",
        x, y, height, fill);
    escaped_put(pen->file, text);
    fputs("</text>\n", pen->file);
}

void shape_text_middle(struct shape_pen *pen, int x, int y, int height,
    const char *fill, const char *text)
{
    fprintf(pen->file,
        "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"%s\" "
        "text-anchor=\"middle\">",
        x, y, height, fill);
    escaped_put(pen->file, text);
    fputs("</text>\n", pen->file);
}

/* A letter of the usual fonts of equal width is 0.6 as wide as high; some
 * are a little wider. */
enum { LETTER_PERCENT = 62 };

int shape_text_width(int height, unsigned letters)
{
    return (int)letters * height * LETTER_PERCENT / 100;
}

unsigned shape_text_letters(int height, int width)
{
    return width <= 0 ? 0 : (unsigned)(width * 100 / (height * LETTER_PERCENT));
}

const char *shape_color(uint32_t number, char ret_color[SHAPE_COLOR_CAP])
{
    enum { LOW = 165, HIGH = 250, SECTOR = 60 };
    /* Turned by the golden angle, no two of a few dozen come close. */
    unsigned hue = (210 + number % 360 * 137) % 360;
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

    snprintf(ret_color, SHAPE_COLOR_CAP, "#%02x%02x%02x", one[0] & 0xffu,
        one[1] & 0xffu, one[2] & 0xffu);
    return ret_color;
}
