/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for Mercury, without anything of this library. */
#include <mercury.h>

#include <stdio.h>

int main(void)
{
    unsigned major;
    unsigned minor;
    unsigned patch;
    hg_class_t *hg_class;

    if (HG_Version_get(&major, &minor, &patch) != HG_SUCCESS)
        return 1;
    printf("API of version %u.%u.%u\n", major, minor, patch);
    if (major != HG_VERSION_MAJOR || minor != HG_VERSION_MINOR)
        return 1;
    hg_class = HG_Init("self", HG_FALSE);
    if (hg_class == NULL)
        return 1;
    return HG_Finalize(hg_class) == HG_SUCCESS ? 0 : 1;
}
