/* SPDX-License-Identifier: BSD-3-Clause */
/* HG_Init() and its forms: from Mercury's options to ours. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "init.h"
#include "mercury_class.h"
#include "na_class.h"

#define LIBRARY_VERSION HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR)

hg_return_t HG_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch)
{
    if (major != NULL)
        *major = HG_VERSION_MAJOR;
    if (minor != NULL)
        *minor = HG_VERSION_MINOR;
    if (patch != NULL)
        *patch = HG_VERSION_PATCH;
    return HG_SUCCESS;
}

/* What AMALGAM_NA_PROGRESS() makes. */
enum {
    PROGRESS_SHIFT = 2,
    PROGRESS_MASK = 0x7,
    WAIT_SHIFT = 5,
    WAIT_MASK = 0x3,
    UNKNOWN_MODE = 0x80,
};

/* How much of the struct a program of that version filled in: each version
 * added fields at the end. */
static size_t info_len(unsigned version)
{
    if (HG_VERSION_GE(version, HG_VERSION(2, 4)))
        return sizeof(struct hg_init_info);
    if (HG_VERSION_GE(version, HG_VERSION(2, 3)))
        return offsetof(struct hg_init_info, traffic_class);
    return offsetof(struct hg_init_info, no_multi_recv);
}

/* Mercury's default of multi_recv_op_max. */
enum { MULTI_RECV_OPS = 4 };

static bool info_is_valid(const struct hg_init_info *info)
{
    unsigned ops =
        info->multi_recv_op_max == 0 ? MULTI_RECV_OPS : info->multi_recv_op_max;

    if ((unsigned)info->checksum_level > HG_CHECKSUM_RPC_PAYLOAD) {
        AMG_LOG_ERROR("cls", "checksum_level is %d; there are 0 (none) to 2",
            (int)info->checksum_level);
        return false;
    }
    if (info->multi_recv_copy_threshold <= ops)
        return true;
    AMG_LOG_ERROR("cls",
        "multi_recv_copy_threshold is %u, above multi_recv_op_max, which is %u",
        info->multi_recv_copy_threshold, ops);
    return false;
}

/* The bits of AMALGAM_NA_PROGRESS(). */
static bool progress_read(uint8_t mode, struct amg_init *init)
{
    unsigned progress = mode >> PROGRESS_SHIFT & PROGRESS_MASK;

    if (progress > AMALGAM_PROGRESS_NONE || (mode & UNKNOWN_MODE) != 0) {
        AMG_LOG_ERROR("cls",
            "progress_mode is 0x%x: NA_NO_BLOCK, NA_NO_RETRY and one "
            "AMALGAM_NA_PROGRESS(mode, wait) can stand in it; that one's mode "
            "is %u, the largest %d (AMALGAM_PROGRESS_NONE)%s",
            mode, progress, AMALGAM_PROGRESS_NONE,
            (mode & UNKNOWN_MODE) != 0 ? ", and bit 7 means nothing" : "");
        return false;
    }
    init->progress = (enum amalgam_progress)progress;
    init->wait = (enum amalgam_wait)(mode >> WAIT_SHIFT & WAIT_MASK);
    return true;
}

hg_return_t amg_init_read_na(
    const struct na_init_info_4_0 *na, struct amg_init *init)
{
    size_t len = na->max_unexpected_size;

    if (!progress_read(na->progress_mode, init))
        return HG_INVALID_ARG;
    if (na->max_expected_size > len)
        len = na->max_expected_size;
    init->how.message_len = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
    init->how.max_contexts = na->max_contexts;
    init->how.ip_subnet = na->ip_subnet;
    init->how.auth_key = na->auth_key;
    init->how.addr_format = (uint8_t)na->addr_format;
    init->no_block = (na->progress_mode & NA_NO_BLOCK) != 0;
    init->how.no_block = init->no_block;
    return HG_SUCCESS;
}

hg_return_t amg_init_read_info(
    const struct hg_init_info *info, struct amg_init *init)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!info_is_valid(info))
        return rc;
    rc = amg_init_read_na(&info->na_init_info, init);
    if (rc != HG_SUCCESS)
        return rc;
    if (info->na_class != NULL)
        init->lender = info->na_class->medium;
    init->auto_sm = info->auto_sm != 0;
    init->sm_info = info->sm_info_string;
    init->no_bulk_eager = info->no_bulk_eager != 0;
    init->no_overflow = info->no_overflow;
    init->no_loopback = info->no_loopback != 0;
    init->wants_stats = info->stats != 0;
    init->release_input_early = info->release_input_early != 0;
    init->checksum_level = info->checksum_level;
    return HG_SUCCESS;
}

hg_class_t *HG_Init_opt2(const char *na_info_string, uint8_t na_listen,
    unsigned int version, const struct hg_init_info *hg_init_info)
{
    struct amg_init init = {
        .info = na_info_string,
        .how.is_listening = na_listen != 0,
        .is_mercury = true,
    };
    hg_class_t *cls = NULL;

    if (hg_init_info != NULL) {
        struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

        if (version == 0 || version > LIBRARY_VERSION) {
            AMG_LOG_ERROR("cls",
                "options of version %u.%u; this library knows those up to "
                "%u.%u",
                HG_MAJOR(version), HG_MINOR(version), HG_VERSION_MAJOR,
                HG_VERSION_MINOR);
            return NULL;
        }
        memcpy(&info, hg_init_info, info_len(version));
        if (amg_init_read_info(&info, &init) != HG_SUCCESS)
            return NULL;
    }
    if (!AMG_CONTRACT(na_info_string != NULL || init.lender != NULL))
        return NULL;
    return amg_init_class(&init, &cls) == HG_SUCCESS ? cls : NULL;
}

hg_class_t *HG_Init_opt(const char *na_info_string, uint8_t na_listen,
    const struct hg_init_info *hg_init_info)
{
    return HG_Init_opt2(
        na_info_string, na_listen, HG_VERSION(2, 2), hg_init_info);
}

hg_class_t *HG_Init(const char *na_info_string, uint8_t na_listen)
{
    return HG_Init_opt2(na_info_string, na_listen, 0, NULL);
}
