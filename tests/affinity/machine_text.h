/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines that are described by a text or a file, for tests of placement. */
#ifndef TESTS_AFFINITY_MACHINE_TEXT_H
#define TESTS_AFFINITY_MACHINE_TEXT_H

#include "affinity/topo.h"
#include "base/log.h"
#include "base/mem.h"

/* Frees a result of machine_text_load(); accepts NULL. */
static void machine_text_free(struct amg_machine *machine)
{
    if (machine == NULL)
        return;
    amg_mem_free(machine->pus);
    amg_mem_free(machine);
}

/* Logs failures. */
static hg_return_t machine_text_load(enum amg_topo_source source,
    const char *text, struct amg_machine **ret_machine)
{
    struct amg_machine *machine = amg_mem_zalloc(sizeof(*machine));
    const char *reason = "no memory";
    hg_return_t rc = HG_NOMEM;

    if (machine != NULL)
        machine->pus = amg_mem_zalloc(AMG_CPUS_MAX * sizeof(*machine->pus));
    if (machine != NULL && machine->pus != NULL)
        rc = amg_topo_read(source, text, machine, &reason);
    if (rc == HG_SUCCESS) {
        *ret_machine = machine;
        return HG_SUCCESS;
    }
    machine_text_free(machine);
    AMG_LOG_ERROR("cls", "the topology of %s \"%s\" cannot be loaded: %s",
        source == AMG_TOPO_XML ? "the file" : "the description", text, reason);
    return rc;
}

#endif
