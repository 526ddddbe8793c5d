/* SPDX-License-Identifier: BSD-3-Clause */
/* A call to a group of many ranks, in one process, by the library's own tree
 * and state of a call; this file delivers requests and answers in random order.
 * Each member answers once or is named once, with its code, whichever rank is
 * the root, and whichever ranks are dead, die with the call under way, refuse
 * it, or have no such RPC. Each request but the root's own leads to a higher
 * rank. The depth is at most log2(nodes) + 3. A rank of N ranks, 128 on each
 * node, sends and receives at most 2 log2(N) messages, and as many again for
 * each rank whose children it asks, and for each rank that asks it again.
 *
 * group NODES RANKS-OF-A-NODE */
#include "rpc/group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

enum { FEW = 10, MANY = 200 };

enum rank_kind {
    GOOD,
    DEAD,     /* takes no message */
    DIES,     /* after it has asked its children, before its answer */
    REFUSES,  /* answers a request with a code, and passes nothing on */
    HAS_NONE, /* has no such RPC, but passes requests on */
    KINDS,
};

struct rank {
    struct amg_group_state state;
    uint32_t ups; /* requests that wait for the end of the call: 1 + the index
                   * of the last one in `ups`; 0: none */
    uint16_t messages; /* sent or received */
    uint8_t asked;     /* requests received */
    uint8_t retried;   /* ranks whose children this rank has asked */
    uint8_t depth;
    uint8_t kind; /* enum rank_kind */
    uint8_t runs; /* of the handler */
    bool is_known;
    bool has_ended;
    bool is_gone;
};

/* A request that waits at a rank. */
struct up {
    uint32_t from;
    uint32_t next; /* as rank.ups */
};

enum message_kind { REQUEST, ANSWER, REFUSAL, LOST, HANDLER_END };

struct message {
    uint32_t from;
    uint32_t to;
    struct amg_tree_part part;
    uint8_t kind; /* enum message_kind */
};

struct group {
    const char *name;
    struct amg_tree tree;
    uint32_t count;
};

static uint32_t nodes;
static uint32_t node_size;
static uint32_t size;
static uint32_t root;
static struct rank *ranks;
static struct up *ups;
static uint32_t up_count;
static struct message *bag; /* on their way, unordered */
static uint32_t bag_count;
static uint32_t bag_cap;
static uint32_t between_nodes; /* requests */
static uint64_t seed = 88172645463325252u;

static void fail(int line, const char *what)
{
    fprintf(stderr, "group.c:%d: %s\n", line, what);
    exit(EXIT_FAILURE);
}

static void *room_make(size_t count, size_t len)
{
    void *room = calloc(count, len);

    CHECK(room != NULL);
    return room;
}

/* xorshift64 (Marsaglia 2003) */
static uint32_t random_below(uint32_t end)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) * end >> 32);
}

static void message_add(uint32_t from, uint32_t to, struct amg_tree_part part,
    enum message_kind kind)
{
    if (bag_count == bag_cap) {
        bag_cap = bag_cap == 0 ? 1024 : bag_cap * 2;
        bag = realloc(bag, bag_cap * sizeof(*bag));
        CHECK(bag != NULL);
    }
    bag[bag_count++] = (struct message){from, to, part, (uint8_t)kind};
    ranks[from].messages += kind <= REFUSAL;
}

static void parts_ask(
    uint32_t from, struct amg_tree_part part, uint32_t rank, uint32_t self)
{
    const struct amg_tree *tree = &ranks[from].state.tree;
    struct amg_tree_walk walk = amg_tree_walk_begin(tree, part, rank, self);
    struct amg_tree_part child;

    while (amg_tree_walk_next(tree, &walk, &child)) {
        uint32_t to = amg_tree_rank(tree, child.first);

        CHECK(to < size && (from == root || to > from));
        between_nodes += from / node_size != to / node_size;
        message_add(from, to, child, REQUEST);
    }
}

/* Answers all requests that wait at a rank, or lets them know that it died. */
static void ups_end(uint32_t index, enum message_kind kind)
{
    struct rank *rank = &ranks[index];
    uint32_t next = 0;

    for (; rank->ups != 0; rank->ups = next) {
        const struct up *up = &ups[rank->ups - 1];

        next = up->next;
        message_add(index, up->from, rank->state.part, kind);
    }
}

static void rank_die(uint32_t index)
{
    ranks[index].is_gone = true;
    ups_end(index, LOST);
}

static void call_move(uint32_t index)
{
    struct rank *rank = &ranks[index];

    if (rank->has_ended || !amg_group_state_is_over(&rank->state))
        return;
    if (rank->kind == DIES) {
        rank_die(index);
        return;
    }
    rank->has_ended = true;
    amg_group_state_end(&rank->state);
    CHECK(!rank->state.lacks_names);
    ups_end(index, ANSWER);
}

static void call_begin(uint32_t index, const struct amg_tree *tree,
    struct amg_tree_part part, uint32_t self)
{
    struct rank *rank = &ranks[index];

    rank->is_known = true;
    rank->state = (struct amg_group_state){.tree = *tree, .part = part};
    parts_ask(index, part, index, self);
    if (self != AMG_TREE_NOWHERE)
        message_add(index, index, (struct amg_tree_part){self, 1}, HANDLER_END);
    rank->runs += self != AMG_TREE_NOWHERE && rank->kind != HAS_NONE;
    call_move(index);
}

static void request_arrive(const struct message *request)
{
    struct rank *rank = &ranks[request->to];
    const struct rank *from = &ranks[request->from];
    struct amg_tree tree = from->state.tree;
    struct amg_tree_part part = request->part;

    rank->asked++;
    if (rank->kind == REFUSES) {
        message_add(request->to, request->from, part, REFUSAL);
        return;
    }
    CHECK(up_count < 2 * size);
    ups[up_count] = (struct up){request->from, rank->ups};
    rank->ups = ++up_count;
    if (from->depth + 1 > rank->depth)
        rank->depth = from->depth + 1;
    if (tree.ranks != NULL) { /* a list comes with the ranks of the part */
        tree.ranks += part.first - tree.list_first;
        tree.list_first = part.first;
    }
    if (!rank->is_known)
        call_begin(request->to, &tree, part, part.first);
    else if (rank->has_ended)
        ups_end(request->to, ANSWER);
    CHECK(rank->state.part.first == part.first &&
          rank->state.part.count == part.count);
}

/* The rank of an edge has failed: names it, and asks its children. */
static void edge_fail(
    uint32_t index, struct amg_tree_part part, hg_return_t ret)
{
    struct rank *rank = &ranks[index];
    uint32_t failed = amg_tree_rank(&rank->state.tree, part.first);

    amg_group_state_name(
        &rank->state, (struct amg_tree_part){part.first, 1}, ret);
    if (part.count == 1)
        return;
    rank->retried++;
    parts_ask(index, part, failed, part.first);
}

static void message_deliver(const struct message *message)
{
    struct rank *to = &ranks[message->to];
    const struct amg_group_state *from = &ranks[message->from].state;

    if (to->is_gone) {
        if (message->kind == REQUEST)
            message_add(message->to, message->from, message->part, LOST);
        return;
    }
    CHECK(message->kind == REQUEST || !to->has_ended);
    to->messages += message->kind <= REFUSAL;
    if (message->kind == REQUEST)
        request_arrive(message);
    else if (message->kind == ANSWER)
        CHECK(amg_group_state_answered(&to->state, message->part,
            from->answered, from->failed, from->failed_count));
    else if (message->kind == REFUSAL)
        edge_fail(message->to, message->part, HG_NOMEM);
    else if (message->kind == LOST)
        edge_fail(message->to, message->part, HG_HOSTUNREACH);
    else if (to->kind == HAS_NONE)
        amg_group_state_name(&to->state, message->part, HG_NOENTRY);
    else
        CHECK(amg_group_state_answered(&to->state, message->part, 1, NULL, 0));
    if (to->kind == DIES && !to->is_gone && random_below(4) == 0)
        rank_die(message->to);
    else if (to->is_known)
        call_move(message->to);
}

static hg_return_t code_of(enum rank_kind kind)
{
    static const hg_return_t codes[KINDS] = {
        [DEAD] = HG_HOSTUNREACH,
        [DIES] = HG_HOSTUNREACH,
        [REFUSES] = HG_NOMEM,
        [HAS_NONE] = HG_NOENTRY,
    };

    return codes[kind];
}

/* The root names each rank that is not good, in joined ranges; all others that
 * are members, and those that have died, ran the handler once. */
static void outcome_check(const struct group *group)
{
    const struct amg_group_state *state = &ranks[root].state;
    const struct amg_group_range *range = state->failed;
    const struct amg_group_range *end = range + state->failed_count;
    uint64_t runs = 0;

    CHECK(ranks[root].has_ended);
    CHECK(state->answered + state->named == group->count);
    CHECK((state->ret == HG_SUCCESS) == (state->named == 0));
    for (uint32_t i = 0; i < group->count; i++) {
        const struct rank *rank = &ranks[amg_tree_rank(&group->tree, i)];
        hg_return_t ret = HG_SUCCESS;

        if (range < end && i == range->first + range->count) {
            CHECK(range + 1 == end || range[1].first > i ||
                  range[1].ret != range->ret);
            range++;
        }
        if (range < end && i >= range->first)
            ret = (hg_return_t)range->ret;
        CHECK(ret == code_of((enum rank_kind)rank->kind));
        CHECK(rank->runs == (rank->kind == GOOD || rank->kind == DIES));
        CHECK(rank->has_ended || rank->kind == DEAD || rank->kind == DIES ||
              rank->kind == REFUSES);
        runs += rank->runs;
    }
    for (uint32_t i = 0; i < size; i++)
        runs -= ranks[i].runs;
    CHECK(runs == 0); /* of ranks that are no members */
}

/* Prints and checks messages and depth. The tree leads to each node by at most
 * one request from another. */
static unsigned bounds_check(const struct group *group, const char *what)
{
    /* A request and an answer for the parent and each child. */
    double here = fmax(log2(node_size), AMG_GROUP_WIDTH + 2);
    double bound = 2 * (log2(nodes) + here);
    unsigned messages = 0;
    unsigned depth = 0;
    unsigned retried = 0;

    for (uint32_t i = 0; i < size; i++) {
        const struct rank *rank = &ranks[i];
        unsigned times = rank->retried + (rank->asked > 1 ? rank->asked : 1);

        CHECK(rank->messages <= times * bound);
        messages = rank->messages > messages ? rank->messages : messages;
        depth = rank->depth > depth ? rank->depth : depth;
        retried = rank->retried > retried ? rank->retried : retried;
    }
    printf("%-10s %-14s root %7u: members %7u, failed %5u, messages of a rank "
           "%3u (%.1f; flat %u), depth %2u (%.1f), retries of a rank %2u\n",
        group->name, what, root, group->count, ranks[root].state.named,
        messages, bound, 2 * group->count, depth, log2(nodes) + 3, retried);
    CHECK(depth <= log2(nodes) + 3);
    CHECK(between_nodes <= nodes || ranks[root].state.named > 0);
    return retried;
}

/* Calls the group from `root`, whose position is `self`. Returns the most ranks
 * whose children one rank has asked. */
static unsigned group_call(
    const struct group *group, uint32_t self, const char *what)
{
    unsigned retried = 0;

    for (uint32_t i = 0; i < size; i++)
        ranks[i].is_gone = ranks[i].kind == DEAD;
    CHECK(ranks[root].kind == GOOD && up_count == 0);
    call_begin(
        root, &group->tree, (struct amg_tree_part){0, group->count}, self);
    while (bag_count > 0) {
        uint32_t index = random_below(bag_count);
        struct message taken = bag[index];

        bag[index] = bag[--bag_count];
        message_deliver(&taken);
    }
    outcome_check(group);
    retried = bounds_check(group, what);
    for (uint32_t i = 0; i < size; i++)
        amg_group_state_fini(&ranks[i].state);
    memset(ranks, 0, size * sizeof(*ranks));
    up_count = 0;
    between_nodes = 0;
    return retried;
}

/* The first member at or behind a rank, or the last one. */
static uint32_t position_near(const struct group *group, uint32_t rank)
{
    uint32_t position = 0;

    while (position + 1 < group->count &&
           amg_tree_rank(&group->tree, position) < rank)
        position++;
    return position;
}

/* All ranks are good; the root is first, in the middle, and last. */
static void all_answer(const struct group *group)
{
    const uint32_t at[] = {0, size / 2 + node_size / 2, size - 1};

    for (int i = 0; i < 3; i++) {
        uint32_t self = position_near(group, at[i]);

        root = amg_tree_rank(&group->tree, self);
        CHECK(group_call(group, self, "all answer") == 0);
    }
}

/* The root is no member. */
static void root_outside(const struct group *group)
{
    uint32_t position = position_near(group, size / 2);

    root = amg_tree_rank(&group->tree, position) + 1;
    CHECK(root < amg_tree_rank(&group->tree, position + 1));
    group_call(group, AMG_TREE_NOWHERE, "root outside");
}

/* `count` members by chance, not the root; KINDS: each of any bad kind. */
static void some_fail(const struct group *group, uint32_t count,
    enum rank_kind kind, const char *what)
{
    uint32_t self = position_near(group, size / 2 + node_size / 2);

    root = amg_tree_rank(&group->tree, self);
    while (count > 0) {
        uint32_t position = random_below(group->count);
        struct rank *rank = &ranks[amg_tree_rank(&group->tree, position)];

        if (position == self || rank->kind != GOOD)
            continue;
        rank->kind =
            (uint8_t)(kind == KINDS ? 1 + random_below(KINDS - 1) : kind);
        count--;
    }
    group_call(group, self, what);
}

/* The last rank of a node has no children: its loss costs nothing. */
static void leaf_fails(const struct group *all, enum rank_kind kind)
{
    root = 0;
    ranks[nodes / 3 * node_size + node_size - 1].kind = (uint8_t)kind;
    CHECK(group_call(all, root, kind == DEAD ? "dead leaf" : "leaf dies") == 0);
}

/* The ranks from the root down, always with the child of most nodes: the root
 * asks the children of each of them. */
static void path_fails(const struct group *all, enum rank_kind kind)
{
    struct amg_tree_part part = {0, all->count};
    struct amg_tree_part child;

    root = 0;
    while (part.count > 1) {
        struct amg_tree_walk walk =
            amg_tree_walk_begin(&all->tree, part, part.first, part.first);

        CHECK(amg_tree_walk_next(&all->tree, &walk, &child));
        part = child;
        ranks[part.first].kind = (uint8_t)kind;
    }
    group_call(all, root, kind == DEAD ? "dead path" : "path dies");
}

/* The first ranks of every `step`-th node, or all their ranks. */
static void nodes_fail(const struct group *all, enum rank_kind kind,
    uint32_t step, uint32_t count, const char *what)
{
    root = 0;
    for (uint32_t node = step - 1; node < nodes; node += step)
        for (uint32_t i = 0; i < count; i++)
            ranks[node * node_size + i].kind = (uint8_t)kind;
    group_call(all, root, what);
}

/* A third of the ranks, and none of the rank behind the middle. */
static struct group list_make(void)
{
    struct group group = {"list", {.node_size = node_size}, 0};
    uint32_t *list = room_make(size, sizeof(*list));

    for (uint32_t rank = 0; rank < size; rank++)
        if (random_below(3) == 0)
            list[group.count++] = rank;
    group.tree.ranks = list;
    group.tree.width = AMG_GROUP_WIDTH;
    return group;
}

static struct group row_make(const char *name, uint32_t base, uint32_t stride)
{
    return (struct group){name,
        {.base = base,
            .stride = stride,
            .node_size = node_size,
            .width = AMG_GROUP_WIDTH},
        (size - base + stride - 1) / stride};
}

int main(int argc, char **argv)
{
    struct group all;
    struct group groups[4];

    CHECK(argc == 3);
    nodes = (uint32_t)strtoul(argv[1], NULL, 10);
    node_size = (uint32_t)strtoul(argv[2], NULL, 10);
    size = nodes * node_size;
    CHECK(size > 10 * MANY && node_size > 2);
    ranks = room_make(size, sizeof(*ranks));
    ups = room_make(size, 2 * sizeof(*ups));
    all = row_make("all", 0, 1);
    groups[0] = all;
    groups[1] = row_make("stride 3", 5, 3);
    groups[2] = row_make("one a node", 1, node_size);
    groups[3] = list_make();
    for (int i = 0; i < 4; i++) {
        all_answer(&groups[i]);
        some_fail(&groups[i], FEW, KINDS, "few fail");
    }
    root_outside(&groups[1]);
    root_outside(&groups[2]);
    for (enum rank_kind kind = DEAD; kind <= DIES; kind++) {
        leaf_fails(&all, kind);
        path_fails(&all, kind);
    }
    nodes_fail(&all, DEAD, 2, 1, "dead leaders");
    nodes_fail(&all, DIES, 2, 1, "leaders die");
    nodes_fail(&all, DEAD, FEW, node_size, "dead nodes");
    some_fail(&all, MANY, DEAD, "many dead");
    some_fail(&all, MANY, DIES, "many die");
    some_fail(&all, MANY, REFUSES, "many refuse");
    some_fail(&all, MANY, HAS_NONE, "many have none");
    some_fail(&groups[3], MANY, KINDS, "many fail");
    free((void *)(uintptr_t)groups[3].tree.ranks);
    free(ranks);
    free(ups);
    free(bag);
    return EXIT_SUCCESS;
}
