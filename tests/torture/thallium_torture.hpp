/* SPDX-License-Identifier: BSD-3-Clause */
/* The C++ API under torture: threads of several ranks call functions of each
 * other, in all forms, while functions come and go.
 *
 * All functions of RPCs are objects with a canary: a function that runs, or is
 * copied, after its object was destroyed finds it dead. Objects are counted,
 * and none may be left when its engine has ended. */
#ifndef TESTS_TORTURE_THALLIUM_TORTURE_HPP
#define TESTS_TORTURE_THALLIUM_TORTURE_HPP

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <thallium.hpp>
#include <thallium/serialization/stl/map.hpp>
#include <thallium/serialization/stl/pair.hpp>
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/vector.hpp>
#include "book.h"
#include "content.h"
#include "exchange.h"
#include "plan.h"

namespace tl = thallium;

namespace torture
{

/* Kinds of calls: the bits of --ops. */
enum kind {
    SUM,
    PULL,
    PUSH,
    PROVIDED, /* a member function of a provider */
    PASSING,  /* an RPC that is removed and defined again */
    THROWING, /* its function throws */
    SILENT,   /* its function does not answer */
    LATE,     /* another thread answers */
    ONE_WAY,
    NEST, /* its function calls on */
    KINDS
};

/* Forms at the origin: the bits of --ways. */
enum way { CALL, TIMED, ASYNC, ANY, DROPPED, TIMED_ASYNC, WAYS };

enum { ENGINES_MAX = 2, PASSINGS = 3, DEPTH_MAX = 3 };

/* Where an id has the engine, the root's rank and number; in its low bits is
 * the depth below the root. */
enum { ENGINE_AT = 56, RANK_AT = 40, NUMBER_AT = 8 };

/* Draws of a world, beside those of its calls. */
enum { DRAW_BESIDE = 500, DRAW_CONFIG = 600, DRAW_END = 610 };

/* What crosses the wire: all kinds of members, which follow from an id. */
struct parcel {
    std::uint64_t id = 0;
    std::vector<std::uint8_t> bytes;
    std::string text;
    std::map<std::string, std::vector<int>> table;
    std::pair<double, bool> two{0, false};

    template <typename A> void serialize(A &archive)
    {
        archive(id, bytes, text, table, two);
    }

    bool operator==(const parcel &other) const
    {
        return id == other.id && bytes == other.bytes && text == other.text &&
               table == other.table && two == other.two;
    }
};

inline unsigned engine_of(std::uint64_t id)
{
    return static_cast<unsigned>(id >> ENGINE_AT) % ENGINES_MAX;
}

struct world;

/* What both sides do for a call. */
struct call_plan {
    std::uint64_t id;
    std::uint64_t hash;
    enum kind kind;
    enum way way;
    unsigned target;
    unsigned passing;
    unsigned pause;
    unsigned pause_us;
    unsigned form;
    std::size_t bulk_len;
    double limit_ms;

    bool may_lose() const
    {
        return way == TIMED || way == TIMED_ASYNC;
    }
};

const char *kind_name(unsigned kind);
parcel parcel_of(const call_plan &plan, enum content what);

/* What is wrong with the fate of a call; null: nothing. */
const char *judge(const call_plan &plan, const struct book_fate &fate);

/* The process. Written by the main thread alone. */
struct process {
    struct plan_options options;
    struct plan plan;
    struct exchange *exchange;
    struct book *book;
    std::vector<std::unique_ptr<world>> worlds;
    long visits[KINDS]; /* calls that this rank made of each kind */
};

extern process all;

/* An object that knows whether it is alive. */
class guarded
{
    enum : std::uint64_t { ALIVE = 0x616c697665, DEAD = 0x64656164 };
    volatile std::uint64_t m_canary = ALIVE;

  public:
    static std::atomic<int> count;

    guarded()
    {
        count++;
    }

    guarded(const guarded &other)
    {
        other.check("copied");
        count++;
    }

    guarded &operator=(const guarded &) = delete;

    ~guarded()
    {
        check("destroyed again");
        m_canary = DEAD;
        count--;
    }

    void check(const char *what) const
    {
        if (m_canary != ALIVE)
            book_finding(all.book, "an object is %s after its end", what);
    }
};

/* An engine, and what its functions and callers share. */
struct world {
    unsigned index = 0;
    std::uint64_t hash = 0; /* of the seed, the round and the index */
    unsigned rank = 0;
    unsigned size = 0;
    std::uint32_t ops = 0;
    tl::engine engine;
    std::vector<tl::endpoint> peers;
    tl::remote_procedure call_rpc;
    tl::remote_procedure one_way_rpc;
    tl::remote_procedure provided_rpc;
    std::atomic<bool> stops{false};
    std::atomic<unsigned> ends{0}; /* finalize callbacks that ran */

    call_plan plan_of(std::uint64_t id) const;
    /* The rank that makes a call. */
    unsigned origin_of(std::uint64_t id) const;
    /* Makes a call, and books it. */
    void call(std::uint64_t id);
    /* Makes those whose number is `first` modulo `step`. */
    void calls(unsigned first, unsigned step);
    tl::callable_remote_procedure bind(const call_plan &plan);
    /* Opens the RPCs that all ranks have. */
    void serve();

    std::uint64_t root(unsigned number) const
    {
        return std::uint64_t(index) << ENGINE_AT |
               std::uint64_t(rank) << RANK_AT |
               std::uint64_t(number + 1) << NUMBER_AT;
    }
};

/* The function of all RPCs. */
class serves : public guarded
{
    world *m_in;
    std::shared_ptr<std::vector<int>> m_more =
        std::make_shared<std::vector<int>>(100, 5);

    void answer(const call_plan &plan, const tl::request &req) const;
    void answer_late(const call_plan &plan, const tl::request &req) const;
    void act(const call_plan &plan, const tl::request &req,
        const tl::bulk &memory) const;

  public:
    explicit serves(world &in) : m_in(&in)
    {
    }

    void operator()(const tl::request &req, const parcel &argument,
        const tl::bulk &memory) const;
};

/* The name of an RPC of a rank that comes and goes. */
std::string passing_name(unsigned rank, unsigned passing);

/* What goes on beside the calls, each in a thread, until `stops`. */
enum { ACTS = 3 };
extern void (*const acts[ACTS])(world &);

} /* namespace torture */

#endif
