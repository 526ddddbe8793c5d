/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of the calls of the C++ API under torture, and their contents. */
#include "thallium_torture.hpp"

namespace torture
{

std::atomic<int> guarded::count{0};

namespace
{

enum salt {
    SALT_KIND,
    SALT_WAY,
    SALT_TARGET,
    SALT_LIMIT,
    SALT_PAUSE,
    SALT_PAUSE_US,
    SALT_LEN,
    SALT_TEXT,
    SALT_BULK,
    SALT_FORM,
    SALT_PASSING,
};

unsigned draw(std::uint64_t hash, unsigned salt, unsigned n)
{
    return plan_draw(hash, salt, n);
}

unsigned depth_of(std::uint64_t id)
{
    return static_cast<unsigned>(id & 0xff);
}

unsigned rank_of(std::uint64_t id)
{
    return static_cast<unsigned>(id >> RANK_AT & 0xffff);
}

unsigned bit_of(
    std::uint64_t hash, unsigned salt, std::uint32_t mask, unsigned count)
{
    unsigned bit = draw(hash, salt, count);

    for (unsigned i = 0; i < count; i++, bit = (bit + 1) % count)
        if ((mask >> bit & 1) != 0)
            return bit;
    return 0;
}

} /* namespace */

const char *kind_name(unsigned kind)
{
    static const char *const names[KINDS] = {"thallium-sum", "thallium-pull",
        "thallium-push", "thallium-provided", "thallium-passing",
        "thallium-throwing", "thallium-silent", "thallium-late",
        "thallium-one-way", "thallium-nest"};

    return names[kind];
}

parcel parcel_of(const call_plan &plan, enum content what)
{
    static const unsigned lens[] = {0, 10, 300, 4000, 9000, 70000, 300000};
    std::uint64_t key = content_key(plan.hash, what);
    parcel result;

    result.id = plan.id;
    result.bytes.resize(lens[draw(key, SALT_LEN, draw(key, 1, 3) ? 5 : 7)]);
    content_fill(result.bytes.data(), result.bytes.size(), key, 0);
    result.text.assign(draw(key, SALT_TEXT, 200), 't');
    for (unsigned i = 0; i < draw(key, SALT_TEXT + 1, 4); i++)
        result.table[std::to_string(i)] = std::vector<int>(i, 7);
    result.two = {static_cast<double>(key >> 12), (key & 1) != 0};
    return result;
}

call_plan world::plan_of(std::uint64_t id) const
{
    call_plan plan = call_plan();

    plan.id = id;
    plan.hash = content_mix(hash ^ content_mix(id));
    plan.kind =
        static_cast<enum kind>(bit_of(plan.hash, SALT_KIND, ops, KINDS));
    plan.target =
        all.plan.is_self ? rank_of(id) : draw(plan.hash, SALT_TARGET, size);
    if (plan.kind == NEST && depth_of(id) >= DEPTH_MAX)
        plan.kind = SUM;
    /* A rank removes its own functions, and so must not call them. */
    if (plan.kind == PASSING &&
        (size == 1 || all.plan.is_self || depth_of(id) > 0))
        plan.kind = SUM;
    if (plan.kind == PASSING && plan.target == rank_of(id))
        plan.target = (plan.target + 1) % size;
    plan.way = static_cast<enum way>(
        bit_of(plan.hash, SALT_WAY, all.options.ways, WAYS));
    if (plan.kind == ONE_WAY && plan.may_lose())
        plan.way = CALL;
    plan.limit_ms = 0.1 * (1 + draw(plan.hash, SALT_LIMIT, 50));
    plan.passing = draw(plan.hash, SALT_PASSING, PASSINGS);
    plan.pause = draw(plan.hash, SALT_PAUSE, 3);
    plan.pause_us = draw(plan.hash, SALT_PAUSE_US, 2000);
    plan.form = draw(plan.hash, SALT_FORM, 3);
    plan.bulk_len = 1 + draw(plan.hash, SALT_BULK,
                            draw(plan.hash, SALT_BULK + 1, 4) ? 9000 : 900000);
    return plan;
}

unsigned world::origin_of(std::uint64_t id) const
{
    return depth_of(id) == 0 ? rank_of(id) : plan_of(id - 1).target;
}

const char *judge(const call_plan &plan, const struct book_fate &fate)
{
    bool is_failing = plan.kind == THROWING || plan.kind == SILENT;
    hg_return_t code = static_cast<hg_return_t>(fate.code);

    if (fate.ends != 1)
        return fate.ends == 0 ? "never ended" : "ended twice";
    if (fate.handled > 1)
        return "handled more than once";
    if (code == HG_TIMEOUT && plan.may_lose())
        return nullptr;
    if (code == HG_NOENTRY && plan.kind == PASSING)
        return fate.handled == 0 ? nullptr : "refused, and its function ran";
    if (code != (is_failing ? HG_CANCELED : HG_SUCCESS))
        return "ended with a code that its documentation does not allow";
    return fate.handled == 1 ? nullptr : "ended, and no function ran";
}

} /* namespace torture */
