/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for Margo, without anything of this library: it calls itself. */
#include <margo.h>

#include <stdio.h>

MERCURY_GEN_PROC(number_t, ((int32_t)(value)))

static void twice(hg_handle_t handle)
{
    number_t number;

    if (margo_get_input(handle, &number) == HG_SUCCESS) {
        number.value *= 2;
        margo_respond(handle, &number);
        margo_free_input(handle, &number);
    }
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(twice)

/* The reply, or -1. */
static int call(margo_instance_id mid, hg_id_t id, int value)
{
    number_t number = {value};
    hg_addr_t self = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    int answer = -1;

    if (margo_addr_self(mid, &self) != HG_SUCCESS)
        return -1;
    if (margo_create(mid, self, id, &handle) == HG_SUCCESS) {
        if (margo_forward(handle, &number) == HG_SUCCESS &&
            margo_get_output(handle, &number) == HG_SUCCESS) {
            answer = number.value;
            margo_free_output(handle, &number);
        }
        margo_destroy(handle);
    }
    margo_addr_free(mid, self);
    return answer;
}

int main(void)
{
    margo_instance_id mid = margo_init("na+sm", MARGO_SERVER_MODE, 0, 0);
    hg_id_t id;
    int answer;

    if (mid == MARGO_INSTANCE_NULL)
        return 1;
    id = MARGO_REGISTER(mid, "twice", number_t, number_t, twice);
    answer = call(mid, id, 21);
    printf("API of version %s, twice 21 is %d\n", MARGO_VERSION, answer);
    margo_finalize(mid);
    return answer == 42 ? 0 : 2;
}
