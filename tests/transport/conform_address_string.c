/* SPDX-License-Identifier: BSD-3-Clause */
/* An address survives conversion to a string; malformed strings and those of
 * another job are refused. */
#include <ctype.h>
#include <string.h>

#include "harness.h"

static void string_is_whole(struct harness *h, const struct amg_peer *peer)
{
    char text[HARNESS_TEXT_CAP];
    char guarded[HARNESS_TEXT_CAP];
    size_t need = 0;
    size_t len = 0;

    CHECK(h, h->t->addr.format(h->domain, peer, NULL, &need) == HG_OVERFLOW);
    CHECK(h, need > 1 && need <= sizeof(text));
    len = need - 1;
    memset(guarded, '#', sizeof(guarded));
    CHECK(h, h->t->addr.format(h->domain, peer, guarded, &len) == HG_OVERFLOW);
    CHECK(h, len == need);
    for (size_t i = 0; i < sizeof(guarded); i++)
        CHECK(h, guarded[i] == '#');
    len = need;
    CHECK(h, h->t->addr.format(h->domain, peer, text, &len) == HG_SUCCESS);
    CHECK(h, len == need && strlen(text) + 1 == need);
    CHECK(h, strstr(text, "://") != NULL);
    for (size_t i = 0; text[i] != '\0'; i++)
        CHECK(h, isgraph((unsigned char)text[i]));
}

static void string_comes_back(struct harness *h, struct amg_peer *peer)
{
    char text[HARNESS_TEXT_CAP];
    size_t len = sizeof(text);
    struct amg_peer *again = NULL;

    CHECK(h, h->t->addr.format(h->domain, peer, text, &len) == HG_SUCCESS);
    CHECK(h, h->t->addr.parse(h->domain, text, &again) == HG_SUCCESS);
    CHECK(h, h->t->addr.is_same(h->domain, peer, again));
    CHECK(h, h->t->addr.is_self(h->domain, peer) ==
                 h->t->addr.is_self(h->domain, again));
    h->t->addr.unref(h->domain, again);
}

static void others_are_refused(struct harness *h, const struct amg_peer *self)
{
    static const char *const nonsense[] = {"", "nonsense", "://", "self",
        "self://", "self://x-y", "self:/1-2", "mpi", "mpi://", "mpi://zz",
        "nothing+tcp://127.0.0.1:80", "\t", "self:// 1-2",
        "mpi://0123456789abcdef0123456789abcdef0123456789abcdef/x"};
    char text[HARNESS_TEXT_CAP];
    char longer[HARNESS_TEXT_CAP];
    size_t len = sizeof(text);
    struct amg_peer *peer = NULL;

    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
        CHECK(h,
            h->t->addr.parse(h->domain, nonsense[i], &peer) == HG_INVALID_ARG);
    CHECK(h, h->t->addr.format(h->domain, self, text, &len) == HG_SUCCESS);
    strcpy(longer, text);
    strcat(longer, "!");
    CHECK(h, h->t->addr.parse(h->domain, longer, &peer) == HG_INVALID_ARG);
    harness_world.make_foreign(text);
    CHECK(h, h->t->addr.parse(h->domain, text, &peer) == HG_ADDRNOTAVAIL);
    CHECK(h, peer == NULL);
}

static void test(struct harness *h)
{
    struct amg_peer *self = h->t->addr.self(h->domain);
    struct amg_peer *held = h->t->addr.ref(h->right);

    CHECK(h, h->t->addr.is_self(h->domain, self));
    CHECK(h, h->t->addr.is_self(h->domain, h->right) == (h->size == 1));
    CHECK(h, h->t->addr.is_same(h->domain, self, self));
    CHECK(h, h->t->addr.is_same(h->domain, self, h->right) == (h->size == 1));
    CHECK(h, h->t->addr.is_same(h->domain, held, h->right));
    h->t->addr.unref(h->domain, held);
    string_is_whole(h, self);
    string_is_whole(h, h->right);
    string_comes_back(h, self);
    string_comes_back(h, h->right);
    others_are_refused(h, self);
    h->t->addr.unref(h->domain, self);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
