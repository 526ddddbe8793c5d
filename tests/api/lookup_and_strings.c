/* SPDX-License-Identifier: BSD-3-Clause */
/* An address outlives its string, in both forms of lookup; malformed strings
 * and those of other jobs are refused; the required size is returned. */
#include <ctype.h>
#include <string.h>

#include "api.h"

enum { TEXT_CAP = 256 };

static hg_addr_t found;
static void *found_arg;

static hg_return_t looked_up(const struct hg_cb_info *info)
{
    if (info->type != HG_CB_LOOKUP || info->ret != HG_SUCCESS)
        return HG_SUCCESS;
    found = info->info.lookup.addr;
    found_arg = info->arg;
    return HG_SUCCESS;
}

/* Both halves of an init string of Mercury's. */
static void class_names(struct api *api)
{
    if (strcmp(api->transport, "na+sm") != 0)
        return;
    CHECK(api, strcmp(HG_Class_get_name(api->cls), "na") == 0);
    CHECK(api, strcmp(HG_Class_get_protocol(api->cls), "sm") == 0);
}

static void sizes(struct api *api, char *ret_text)
{
    hg_size_t need = 0;
    hg_size_t len = TEXT_CAP;
    char small[TEXT_CAP] = "as before";

    OK(api, HG_Addr_to_string(api->cls, NULL, &need, api->right));
    CHECK(api, need > 1 && need < TEXT_CAP);
    OK(api, HG_Addr_to_string(api->cls, ret_text, &len, api->right));
    CHECK(api, len == need && strlen(ret_text) == need - 1);
    for (const char *c = ret_text; *c != '\0'; c++)
        CHECK(api, !isspace((unsigned char)*c));
    len = need - 1;
    EXPECT(
        api, HG_OVERFLOW, HG_Addr_to_string(api->cls, small, &len, api->right));
    CHECK(api, len == need && strcmp(small, "as before") == 0);
    len = 0;
    EXPECT(
        api, HG_OVERFLOW, HG_Addr_to_string(api->cls, small, &len, api->right));
    CHECK(api, len == need);
    OK(api, HG_Addr_to_string(api->cls, small, &len, api->right));
    CHECK(api, strcmp(small, ret_text) == 0);
}

static void lookups(struct api *api, const char *text)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_op_id_t op = (hg_op_id_t)&addr;

    OK(api, HG_Addr_lookup2(api->cls, text, &addr));
    CHECK(api, HG_Addr_cmp(api->cls, addr, api->right) == HG_TRUE);
    OK(api, HG_Addr_free(api->cls, addr));
    OK(api, HG_Addr_lookup(api->context, looked_up, &addr, text, &op));
    CHECK(api, op == HG_OP_ID_NULL && found == HG_ADDR_NULL);
    UNTIL(api, found != HG_ADDR_NULL);
    CHECK(api, found_arg == &addr);
    CHECK(api, HG_Addr_cmp(api->cls, found, api->right) == HG_TRUE);
    OK(api, HG_Addr_free(api->cls, found));
    found = HG_ADDR_NULL;
    OK(api,
        HG_Addr_lookup1(api->context, looked_up, NULL, text, HG_OP_ID_IGNORE));
    UNTIL(api, found != HG_ADDR_NULL);
    OK(api, HG_Addr_free(api->cls, found));
    found = HG_ADDR_NULL;
}

static void refusals(struct api *api, const char *text)
{
    static const char *const nonsense[] = {"", " ", "nonsense", "0"};
    char other[TEXT_CAP];
    char *rest = NULL;
    hg_addr_t addr = HG_ADDR_NULL;

    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
        EXPECT(
            api, HG_INVALID_ARG, HG_Addr_lookup2(api->cls, nonsense[i], &addr));
    EXPECT(api, HG_PROTONOSUPPORT,
        HG_Addr_lookup2(api->cls, "bmi+tcp://10.0.0.1:2020", &addr));
    strcpy(other, text);
    api_world.make_foreign(other);
    EXPECT(api, HG_ADDRNOTAVAIL, HG_Addr_lookup2(api->cls, other, &addr));
    EXPECT(api, HG_ADDRNOTAVAIL,
        HG_Addr_lookup1(api->context, looked_up, NULL, other, NULL));
    strcpy(other, text);
    strcat(other, "?");
    EXPECT(api, HG_INVALID_ARG, HG_Addr_lookup2(api->cls, other, &addr));
    /* The right transport, then garbage. */
    strcpy(other, text);
    rest = strstr(other, "://");
    CHECK(api, rest != NULL);
    strcpy(rest, "://no?sense");
    EXPECT(api, HG_INVALID_ARG, HG_Addr_lookup2(api->cls, other, &addr));
    CHECK(api, addr == HG_ADDR_NULL && found == HG_ADDR_NULL);
}

static void test(struct api *api)
{
    char text[TEXT_CAP] = "";

    class_names(api);
    sizes(api, text);
    lookups(api, text);
    refusals(api, text);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
