/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs are folded in ascending order of ranks where that is asked for,
 * whichever rank calls, also structs with memory; a rank that gives no answer
 * leaves the others' outputs as they are. Without a reduction there is no
 * output. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"
#include "mercury_proc_string.h"

enum { CALLS = 120, AT_ONCE = 8, TEXT_MAX = 16 * GROUP_RANKS_MAX };

MERCURY_GEN_PROC(ask_t, ((uint32_t)(root))((uint32_t)(number)))
MERCURY_GEN_PROC(text_t, ((hg_string_t)(text)))
MERCURY_GEN_PROC(digits_t, ((uint64_t)(value))((uint32_t)(count)))

/* The RPCs of this test. */
enum kind { TEXT, DIGITS, DROPPED, KINDS };

struct ordered {
    struct ranks_call call;
    struct group_draw draw;
    uint32_t number;
    enum kind kind;
    int refuser; /* gives no answer; -1: none */
};

static struct ranks all;
static hg_id_t ids[KINDS];
static unsigned folds[KINDS];

/* Ranks that refuse, in one call of three. */
static int refuser_of(uint32_t number)
{
    return number % 3 == 2 ? (int)(number / 3 % (uint32_t)all.size) : -1;
}

static void text_of(char *text, int rank, uint32_t number)
{
    int len = 1 + (rank + (int)number) % 7;

    sprintf(text, "%d%.*s.", rank, len, "abcdefgh");
}

static uint64_t digit_of(int rank, uint32_t number)
{
    return ((uint64_t)rank * 5 + number) % 15 + 1;
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    hg_id_t id = HG_Get_info(handle)->id;
    char bytes[TEXT_MAX];
    text_t text = {bytes};
    digits_t digits = {0, 1};
    ask_t in;

    OK(HG_Get_input(handle, &in));
    text_of(bytes, all.rank, in.number);
    digits.value = digit_of(all.rank, in.number);
    OK(HG_Free_input(handle, &in));
    if (all.rank != refuser_of(in.number))
        OK(HG_Respond(handle, NULL, NULL,
            id == ids[TEXT] ? (void *)&text : (void *)&digits));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void text_fold(const void *from_out, void *inout_out, void *arg)
{
    const text_t *from = from_out;
    text_t *inout = inout_out;
    char *joined = malloc(strlen(from->text) + strlen(inout->text) + 1);

    CHECK(joined != NULL && arg == &all);
    strcpy(joined, from->text);
    strcat(joined, inout->text);
    free((char *)(uintptr_t)inout->text);
    inout->text = joined;
    folds[TEXT]++;
}

static void digits_join(const digits_t *from, digits_t *inout)
{
    inout->value |= from->value << (4 * inout->count);
    inout->count += from->count;
}

static void digits_fold(const void *from_out, void *inout_out, void *arg)
{
    digits_join(from_out, inout_out);
    CHECK(arg == NULL);
    folds[DIGITS]++;
}

static void ordered_begin(struct ordered *ordered, uint32_t number)
{
    ask_t in = {(uint32_t)all.rank, number};
    amalgam_group_t group = NULL;

    ordered->number = number;
    ordered->kind = (enum kind)(number % KINDS);
    ordered->refuser = refuser_of(number);
    group_draw(&ordered->draw, all.size, in.root * 977 + number);
    if (!group_draw_has(&ordered->draw, ordered->refuser))
        ordered->refuser = -1;
    group = group_make(&all, &ordered->draw);
    group_begin(&all, &ordered->call, group, ids[ordered->kind], 0, &in);
    OK(amalgam_group_free(group));
}

static void output_check(struct ordered *ordered, size_t answers)
{
    hg_handle_t handle = ordered->call.handle;
    char wanted_text[TEXT_MAX] = "";
    digits_t wanted = {0, 0};
    digits_t digits = {0, 0};
    text_t text = {NULL};

    if (answers == 0 || ordered->kind == DROPPED) {
        EXPECT(HG_FAULT, HG_Get_output(handle, &digits));
        return;
    }
    for (int rank = 0; rank < all.size; rank++)
        if (rank != ordered->refuser && group_draw_has(&ordered->draw, rank)) {
            digits_t next = {digit_of(rank, ordered->number), 1};

            digits_join(&wanted, &next);
            wanted = next;
            text_of(wanted_text + strlen(wanted_text), rank, ordered->number);
        }
    if (ordered->kind == TEXT) {
        OK(HG_Get_output(handle, &text));
        CHECK(strcmp(text.text, wanted_text) == 0);
        OK(HG_Free_output(handle, &text));
        return;
    }
    OK(HG_Get_output(handle, &digits));
    CHECK(digits.count == wanted.count && digits.value == wanted.value);
    OK(HG_Free_output(handle, &digits));
}

static void ordered_end(struct ordered *ordered)
{
    bool is_refused = ordered->refuser >= 0;

    EXPECT(is_refused ? HG_CANCELED : HG_SUCCESS, ranks_wait(&ordered->call));
    CHECK(group_failed_count(ordered->call.handle) == is_refused);
    if (is_refused)
        EXPECT(
            HG_CANCELED, group_code_of(ordered->call.handle, ordered->refuser));
    output_check(ordered, ordered->draw.count - is_refused);
    ranks_end(&ordered->call);
}

int main(void)
{
    static struct ordered calls[AT_ONCE];

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= 16);     /* digits of 4 bits */
    HG_Set_log_level("error"); /* each refusal is a warning */
    ids[TEXT] = MERCURY_REGISTER(all.cls, "text", ask_t, text_t, ask_serve);
    ids[DIGITS] =
        MERCURY_REGISTER(all.cls, "digits", ask_t, digits_t, ask_serve);
    ids[DROPPED] =
        MERCURY_REGISTER(all.cls, "dropped", ask_t, digits_t, ask_serve);
    OK(amalgam_register_reduce(all.cls, ids[TEXT], text_fold, &all,
        sizeof(text_t), AMALGAM_REDUCE_ORDERED));
    OK(amalgam_register_reduce(all.cls, ids[DIGITS], digits_fold, NULL,
        sizeof(digits_t), AMALGAM_REDUCE_ORDERED));
    OK(amalgam_register_reduce(
        all.cls, ids[DROPPED], digits_fold, NULL, sizeof(digits_t), 0));
    OK(amalgam_register_reduce(all.cls, ids[DROPPED], NULL, NULL, 0, 0));
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t number = 0; number < CALLS; number += AT_ONCE) {
        for (uint32_t i = 0; i < AT_ONCE; i++)
            ordered_begin(&calls[i], number + i);
        for (uint32_t i = 0; i < AT_ONCE; i++)
            ordered_end(&calls[i]);
    }
    ranks_meet(MPI_COMM_WORLD);
    CHECK(all.size == 1 || (folds[TEXT] > 0 && folds[DIGITS] > 0));
    ranks_close(&all);
    return ranks_stop();
}
