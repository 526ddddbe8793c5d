/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call of Margo refuses a freed handle, with one line that names the call
 * and the handle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "margo/instance.h"
#include "mercury.h"

static unsigned lines;
static char line[512];

static int line_keep(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    lines++;
    return len;
}

static void refused(hg_return_t rc, const char *call, const void *handle)
{
    char wanted[128];

    snprintf(wanted, sizeof(wanted), "%s(): the handle %p was destroyed", call,
        handle);
    assert_int_equal(rc, HG_INVALID_ARG);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(line, wanted));
    lines = 0;
}

static void test_handle_freed_logs_one_line(void **state)
{
    margo_instance_id mid = margo_init("self", MARGO_CLIENT_MODE, 0, 0);
    hg_handle_t handle = HG_HANDLE_NULL;
    uint64_t number = 0;

    (void)state;
    assert_non_null(mid);
    assert_int_equal(
        HG_Create(mid->hg_context, HG_ADDR_NULL, 0, &handle), HG_SUCCESS);
    assert_int_equal(HG_Destroy(handle), HG_SUCCESS);
    hg_log_set_func(line_keep);
    refused(margo_get_input(handle, &number), "margo_get_input", handle);
    refused(margo_free_input(handle, &number), "margo_free_input", handle);
    refused(margo_get_output(handle, &number), "margo_get_output", handle);
    refused(margo_free_output(handle, &number), "margo_free_output", handle);
    refused(margo_forward(handle, &number), "margo_forward", handle);
    refused(margo_respond(handle, &number), "margo_respond", handle);
    refused(margo_destroy(handle), "margo_destroy", handle);
    hg_log_set_func(NULL);
    margo_finalize(mid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handle_freed_logs_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
