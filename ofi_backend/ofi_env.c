/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of a job: the key of its network, its size, and the variables of
 * providers.
 *
 * On Slingshot a key is a service and a VNI, the number of a virtual network:
 * only processes of one VNI reach each other. The launcher sets lists; two jobs
 * that communicate share one VNI, often the second:
 *
 *   SLINGSHOT_VNIS     5,1017     VNIs of this job; providers take the first
 *   SLINGSHOT_DEVICES  cxi0,cxi1
 *   SLINGSHOT_SVC_IDS  2,7        a service for each device
 *
 * Libfabric reads its environment once, at the first fi_getinfo() of a process;
 * if another library (MPI) was first, the variables set here have no effect.
 * Values that the user set are kept. Values set here are never changed, as a
 * change can free the text that another thread reads. Providers also install
 * signal handlers in fi_getinfo(); this file restores those of the program. */
#include "ofi_backend/ofi_domain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "base/process.h"

#define VNIS_NAME     "SLINGSHOT_VNIS"
#define SERVICES_NAME "SLINGSHOT_SVC_IDS"
#define DEVICES_NAME  "SLINGSHOT_DEVICES"
#define UNIVERSE_NAME "FI_UNIVERSE_SIZE"

enum {
    UNIVERSE_DEFAULT = 256, /* libfabric's own default */
    UNIVERSE_MAX = 1 << 24,
};

static const struct {
    const char *name;
    const char *value;
} settings[] = {
    /* Number of receive buffers of 16 KiB of the layer ofi_rxm; the default of
     * 4096 takes 64 MiB before the first message. With 128 a class over
     * tcp;ofi_rxm has 22 MiB resident instead of 75. */
    {"FI_OFI_RXM_MSG_RX_SIZE", "128"},
    /* With cxi's defaults, peers could reach memory after its registration was
     * closed (libfabric, fi_cxi(7)). */
    {"FI_CXI_OPTIMIZED_MRS", "0"},
    {"FI_CXI_MR_MATCH_EVENTS", "1"},
};

/* Variables of launchers with the number of processes of the job. */
static const char *const job_sizes[] = {
    "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};

static bool was_set;
static char universe[16]; /* value set here; "": none */

/* Key in the format of the cxi provider (libfabric, fi_cxi(7)). */
struct slingshot_key {
    uint32_t service;
    uint16_t vni;
};

static const char *text_of(const char *name)
{
    const char *text = getenv(name);

    return text == NULL ? "" : text;
}

/* Copies word `index` of a list with commas. False: no word, or no room. */
static bool word_read(
    const char *list, unsigned index, char *ret_word, size_t cap)
{
    size_t len = strcspn(list, ",");

    for (; index > 0 && list[len] == ','; index--) {
        list += len + 1;
        len = strcspn(list, ",");
    }
    if (index > 0 || len == 0 || len >= cap)
        return false;
    memcpy(ret_word, list, len);
    ret_word[len] = '\0';
    return true;
}

/* Reads a number of at most `max`, which the character `end` must follow. */
static bool number_read(
    const char *text, char end, unsigned long max, unsigned long *ret_number)
{
    char *after = NULL;

    if (!isdigit((unsigned char)text[0]))
        return false;
    *ret_number = strtoul(text, &after, 10);
    return *after == end && *ret_number <= max;
}

static void slingshot_set(
    struct amg_ofi_auth *key, unsigned long service, unsigned long vni)
{
    struct slingshot_key bytes;

    AMG_ASSERT(service <= UINT32_MAX && vni <= UINT16_MAX);
    memset(&bytes, 0, sizeof(bytes));
    bytes.service = (uint32_t)service;
    bytes.vni = (uint16_t)vni;
    memcpy(key->bytes, &bytes, sizeof(bytes));
    key->len = sizeof(bytes);
}

/* Digits with a colon must be SERVICE:VNI; other text is passed on as bytes. */
static hg_return_t text_read(const char *text, struct amg_ofi_auth *key)
{
    const char *colon = strchr(text, ':');
    size_t len = strlen(text);
    unsigned long service = 0;
    unsigned long vni = 0;

    if (colon != NULL && strspn(text, "0123456789:") == len) {
        if (number_read(text, ':', UINT32_MAX, &service) &&
            number_read(colon + 1, '\0', UINT16_MAX, &vni)) {
            slingshot_set(key, service, vni);
            return HG_SUCCESS;
        }
        AMG_LOG_ERROR("cls",
            "auth_key is '%s'; give SERVICE:VNI, a VNI up to %u, or other "
            "bytes in the format of the provider",
            text, (unsigned)UINT16_MAX);
        return HG_INVALID_ARG;
    }
    if (len > sizeof(key->bytes)) {
        AMG_LOG_ERROR("cls", "auth_key has %zu bytes, more than %zu", len,
            sizeof(key->bytes));
        return HG_INVALID_ARG;
    }
    memcpy(key->bytes, text, len);
    key->len = len;
    return HG_SUCCESS;
}

/* Finds the device in the launcher's list; an empty name finds the first. */
static bool device_find(
    const char *device, unsigned *ret_index, struct amg_ofi_auth *key)
{
    const char *list = text_of(DEVICES_NAME);
    unsigned index = 0;

    while (word_read(list, index, key->device, sizeof(key->device))) {
        if (device[0] == '\0' || strcmp(device, key->device) == 0) {
            *ret_index = index;
            return true;
        }
        index++;
    }
    return false;
}

static hg_return_t job_read(
    unsigned which, const char *device, struct amg_ofi_auth *key)
{
    const char *vnis = text_of(VNIS_NAME);
    char word[32] = "";
    unsigned long service = 0;
    unsigned long vni = 0;
    unsigned index = 0;

    AMG_ASSERT(which >= 1);
    if (!word_read(vnis, which - 1, word, sizeof(word)) ||
        !number_read(word, '\0', UINT16_MAX, &vni)) {
        AMG_LOG_ERROR("cls",
            "%s is %u, and %s is '%s': there is no such VNI; set it to a "
            "position in that list, from 1, and start the job with a VNI (in "
            "Slurm by --network=job_vni)",
            amg_env_var(AMG_ENV_SLINGSHOT_VNI)->name, which, VNIS_NAME, vnis);
        return HG_INVALID_ARG;
    }
    if (!device_find(device, &index, key) ||
        !word_read(text_of(SERVICES_NAME), index, word, sizeof(word)) ||
        !number_read(word, '\0', UINT32_MAX, &service)) {
        AMG_LOG_ERROR("cls",
            "%s '%s' and %s '%s' name no service for %s; the launcher must set "
            "both lists",
            DEVICES_NAME, text_of(DEVICES_NAME), SERVICES_NAME,
            text_of(SERVICES_NAME), device[0] == '\0' ? "a NIC" : device);
        return HG_INVALID_ARG;
    }
    slingshot_set(key, service, vni);
    return HG_SUCCESS;
}

hg_return_t amg_ofi_auth_read(const struct amg_open *how, const char *device,
    struct amg_ofi_auth *ret_key)
{
    uint64_t which = amg_env_number(AMG_ENV_SLINGSHOT_VNI);

    memset(ret_key, 0, sizeof(*ret_key));
    if (how->nic.auth_key != NULL && how->nic.auth_key[0] != '\0')
        return text_read(how->nic.auth_key, ret_key);
    if (which == 0 || how->protocol == NULL ||
        strcmp(how->protocol, "cxi") != 0)
        return HG_SUCCESS;
    return job_read((unsigned)which, device, ret_key);
}

const char *amg_ofi_auth_text(const struct fi_info *info, char *ret_text)
{
    struct slingshot_key key;

    ret_text[0] = '\0';
    if (info->domain_attr->auth_key == NULL ||
        info->domain_attr->auth_key_size != sizeof(key))
        return ret_text;
    memcpy(&key, info->domain_attr->auth_key, sizeof(key));
    snprintf(ret_text, AMG_OFI_AUTH_TEXT_CAP, ", VNI %u of service %u", key.vni,
        key.service);
    return ret_text;
}

static unsigned size_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);

    return text == NULL || end == text || value > UNIVERSE_MAX
               ? 0
               : (unsigned)value;
}

unsigned amg_ofi_env_universe(void)
{
    const char *set = getenv(UNIVERSE_NAME);
    unsigned size = 0;

    if (set != NULL && strcmp(set, universe) != 0)
        size = size_of(UNIVERSE_NAME);
    if (size == 0)
        size = (unsigned)amg_env_number(AMG_ENV_UNIVERSE);
    for (unsigned i = 0;
         i < sizeof(job_sizes) / sizeof(job_sizes[0]) && size == 0; i++)
        size = size_of(job_sizes[i]);
    return size < UNIVERSE_DEFAULT ? UNIVERSE_DEFAULT : size;
}

/* Sets the variables of providers, before the first fi_getinfo(). */
static void settings_write(void)
{
    unsigned size = amg_ofi_env_universe();

    if (size > UNIVERSE_DEFAULT && getenv(UNIVERSE_NAME) == NULL) {
        snprintf(universe, sizeof(universe), "%u", size);
        (void)setenv(UNIVERSE_NAME, universe, 0);
    }
    for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        (void)setenv(settings[i].name, settings[i].value, 0);
    was_set = true;
}

/* Only one thread at a time sets the environment: amg_signals_save() makes
 * others wait. */
int amg_ofi_env_getinfo(uint32_t version, const char *node, const char *service,
    const struct fi_info *hints, struct fi_info **ret_info)
{
    bool is_named = node != NULL || service != NULL;
    struct amg_signals signals; /* of the program */
    int code = 0;

    amg_signals_save(&signals);
    if (!was_set)
        settings_write();
    code = amg_ofi_call->getinfo(
        version, node, service, is_named ? FI_SOURCE : 0, hints, ret_info);
    amg_signals_restore(&signals);
    return code;
}

void amg_ofi_env_forget(void)
{
    was_set = false;
}
