/* SPDX-License-Identifier: BSD-3-Clause */
/* How the contexts of a class are driven: what was asked for, and what the
 * machine made of it. */
#include "core/drive.h"

#include "base/mem.h"
#include "core/class.h"
#include "place/topo.h"

void amg_drive_fini(struct amg_drive *drive)
{
    amg_mem_free(drive->ranks);
    amg_mem_free(drive->placement);
}

hg_return_t amg_drive_ask(
    struct amg_drive *drive, const struct amalgam_progress_options *options)
{
    (void)drive;
    (void)options;
    return HG_SUCCESS;
}

void amg_drive_set_ranks(struct amg_drive *drive, struct amg_place_rank *ranks,
    uint32_t count, uint32_t self)
{
    drive->ranks = ranks;
    drive->rank_count = count;
    drive->self = self;
}

void amg_drive_settle(hg_class_t *cls)
{
    (void)cls;
}

bool amg_drive_question(
    const hg_class_t *cls, uint32_t index, struct amg_place_ask *ret_ask)
{
    const struct amg_drive *drive = &cls->drive;

    if (index >= drive->rank_count)
        return false;
    *ret_ask = (struct amg_place_ask){
        .machine = amg_topo_this(),
        .ranks = drive->ranks,
        .rank_count = drive->rank_count,
        .self = index,
        .progress = drive->asked.progress,
        .is_mercury = drive->is_mercury,
        .handlers = drive->asked.handlers,
        .progress_cpus = drive->asked.progress_cpus,
        .handler_cpus = drive->asked.handler_cpus,
    };
    return true;
}
