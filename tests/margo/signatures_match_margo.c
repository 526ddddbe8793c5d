/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Margo have the types that programs are compiled for; otherwise
 * this does not compile. */
#include "margo-bulk-pool.h"
#include "margo-hg-shim.h"
#include "margo.h"

#define HAS_TYPE(function, type)                                               \
    _Static_assert(_Generic(&(function), type : 1, default : 0),               \
        #function " has another type")

HAS_TYPE(HG_Register_name_for_margo,
    hg_id_t (*)(hg_class_t *, const char *, hg_rpc_cb_t));
HAS_TYPE(HG_Forward_to_margo,
    hg_return_t (*)(hg_handle_t, hg_cb_t, void *, hg_proc_cb_t, void *));
HAS_TYPE(HG_Respond_to_margo,
    hg_return_t (*)(hg_handle_t, hg_cb_t, void *, hg_proc_cb_t, void *));
HAS_TYPE(HG_Get_input_from_margo,
    hg_return_t (*)(hg_handle_t, hg_proc_cb_t, void *));
HAS_TYPE(HG_Free_input_from_margo,
    hg_return_t (*)(hg_handle_t, hg_proc_cb_t, void *));
HAS_TYPE(HG_Get_output_from_margo,
    hg_return_t (*)(hg_handle_t, hg_proc_cb_t, void *));
HAS_TYPE(HG_Free_output_from_margo,
    hg_return_t (*)(hg_handle_t, hg_proc_cb_t, void *));
HAS_TYPE(margo_set_current_rpc_id, hg_return_t (*)(margo_instance_id, hg_id_t));
HAS_TYPE(
    margo_get_current_rpc_id, hg_return_t (*)(margo_instance_id, hg_id_t *));
HAS_TYPE(margo_start_abt_profiling, int (*)(margo_instance_id, bool));
HAS_TYPE(
    margo_bulk_poolset_get_max, void (*)(margo_bulk_poolset_t, hg_size_t *));

int main(void)
{
    return 0;
}
