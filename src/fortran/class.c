/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes, waits and errors of Fortran programs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "fortran/fort.h"

enum {
    /* Callbacks that one round of serving runs at most. */
    TRIGGER_MAX = 256,
    /* Longest sleep while another thread may run the callback that this thread
     * waits for. */
    NAP_MS = 10,
};

/* The name of a procedure in Fortran. */
static const char *name_of(const char *func)
{
    return strncmp(func, "amalgam_f_", 10) == 0 ? func + 10 : func;
}

hg_return_t amg_fort_refuse(const char *func, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    AMG_LOG_ERROR("hg", "amalgam_%s(): %s", name_of(func), text);
    return HG_INVALID_ARG;
}

bool amg_fort_given(const void *object, const char *what, const char *func)
{
    if (object == NULL)
        amg_fort_refuse(func,
            "the argument %s was not made, is freed, or is of a closed class",
            what);
    return object != NULL;
}

void amg_fort_end(int *ierror, hg_return_t rc, const char *func)
{
    if (ierror != NULL) {
        *ierror = (int)rc;
    } else if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("hg",
            "amalgam_%s() ended with %s, and the program did not pass ierror: "
            "the job ends",
            name_of(func), HG_Error_to_string(rc));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

hg_return_t amg_fort_serve(struct fort_class *cls, unsigned timeout_ms)
{
    unsigned count = 0;
    hg_return_t rc = HG_Trigger(cls->context, 0, TRIGGER_MAX, &count);

    if (rc == HG_SUCCESS && count > 0)
        return HG_SUCCESS;
    rc = HG_Progress(cls->context, timeout_ms);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_Trigger(cls->context, 0, TRIGGER_MAX, &count);
    return rc == HG_SUCCESS && count == 0 ? HG_TIMEOUT : rc;
}

hg_return_t amg_fort_wait(struct fort_request *request, const int *timeout_ms)
{
    uint64_t deadline_ns =
        timeout_ms == NULL ? 0
                           : amg_clock_deadline_ns(fort_limit_ms(timeout_ms));

    for (bool is_late = false; !fort_has_ended(request);) {
        if (is_late)
            return HG_TIMEOUT;
        is_late = timeout_ms != NULL && amg_clock_ns() >= deadline_ns;
        /* An error of progress ends the operations, and so this wait. */
        (void)amg_fort_serve(request->owner, is_late ? 0 : NAP_MS);
    }
    return request->ret;
}

/* Opens the class on a communicator of C. */
static hg_return_t class_open(MPI_Comm comm, struct fort_class **ret_cls,
    const CFI_cdesc_t *transport, const int *credits, const int *message_bytes,
    const int *progress)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    struct amalgam_progress_options how = AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct fort_class *cls = amg_mem_zalloc(sizeof(*cls));
    char *name = transport == NULL ? NULL : amg_fort_string(transport);
    hg_return_t rc = HG_NOMEM;

    if (cls == NULL || (transport != NULL && name == NULL))
        goto out;
    /* Negative numbers become large ones, which amalgam_init() refuses. */
    options.credits = credits == NULL ? 0 : (unsigned)*credits;
    options.message_bytes =
        message_bytes == NULL ? 0 : (unsigned)*message_bytes;
    if (progress != NULL)
        how.progress = (enum amalgam_progress) * progress;
    options.progress = &how;
    /* A handle that is kept shows memory as it is, and not as it was when the
     * handle was sent. */
    options.no_bulk_eager = HG_TRUE;
    rc = HG_OTHER_ERROR; /* the log has the reason */
    cls->cls = amalgam_init(
        comm, name == NULL || name[0] == '\0' ? NULL : name, &options);
    if (cls->cls != NULL)
        cls->context = HG_Context_create(cls->cls);
    if (cls->context != NULL) {
        *ret_cls = cls;
        cls = NULL;
        rc = HG_SUCCESS;
    } else if (cls->cls != NULL) {
        (void)HG_Finalize(cls->cls);
    }
out:
    amg_mem_free(name);
    amg_mem_free(cls);
    return rc;
}

HG_PUBLIC void amalgam_f_init(const MPI_Fint *comm, struct fort_class **cls,
    const CFI_cdesc_t *transport, const int *credits, const int *message_bytes,
    const int *progress, int *ierror)
{
    *cls = NULL;
    FORT_END(class_open(
        MPI_Comm_f2c(*comm), cls, transport, credits, message_bytes, progress));
}

FORT_ALIAS(amalgam_f_init);

HG_PUBLIC void amalgam_f_finalize(struct fort_class **cls, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (amg_role.is_running)
        amg_fort_refuse(__func__, "a handler cannot close its own class");
    else if (FORT_GIVEN(*cls, "class"))
        rc = amalgam_finalize((*cls)->cls);
    /* HG_BUSY and HG_INVALID_ARG leave the class open. */
    if (rc != HG_BUSY && rc != HG_INVALID_ARG) {
        amg_fort_rpcs_close(*cls);
        amg_mem_free(*cls);
        *cls = NULL;
    }
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_progress(
    struct fort_class *const *cls, int timeout_ms, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*cls, "class"))
        rc = amg_fort_serve(*cls, fort_limit_ms(&timeout_ms));
    /* That nothing came is no error of a program that does not ask. */
    FORT_END(rc == HG_TIMEOUT && ierror == NULL ? HG_SUCCESS : rc);
}

HG_PUBLIC void amalgam_f_barrier(struct fort_class *const *cls, int *ierror)
{
    FORT_END(FORT_GIVEN(*cls, "class") ? amalgam_barrier((*cls)->cls)
                                       : HG_INVALID_ARG);
}

/* The limit of one wait in C. Without a limit in Fortran the wait is repeated.
 */
static unsigned limit_of(const int *timeout_ms)
{
    return timeout_ms == NULL ? HG_MAX_IDLE_TIME : fort_limit_ms(timeout_ms);
}

HG_PUBLIC void amalgam_f_quiesce(
    struct fort_class *const *cls, const int *timeout_ms, int *ierror)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*cls, "class"))
        do
            rc = amalgam_quiesce((*cls)->cls, limit_of(timeout_ms));
        while (rc == HG_TIMEOUT && timeout_ms == NULL);
    FORT_END(rc);
}

HG_PUBLIC void amalgam_f_wait_mpi(struct fort_class *const *cls,
    MPI_Fint *request, const int *timeout_ms, int *ierror)
{
    MPI_Request theirs = MPI_Request_f2c(*request);
    hg_return_t rc = HG_INVALID_ARG;

    if (FORT_GIVEN(*cls, "class"))
        do
            rc = amalgam_wait(
                (*cls)->cls, &theirs, limit_of(timeout_ms), MPI_STATUS_IGNORE);
        while (rc == HG_TIMEOUT && timeout_ms == NULL);
    *request = MPI_Request_c2f(theirs);
    FORT_END(rc);
}

FORT_ALIAS(amalgam_f_wait_mpi);

HG_PUBLIC void amalgam_f_error_string(int code, CFI_cdesc_t *text)
{
    const char *string = HG_Error_to_string((hg_return_t)code);
    size_t len = strlen(string);

    if (len > text->elem_len)
        len = text->elem_len;
    memset(text->base_addr, ' ', text->elem_len);
    memcpy(text->base_addr, string, len);
}
