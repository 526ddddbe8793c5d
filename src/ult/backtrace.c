/* SPDX-License-Identifier: BSD-3-Clause */
/* Backtraces of blocked user-level threads, for reports of hangs.
 *
 * A thread that is blocked cannot walk its stack, and frame pointers would cost
 * each call 5 %. So the stack is searched, from the saved context up, for words
 * that follow a call instruction in the text of a program or library. A word
 * that a function left there before it returned is taken for a caller, too.
 *
 * A thread may continue while its stack is read. Then what was read is dropped,
 * as its state has changed; stacks stay mapped, as the visit holds their lock.
 * Text stays mapped but for a dlclose() at that moment. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ult/park.h"
#include "ult/xstream_local.h"

enum { THREADS = 16, FRAMES = 16, TEXTS = 128, LINE_CAP = 1024 };

/* Not instrumented: other threads write what these functions read, and words
 * lie beside the variables of functions. */
#define READS_ALL                                                              \
    __attribute__((no_sanitize_address, no_sanitize_thread, noinline))

struct blocked {
    struct {
        uintptr_t begin, end;
    } texts[TEXTS]; /* loaded segments of code */
    unsigned text_count;
    void *frames[THREADS][FRAMES];
    int frame_counts[THREADS];
    unsigned count; /* of blocked threads; those beyond THREADS are not shown */
};

static int texts_add(struct dl_phdr_info *info, size_t len, void *arg)
{
    struct blocked *blocked = arg;

    (void)len;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        unsigned at = blocked->text_count;

        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0 ||
            (segment->p_flags & PF_R) == 0 || at == TEXTS)
            continue;
        blocked->texts[at].begin = info->dlpi_addr + segment->p_vaddr;
        blocked->texts[at].end = blocked->texts[at].begin + segment->p_memsz;
        blocked->text_count++;
    }
    return 0;
}

/* Does a call instruction end at `pc`? Its longest form has 7 bytes. */
static bool follows_call(const unsigned char *pc)
{
#if defined(__x86_64__)
    bool is_call = pc[-5] == 0xe8;

    for (int i = 2; i <= 7; i++) /* call of a register or memory: ff /2 */
        is_call = is_call || (pc[-i] == 0xff && (pc[1 - i] >> 3 & 7) == 2);
    return is_call;
#elif defined(__aarch64__)
    uint32_t code = 0;

    memcpy(&code, pc - sizeof(code), sizeof(code));
    return code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000;
#else
    (void)pc;
    return true;
#endif
}

static bool is_caller(const struct blocked *blocked, uintptr_t word)
{
    for (unsigned i = 0; i < blocked->text_count; i++)
        if (word > blocked->texts[i].begin + 7 && word < blocked->texts[i].end)
            return follows_call((const unsigned char *)word);
    return false;
}

READS_ALL static void stack_visit(const struct amg_stack *stack, void *arg)
{
    const struct amg_ult *ult = stack->ult;
    struct blocked *blocked = arg;
    unsigned at = blocked->count;
    int count = 0;

    if (ult == NULL || ult->kind != AMG_ULT_THREAD ||
        amg_ult_state(ult) != AMG_ULT_BLOCKED)
        return;
    for (const uintptr_t *word = ult->sp;
         at < THREADS && word < (const uintptr_t *)ult && count < FRAMES;
         word++)
        if (is_caller(blocked, *word))
            blocked->frames[at][count++] = (void *)*word;
    if (at < THREADS)
        blocked->frame_counts[at] = count;
    blocked->count += amg_ult_state(ult) == AMG_ULT_BLOCKED;
}

/* Writes "libamalgam.so.0(margo_wait+0x12) < app(+0x1234)". */
static void frames_write(void *const *frames, int count, char line[LINE_CAP])
{
    size_t len = 0;

    for (int i = 0; i < count && len < LINE_CAP; i++) {
        const char *name = "?";
        const char *slash = NULL;
        Dl_info at = {.dli_fname = NULL};
        const void *from = NULL;

        if (dladdr(frames[i], &at) != 0) {
            slash = strrchr(at.dli_fname, '/');
            name = slash == NULL ? at.dli_fname : slash + 1;
            from = at.dli_sname == NULL ? at.dli_fbase : at.dli_saddr;
        }
        len += (size_t)snprintf(line + len, LINE_CAP - len, "%s%s(%s+0x%zx)",
            i == 0 ? "" : " < ", name, at.dli_sname == NULL ? "" : at.dli_sname,
            (size_t)((const char *)frames[i] - (const char *)from));
    }
}

void amg_ult_log_blocked(void)
{
    struct blocked blocked = {.count = 0};
    unsigned shown = 0;

    (void)dl_iterate_phdr(texts_add, &blocked);
    amg_stacks_visit(stack_visit, &blocked);
    shown = blocked.count < THREADS ? blocked.count : THREADS;
    for (unsigned i = 0; i < shown; i++) {
        char line[LINE_CAP] = "code that is not known";

        frames_write(blocked.frames[i], blocked.frame_counts[i], line);
        AMG_LOG_WARNING("hang", "user-level thread %u of %u is blocked in %s",
            i + 1, blocked.count, line);
    }
}
