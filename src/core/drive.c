/* SPDX-License-Identifier: BSD-3-Clause */
/* How the contexts of a class are driven: what was asked for, and what the
 * machine made of it. */
#include "core/drive.h"

#include "base/mem.h"
#include "core/class.h"

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
