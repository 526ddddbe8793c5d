/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_margo_error_text() gives the text of the last call of a handle, and
 * none after a call that was not sent. */
#include <string.h>

#include "alone.h"
#include "amalgam_thallium.h"

static void refused(hg_handle_t handle)
{
    amalgam_margo_answer_error(handle, HG_OTHER_ERROR, "why");
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(refused)

int main(void)
{
    char text[AMALGAM_MARGO_TEXT_MAX + 1];
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_id_t id = 0;

    alone_open(NULL, NULL);
    id = MARGO_REGISTER(pair.mid, "refused", void, void, refused);
    handle = alone_handle(id);
    CHECK_RC(margo_forward(handle, NULL), HG_OTHER_ERROR);
    CHECK(amalgam_margo_error_text(handle, text) == 3);
    CHECK(strcmp(text, "why") == 0);
    CHECK_RC(margo_forward_timed(handle, NULL, -1), HG_INVALID_ARG);
    CHECK(amalgam_margo_error_text(handle, text) == 0);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    alone_close();
    return 0;
}
