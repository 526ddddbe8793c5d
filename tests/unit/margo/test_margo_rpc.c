/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering and deregistering in turn takes the memory of one RPC, of Margo
 * and of HG; what it was told before is not kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/context.h"
#include "margo/instance.h"
#include "rpc/registry.h"

enum { CYCLES = 100 };

static unsigned length_of(const struct amg_list *list)
{
    struct amg_link *link = amg_list_first(list);
    unsigned count = 0;

    for (; link != NULL; link = amg_list_next(list, link))
        count++;
    return count;
}

static void test_rpc_registered_in_turn_takes_memory_once(void **state)
{
    margo_instance_id mid = margo_init("self", MARGO_SERVER_MODE, 0, 0);
    struct amg_rpc_class *rpcs = NULL;
    unsigned before = 0;
    unsigned before_hg = 0;

    (void)state;
    assert_non_null(mid);
    rpcs = amg_rpc_class_of(mid->hg_class);
    before = length_of(&mid->rpcs.all);
    before_hg = length_of(&rpcs->all);
    for (unsigned i = 0; i < CYCLES; i++) {
        int is_disabled = 1;
        hg_id_t id = MARGO_REGISTER(mid, "in_turn", void, void, NULL);

        assert_int_not_equal(id, 0);
        assert_string_equal(margo_rpc_get_name(mid, id), "in_turn");
        assert_int_equal(
            margo_registered_disabled_response(mid, id, &is_disabled),
            HG_SUCCESS);
        assert_int_equal(is_disabled, 0);
        assert_int_equal(
            margo_registered_disable_response(mid, id, 1), HG_SUCCESS);
        assert_int_equal(margo_deregister(mid, id), HG_SUCCESS);
    }
    assert_int_equal(length_of(&mid->rpcs.all), before + 1);
    assert_int_equal(length_of(&rpcs->all), before_hg + 1);
    margo_finalize(mid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rpc_registered_in_turn_takes_memory_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
