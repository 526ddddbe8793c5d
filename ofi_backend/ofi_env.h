/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of a job: the key of its network, its size, and what providers
 * read. */
#ifndef AMG_OFI_BACKEND_OFI_ENV_H
#define AMG_OFI_BACKEND_OFI_ENV_H

#include "ofi_backend/ofi_call.h"
#include "transport/transport.h"

enum {
    AMG_OFI_AUTH_LEN_MAX = 256,
    AMG_OFI_DEVICE_CAP = 64,
    AMG_OFI_AUTH_TEXT_CAP = 96,
};

/* The key by which a network knows the processes of a job. */
struct amg_ofi_auth {
    size_t len; /* 0: the provider takes its own */
    uint8_t bytes[AMG_OFI_AUTH_LEN_MAX];
    char device[AMG_OFI_DEVICE_CAP]; /* the NIC it belongs to; "": any */
};

/* The key that is asked for: `how->auth_key`, or on Slingshot what
 * AMALGAM_SLINGSHOT_VNI chooses of the job's list. `device`: the NIC that the
 * user named, or "". HG_INVALID_ARG; the log says why. */
hg_return_t amg_ofi_auth_read(const struct amg_open *how, const char *device,
    struct amg_ofi_auth *ret_key);

/* For a person: ", VNI 5 of service 2", where the provider has such a key, or
 * "". `ret_text` has AMG_OFI_AUTH_TEXT_CAP bytes. Returns it. */
const char *amg_ofi_auth_text(const struct fi_info *info, char *ret_text);

/* fi_getinfo(). Before the first one of this process, in which libfabric reads
 * its environment, sets what the user has not set. */
int amg_ofi_env_getinfo(uint32_t version, const char *node, const char *service,
    const struct fi_info *hints, struct fi_info **ret_info);

/* How many peers the queues are made for: what the user said, or the job. */
unsigned amg_ofi_env_universe(void);

/* For tests: the next look is the first one again. */
void amg_ofi_env_forget(void);

#endif
