/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the node into a file.
 *
 * The picture grows beside the file and takes its place when it is whole: what
 * fails leaves nothing behind, and an older picture as it was. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "picture.h"
#include "writers.h"

enum { MARGIN = 14, HEAD = 44, WIDTH_MIN = 640 };

static void head_draw(struct picture *picture)
{
    const struct report *report = picture->report;
    const struct amg_machine *machine = report->machine;
    char text[REPORT_TEXT_CAP];

    snprintf(text, sizeof(text), "%s: %u core%s, %u hardware thread%s",
        report->node_count > 0 ? report->nodes[0].host : "this node",
        machine->core_count, machine->core_count == 1 ? "" : "s",
        machine->pu_count, machine->pu_count == 1 ? "" : "s");
    shape_text(
        &picture->pen, MARGIN, MARGIN + 12, SHAPE_LARGE, "#101010", text);
    snprintf(text, sizeof(text), "Amalgam %s over %s%s", INFO_VERSION,
        report->transport,
        !machine->is_known  ? "; topology not known"
        : !machine->is_this ? "; HWLOC_* variables describe this machine, "
                              "which is not this one"
                            : "");
    shape_text(
        &picture->pen, MARGIN, MARGIN + 30, SHAPE_NORMAL, "#505050", text);
}

static void picture_draw(struct picture *picture)
{
    struct shape_size size = machine_size(picture);
    int width = size.width < WIDTH_MIN ? WIDTH_MIN : size.width;
    int legend_y = MARGIN + HEAD + size.height + MARGIN;

    shape_begin(&picture->pen, width + 2 * MARGIN,
        legend_y + legend_height(picture, width) + MARGIN);
    head_draw(picture);
    machine_draw(picture, MARGIN, MARGIN + HEAD);
    legend_draw(picture, MARGIN, legend_y, width);
    shape_end(&picture->pen);
}

/* NULL, or why it cannot be written. What is not a file, as /dev/null, would be
 * replaced by one. */
static const char *path_check(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return NULL;
    return S_ISDIR(status.st_mode) ? strerror(EISDIR)
                                   : "it is there, and no file";
}

/* NULL, or why not; then there is no such file. */
static const char *file_write(struct picture *picture, const char *path)
{
    int error = 0;

    picture->pen.file = fopen(path, "w");
    if (picture->pen.file == NULL)
        return strerror(errno);
    errno = 0;
    picture_draw(picture);
    if (fflush(picture->pen.file) != 0 || ferror(picture->pen.file))
        error = errno == 0 ? EIO : errno;
    if (fclose(picture->pen.file) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return NULL;
    unlink(path);
    return strerror(error);
}

bool svg_write(
    const struct report *report, const struct map *map, const char *path)
{
    struct picture picture = {.report = report, .map = map};
    size_t cap = strlen(path) + sizeof(".tmp");
    char *draft = amg_mem_alloc(cap);
    const char *why = draft == NULL ? strerror(ENOMEM) : path_check(path);

    if (why == NULL) {
        snprintf(draft, cap, "%s.tmp", path);
        why = file_write(&picture, draft);
        if (why == NULL && rename(draft, path) != 0) {
            why = strerror(errno);
            unlink(draft);
        }
    }
    amg_mem_free(draft);
    if (why != NULL)
        fprintf(stderr, "amalgam_info: cannot write the picture to %s: %s\n",
            path, why);
    return why == NULL;
}
