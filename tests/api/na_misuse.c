/* SPDX-License-Identifier: BSD-3-Clause */
/* Every documented misuse of the calls of NA returns its documented code and
 * changes nothing; and the list of protocols has those that can be opened. */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "na.h"

enum { TEXT_CAP = 256 };

static void opening(struct api *api)
{
    struct na_init_info info = NA_INIT_INFO_INITIALIZER;
    unsigned newer = NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR) + 1;

    CHECK(api, NA_Initialize(NULL, true) == NULL);
    CHECK(api, NA_Initialize("", true) == NULL);
    CHECK(api, NA_Initialize("no such transport", true) == NULL);
    CHECK(api, NA_Initialize_opt2("self", true, 0, &info) == NULL);
    CHECK(api, NA_Initialize_opt2("self", true, newer, &info) == NULL);
    CHECK(api, NA_Initialize_opt("self://here", true, &info) == NULL);
    /* Without an NA class, HG needs a string. */
    CHECK(api, HG_Init_opt2(NULL, HG_TRUE, 0, NULL) == NULL);
}

static void nothing_given(struct api *api)
{
    na_addr_t *addr = NULL;
    size_t len = 7;

    CHECK(api, NA_Finalize(NULL) == NA_INVALID_ARG);
    CHECK(api, NA_Get_class_name(NULL) == NULL);
    CHECK(api, NA_Get_class_protocol(NULL) == NULL);
    CHECK(api, !NA_Is_listening(NULL));
    CHECK(api, !NA_Has_opt_feature(NULL, NA_OPT_MULTI_RECV));
    CHECK(api, NA_Addr_lookup(NULL, "x", &addr) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_self(NULL, &addr) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_dup(NULL, NULL, &addr) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_set_remove(NULL, NULL) == NA_INVALID_ARG);
    CHECK(api, !NA_Addr_cmp(NULL, NULL, NULL));
    CHECK(api, !NA_Addr_is_self(NULL, NULL));
    CHECK(api, NA_Addr_to_string(NULL, NULL, &len, NULL) == NA_INVALID_ARG);
    NA_Addr_free(NULL, NULL);
    CHECK(api, addr == NULL && len == 7);
}

static void addresses(struct api *api)
{
    na_class_t *na = NA_Initialize("self", false);
    na_addr_t *addr = NULL;
    na_addr_t *copy = NULL;
    char text[TEXT_CAP];
    size_t len = 0;

    CHECK(api, na != NULL && !NA_Is_listening(na));
    CHECK(api, !NA_Has_opt_feature(na, NA_OPT_MULTI_RECV));
    CHECK(api, NA_Addr_self(na, NULL) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_lookup(na, NULL, &addr) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_lookup(na, "nobody", &addr) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_lookup(na, "x://nobody", &addr) == NA_PROTONOSUPPORT);
    CHECK(api, NA_Addr_lookup(na, "self://1-2", &addr) == NA_ADDRNOTAVAIL);
    CHECK(api, NA_Addr_self(na, &addr) == NA_SUCCESS);
    CHECK(api, NA_Addr_dup(na, NULL, &copy) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_dup(na, addr, NULL) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_dup(na, addr, &copy) == NA_SUCCESS && copy != addr);
    CHECK(api, NA_Addr_cmp(na, addr, copy) && !NA_Addr_cmp(na, addr, NULL));
    CHECK(api, NA_Addr_is_self(na, copy) && !NA_Addr_is_self(na, NULL));
    CHECK(api, NA_Addr_set_remove(na, copy) == NA_SUCCESS);
    CHECK(api, NA_Addr_set_remove(na, NULL) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_to_string(na, text, NULL, addr) == NA_INVALID_ARG);
    CHECK(api, NA_Addr_to_string(na, NULL, &len, addr) == NA_SUCCESS);
    CHECK(api, len > 1 && len <= sizeof(text));
    len--;
    CHECK(api, NA_Addr_to_string(na, text, &len, addr) == NA_OVERFLOW);
    CHECK(api, NA_Addr_to_string(na, text, &len, addr) == NA_SUCCESS);
    CHECK(api, strlen(text) + 1 == len);
    NA_Addr_free(na, NULL);
    NA_Addr_free(na, addr);
    CHECK(api, NA_Finalize(na) == NA_BUSY);
    NA_Addr_free(na, copy);
    CHECK(api, NA_Finalize(na) == NA_SUCCESS);
}

static void codes(struct api *api)
{
    unsigned major = 0;

    CHECK(api, strcmp(NA_Error_to_string(NA_NOENTRY), "NA_NOENTRY") == 0);
    CHECK(api,
        strcmp(NA_Error_to_string(NA_HOSTFIREWALL), "NA_HOSTFIREWALL") == 0);
    CHECK(api, NA_Error_to_string(NA_RETURN_MAX) == NULL);
    CHECK(api, NA_Error_to_string((na_return_t)-1) == NULL);
    CHECK(api, (int)NA_HOSTFIREWALL == (int)HG_HOSTFIREWALL);
    CHECK(api, NA_Version_get(&major, NULL, NULL) == NA_SUCCESS);
    CHECK(api, major == NA_VERSION_MAJOR);
    NA_Set_log_level("warning");
    NA_Cleanup();
}

/* Number of protocols, each with a class and a protocol name. */
static unsigned protocols_count(struct api *api, const char *wanted)
{
    struct na_protocol_info *list = NULL;
    unsigned count = 0;

    OK(api, HG_Get_na_protocol_info(wanted, &list));
    for (struct na_protocol_info *one = list; one != NULL; one = one->next) {
        CHECK(api, one->class_name[0] != '\0' && one->device_name[0] != '\0');
        CHECK(api, one->protocol_name[0] != '\0');
        count++;
    }
    HG_Free_na_protocol_info(list);
    return count;
}

static void protocols(struct api *api)
{
    struct na_protocol_info *list = NULL;
    hg_class_t *cls = NULL;
    char text[TEXT_CAP];
    unsigned all = protocols_count(api, NULL);

    CHECK(api, protocols_count(api, "self") == 1);
    CHECK(api, protocols_count(api, api->transport) >= 1);
    CHECK(api, all >= protocols_count(api, api->transport));
    EXPECT(api, HG_INVALID_ARG, HG_Get_na_protocol_info(NULL, NULL));
    EXPECT(api, HG_INVALID_ARG, HG_Get_na_protocol_info("a+b+c", &list));
    EXPECT(api, HG_PROTONOSUPPORT, HG_Get_na_protocol_info("pigeon", &list));
    EXPECT(api, HG_PROTONOSUPPORT, HG_Get_na_protocol_info("a+self", &list));
    CHECK(api, list == NULL && protocols_count(api, "na") >= 1);
    HG_Free_na_protocol_info(NULL);
    CHECK(api, NA_Get_protocol_info("na+self", &list) == NA_SUCCESS);
    CHECK(api, strcmp(list->class_name, "na") == 0 && list->next == NULL);
    CHECK(api, strcmp(list->protocol_name, "self") == 0);
    snprintf(
        text, sizeof(text), "%s+%s", list->class_name, list->protocol_name);
    NA_Free_protocol_info(list);
    cls = HG_Init(text, HG_FALSE);
    CHECK(api, cls != NULL);
    OK(api, HG_Finalize(cls));
}

static void test(struct api *api)
{
    opening(api);
    nothing_given(api);
    addresses(api);
    codes(api);
    protocols(api);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
