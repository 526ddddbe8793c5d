/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive doubly linked lists: the links are in the objects, so adding an
 * object never allocates. The owner of a list guards it. */
#ifndef AMG_BASE_LIST_H
#define AMG_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct amg_link {
    struct amg_link *next; /* NULL while on no list */
    struct amg_link *prev;
};

struct amg_list {
    struct amg_link head; /* a ring: head.next is the first link */
};

/* The object that holds `link_ptr` as its `member`. */
#define amg_container_of(link_ptr, type, member)                               \
    ((type *)(void *)((char *)(link_ptr)-offsetof(type, member)))

static inline void amg_list_init(struct amg_list *list)
{
    list->head.next = &list->head;
    list->head.prev = &list->head;
}

static inline bool amg_list_is_empty(const struct amg_list *list)
{
    return list->head.next == &list->head;
}

static inline struct amg_link *amg_list_first(const struct amg_list *list)
{
    return amg_list_is_empty(list) ? NULL : list->head.next;
}

/* The link after `link`, or NULL at the end. */
static inline struct amg_link *amg_list_next(
    const struct amg_list *list, const struct amg_link *link)
{
    return link->next == &list->head ? NULL : link->next;
}

/* Number of objects; reads all of them. */
static inline size_t amg_list_len(const struct amg_list *list)
{
    const struct amg_link *link = list->head.next;
    size_t len = 0;

    for (; link != &list->head; link = link->next)
        len++;
    return len;
}

/* Appends a link. The order of the stores keeps gcc from combining stores to
 * neighbouring words in a vector register, which takes more instructions. */
static inline void amg_list_push(struct amg_list *list, struct amg_link *link)
{
    struct amg_link *last = list->head.prev;

    link->prev = last;
    last->next = link;
    link->next = &list->head;
    list->head.prev = link;
}

/* Inserts a link behind `place`, which is on a list. */
static inline void amg_list_insert(
    struct amg_link *place, struct amg_link *link)
{
    link->next = place->next;
    link->prev = place;
    place->next->prev = link;
    place->next = link;
}

static inline void amg_list_push_front(
    struct amg_list *list, struct amg_link *link)
{
    amg_list_insert(&list->head, link);
}

static inline void amg_list_remove(struct amg_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = NULL;
    link->prev = NULL;
}

static inline struct amg_link *amg_list_pop(struct amg_list *list)
{
    struct amg_link *link = list->head.next;

    if (link == &list->head)
        return NULL;
    list->head.next = link->next;
    link->next->prev = &list->head;
    link->next = NULL;
    link->prev = NULL;
    return link;
}

/* Appends all of `from` to `to`, and leaves `from` empty. */
static inline void amg_list_splice(struct amg_list *to, struct amg_list *from)
{
    if (amg_list_is_empty(from))
        return;
    from->head.next->prev = to->head.prev;
    to->head.prev->next = from->head.next;
    from->head.prev->next = &to->head;
    to->head.prev = from->head.prev;
    amg_list_init(from);
}

/* Moves at most `max` objects to the end of another list; returns how many. */
static inline unsigned amg_list_take(
    struct amg_list *to, struct amg_list *from, unsigned max)
{
    struct amg_link *link = NULL;
    unsigned count = 0;

    while (count < max && (link = amg_list_pop(from)) != NULL) {
        amg_list_push(to, link);
        count++;
    }
    return count;
}

/* Is the link on a list? A zeroed link and a removed link are not. */
static inline bool amg_link_is_listed(const struct amg_link *link)
{
    return link->next != NULL;
}

#endif
