/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings of programs and peers: init strings with their options, and
 * addresses. Malformed addresses are refused; valid ones keep their meaning
 * when they are printed and parsed again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mercury.h"
#include "transport/registry.h"

enum { TEXT_CAP = 600, ROOM_CAP = 1024 };

static hg_class_t *classes[2]; /* over self, and over shared memory */
static hg_class_t *cls;        /* the class for this input */

/* A copy of exact size, so that an overrun is seen. */
static char *text_take(struct fuzz *fuzz)
{
    char text[TEXT_CAP];
    size_t len = fuzz_bytes(fuzz, text, sizeof(text) - 1);
    char *exact = NULL;

    text[len] = '\0';
    exact = strdup(text);
    FUZZ_CHECK(exact != NULL);
    return exact;
}

/* The class's own address, changed. */
static char *own_take(struct fuzz *fuzz)
{
    char text[TEXT_CAP];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;
    char *exact = NULL;

    FUZZ_CHECK(HG_Addr_self(cls, &self) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_to_string(cls, text, &len, self) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    fuzz_spoil(fuzz, text, len);
    text[sizeof(text) - 1] = '\0';
    exact = strdup(text);
    FUZZ_CHECK(exact != NULL);
    return exact;
}

/* An address holds the number of a process: a changed one may name another
 * process, but never none. */
static void lookup_try(const char *text)
{
    char again[ROOM_CAP];
    hg_size_t len = sizeof(again);
    hg_addr_t addr = HG_ADDR_NULL;
    hg_addr_t same = HG_ADDR_NULL;
    hg_return_t rc = HG_Addr_lookup2(cls, text, &addr);

    FUZZ_CHECK((rc == HG_SUCCESS) == (addr != HG_ADDR_NULL));
    if (rc != HG_SUCCESS)
        return;
    FUZZ_CHECK(HG_Addr_to_string(cls, NULL, &len, addr) == HG_SUCCESS);
    FUZZ_CHECK(len <= sizeof(again));
    FUZZ_CHECK(HG_Addr_to_string(cls, again, &len, addr) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_lookup2(cls, again, &same) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_cmp(cls, addr, same) != HG_FALSE);
    FUZZ_CHECK(HG_Addr_free(cls, same) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_free(cls, addr) == HG_SUCCESS);
}

static void uri_try(const char *text)
{
    struct amg_uri uri;
    struct amg_uri_host host;
    size_t len = strlen(text);

    if (amg_uri_split(text, &uri) != HG_SUCCESS)
        return;
    FUZZ_CHECK(uri.scheme >= text && uri.scheme_len <= len);
    FUZZ_CHECK(uri.class_len <= uri.scheme_len);
    FUZZ_CHECK(uri.rest >= text && uri.rest <= text + len);
    if (amg_uri_split_host(uri.rest, &host) == HG_SUCCESS)
        FUZZ_CHECK(
            host.name_len == 0 ||
            (host.name >= uri.rest && host.name + host.name_len <= text + len));
}

/* Strings of MPI or a network would start them, in this process, for good. */
static bool is_harmless(const char *text)
{
    static const char *const harmless[] = {
        "self", "na+self", "na+sm", "sm", "shm", "zz"};

    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (strncmp(text, harmless[i], strlen(harmless[i])) == 0)
            return true;
    return false;
}

static void init_try(struct fuzz *fuzz)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    unsigned version = fuzz_u16(fuzz);
    char *text = text_take(fuzz);
    char *subnet = text_take(fuzz);
    char *key = text_take(fuzz);
    hg_class_t *made = NULL;

    uri_try(text);
    info.na_init_info.ip_subnet = version % 2 == 0 ? subnet : NULL;
    info.na_init_info.auth_key = version % 3 == 0 ? key : NULL;
    info.na_init_info.max_unexpected_size = (size_t)fuzz_near(fuzz, 4096);
    info.na_init_info.max_expected_size = (size_t)fuzz_near(fuzz, 4096);
    info.na_init_info.progress_mode = fuzz_u8(fuzz);
    info.na_init_info.max_contexts = fuzz_u8(fuzz);
    info.na_init_info.thread_mode = fuzz_u8(fuzz);
    info.checksum_level = (hg_checksum_level_t)(fuzz_u8(fuzz) % 4);
    info.multi_recv_op_max = fuzz_u8(fuzz);
    info.multi_recv_copy_threshold = fuzz_u8(fuzz);
    if (is_harmless(text)) {
        made = HG_Init_opt2(
            text, fuzz_u8(fuzz), HG_VERSION(2, version % 6), &info);
        if (made != NULL)
            FUZZ_CHECK(HG_Finalize(made) == HG_SUCCESS);
    }
    free(text);
    free(subnet);
    free(key);
}

/* Names from programs and the environment. */
static void log_try(struct fuzz *fuzz)
{
    char *text = text_take(fuzz);

    HG_Set_log_level(text);
    HG_Set_log_subsys(text);
    HG_Set_log_subsys("");
    HG_Set_log_level("warning");
    free(text);
}

/* Otherwise the segment would stay. */
static void classes_close(void)
{
    for (unsigned i = 0; i < 2; i++)
        FUZZ_CHECK(HG_Finalize(classes[i]) == HG_SUCCESS);
}

/* The two classes serve all inputs. */
static void classes_open(void)
{
    classes[0] = HG_Init("self", HG_TRUE);
    classes[1] = HG_Init("na+sm", HG_TRUE);
    FUZZ_CHECK(classes[0] != NULL && classes[1] != NULL);
    FUZZ_CHECK(atexit(classes_close) == 0);
}

void fuzz_run(struct fuzz *fuzz)
{
    uint8_t kind = fuzz_u8(fuzz);
    char *text = NULL;

    if (classes[0] == NULL)
        classes_open();
    cls = classes[kind / 4 % 2];
    switch (kind % 4) {
    case 0:
        init_try(fuzz);
        break;
    case 1:
        log_try(fuzz);
        break;
    default:
        text = kind % 4 == 2 ? text_take(fuzz) : own_take(fuzz);
        uri_try(text);
        lookup_try(text);
        free(text);
    }
}
