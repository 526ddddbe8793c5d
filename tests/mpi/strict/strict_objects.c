/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of MPI that the user must free, and what is known of communicators.
 *
 * MPI may give one handle several times (an object with a count), so each
 * handle is on the list as often as it was given. */
#include "mpi/strict/strict_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/strict/strict_send.h"

static const char *const names[] = {
    [STRICT_COMM] = "communicator",
    [STRICT_GROUP] = "group",
    [STRICT_TYPE] = "datatype",
    [STRICT_OP] = "operation",
    [STRICT_INFO] = "info",
    [STRICT_WINDOW] = "window",
    [STRICT_ERRHANDLER] = "error handler",
    [STRICT_KEYVAL] = "attribute key",
    [STRICT_MESSAGE] = "matched message",
};

struct object {
    struct object *next;
    enum strict_thing thing;
    uint64_t handle;
    const char *call;
    bool is_library;
    bool is_wild;
    bool is_fine; /* its errors return */
};

static struct object *objects;
static unsigned failable; /* calls that may have failed so far */
static int failed;

uint64_t strict_handle(const void *handle, size_t len)
{
    uint64_t word = 0;

    memcpy(&word, handle, len);
    return word;
}

static struct object *object_add(
    enum strict_thing thing, uint64_t handle, const char *call, bool is_library)
{
    struct object *object = calloc(1, sizeof(*object));

    if (object == NULL)
        abort();
    *object = (struct object){.next = objects,
        .thing = thing,
        .handle = handle,
        .call = call,
        .is_library = is_library};
    objects = object;
    return object;
}

void strict_object_add(enum strict_thing thing, uint64_t handle)
{
    (void)object_add(thing, handle, strict_call(), strict_is_library());
}

static struct object *object_find(enum strict_thing thing, uint64_t handle)
{
    struct object *object = objects;

    while (
        object != NULL && (object->thing != thing || object->handle != handle))
        object = object->next;
    return object;
}

void strict_object_remove(enum strict_thing thing, uint64_t handle)
{
    struct object *object = object_find(thing, handle);
    struct object **at = &objects;

    if (object == NULL)
        return;
    while (*at != object)
        at = &(*at)->next;
    *at = object->next;
    free(object);
}

void strict_object_check_all(void)
{
    if (strict_choice(STRICT_LEAKS) == 0)
        return;
    for (const struct object *one = objects; one != NULL; one = one->next)
        strict_finding("a %s that %s made, called by %s, was not freed",
            names[one->thing], one->call,
            one->is_library ? "Amalgam" : "the program");
}

static struct object *comm_find(MPI_Comm comm)
{
    return object_find(STRICT_COMM, STRICT_HANDLE(comm));
}

void strict_comm_made(
    MPI_Comm comm, MPI_Comm parent, const char *call, bool is_library)
{
    const struct object *old = comm_find(parent);

    if (comm == MPI_COMM_NULL)
        return;
    object_add(STRICT_COMM, STRICT_HANDLE(comm), call, is_library)->is_wild =
        old != NULL && old->is_wild;
}

/* Those that MPI has made are noted at their first use. */
void strict_comm_set_wild(MPI_Comm comm)
{
    struct object *object = comm_find(comm);

    if (object != NULL)
        object->is_wild = true;
}

bool strict_comm_is_wild(MPI_Comm comm)
{
    const struct object *object = comm_find(comm);

    return object == NULL || object->is_wild;
}

static bool comm_returns(MPI_Comm comm)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    bool is_fatal = true;

    if (comm == MPI_COMM_NULL ||
        PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
        return true;
    is_fatal = handler == MPI_ERRORS_ARE_FATAL;
    (void)PMPI_Errhandler_free(&handler);
    return !is_fatal;
}

static bool window_returns(MPI_Win window)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    bool is_fatal = true;

    if (window == MPI_WIN_NULL ||
        PMPI_Win_get_errhandler(window, &handler) != MPI_SUCCESS)
        return true;
    is_fatal = handler == MPI_ERRORS_ARE_FATAL;
    (void)PMPI_Errhandler_free(&handler);
    return !is_fatal;
}

/* Of a communicator that the program made, errors go where the program says. */
static void returns_check(struct object *object, bool returns)
{
    object->is_fine = returns;
    if (!returns)
        strict_finding("an error of this call would end the process: the %s "
                       "has MPI_ERRORS_ARE_FATAL",
            names[object->thing]);
}

void strict_comm_check(MPI_Comm comm)
{
    struct object *object = strict_is_library() ? comm_find(comm) : NULL;

    if (object != NULL && object->is_library && !object->is_fine)
        returns_check(object, comm_returns(comm));
}

void strict_window_check(MPI_Win window)
{
    struct object *object =
        strict_is_library() ? object_find(STRICT_WINDOW, STRICT_HANDLE(window))
                            : NULL;

    if (object != NULL && object->is_library && !object->is_fine)
        returns_check(object, window_returns(window));
}

/* One of them fails, at the rank that is drawn. */
static int call_fails(bool returns)
{
    static const int codes[] = {
        MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_NO_MEM, MPI_ERR_UNKNOWN};
    unsigned max = strict_choice(STRICT_FAIL);
    uint64_t drawn = strict_mix(strict_seed(), 1000);

    if (max == 0 || !strict_is_library() || !returns ||
        (int)(drawn % (unsigned)strict_size) != strict_rank)
        return MPI_SUCCESS;
    failable++;
    if (failable != 1 + drawn / 1024 % max)
        return MPI_SUCCESS;
    failed++;
    fprintf(stderr, "strict: rank %d: %s fails\n", strict_rank, strict_call());
    return codes[drawn / 7 % (sizeof(codes) / sizeof(codes[0]))];
}

int strict_failed(void)
{
    return failed;
}

void strict_failed_reseed(void)
{
    failable = 0;
    failed = 0;
}

int strict_comm_fails(MPI_Comm comm)
{
    return strict_choice(STRICT_FAIL) == 0 ? MPI_SUCCESS
                                           : call_fails(comm_returns(comm));
}

int strict_window_fails(MPI_Win window)
{
    return strict_choice(STRICT_FAIL) == 0 ? MPI_SUCCESS
                                           : call_fails(window_returns(window));
}
