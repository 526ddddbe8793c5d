/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of RPCs under torture: what a call does at its target. */
#include <stdexcept>
#include "thallium_torture.hpp"

namespace torture
{

namespace
{

void pass_time(const world &in, const call_plan &plan)
{
    if (plan.pause == 1)
        tl::thread::sleep(in.engine, plan.pause_us / 1000.0);
    for (unsigned i = 0; plan.pause == 2 && i < plan.pause_us / 20; i++)
        tl::thread::yield();
}

/* Reads or writes the memory of the origin. */
void move_bytes(world &in, const call_plan &plan, const tl::request &req,
    const tl::bulk &memory)
{
    std::vector<std::uint8_t> bytes(plan.bulk_len);
    tl::bulk local = in.engine.expose(
        {{bytes.data(), bytes.size()}}, tl::bulk_mode::read_write);
    tl::remote_bulk remote = memory.on(req.get_endpoint());
    std::size_t half = plan.bulk_len / 2;

    if (plan.kind == PUSH) {
        content_fill(bytes.data(), bytes.size(),
            content_key(plan.hash, CONTENT_PUSHED), 0);
        if (plan.form == 0)
            remote << local;
        else if (plan.form == 1)
            local.push_to(remote).wait();
        else
            remote.timed(60000) << local;
        return;
    }
    if (plan.form == 0) {
        remote >> local;
    } else if (plan.form == 1) {
        tl::async_bulk_op first =
            remote.select(0, half).pull_to(local.select(0, half));

        remote.select(half, plan.bulk_len) >> local.select(half, plan.bulk_len);
        first.wait();
    } else {
        remote.timed(60000) >> local;
    }
    if (content_differs(bytes.data(), bytes.size(),
            content_key(plan.hash, CONTENT_EXPOSED), 0) != bytes.size())
        book_finding(all.book, "call %llx: bytes that were read differ",
            static_cast<unsigned long long>(plan.id));
}

/* Books that a handler runs, from its begin to its end. */
class serving
{
    bool m_is_one_way;

  public:
    explicit serving(bool is_one_way) : m_is_one_way(is_one_way)
    {
        book_begin(all.book);
    }

    serving(const serving &) = delete;
    serving &operator=(const serving &) = delete;

    ~serving()
    {
        if (m_is_one_way) /* nobody else ends the call */
            book_over(all.book);
        book_over(all.book);
    }
};

/* A provider whose functions are the same object. */
class service : public tl::provider<service>
{
    serves m_serves;

    void provided(
        const tl::request &req, const parcel &argument, const tl::bulk &memory)
    {
        m_serves(req, argument, memory);
    }

  public:
    explicit service(world &in)
        : tl::provider<service>(
              in.engine, static_cast<std::uint16_t>(1 + in.rank), "torture"),
          m_serves(in)
    {
        define("provided", &service::provided);
    }
};

} /* namespace */

void serves::answer(const call_plan &plan, const tl::request &req) const
{
    try {
        req.respond(parcel_of(plan, CONTENT_REPLY));
    } catch (const std::exception &error) {
        if (!plan.may_lose())
            book_finding(all.book, "an answer failed: %s", error.what());
    }
}

void serves::answer_late(const call_plan &plan, const tl::request &req) const
{
    serves self = *this;

    book_begin(all.book);
    m_in->engine.get_handler_pool().make_thread(
        [self, plan, req] {
            pass_time(*self.m_in, plan);
            self.check("called");
            self.answer(plan, req);
            book_over(all.book);
        },
        tl::anonymous());
}

void serves::act(
    const call_plan &plan, const tl::request &req, const tl::bulk &memory) const
{
    pass_time(*m_in, plan);
    check("running");
    if (plan.kind == PULL || plan.kind == PUSH)
        move_bytes(*m_in, plan, req, memory);
    if (plan.kind == NEST)
        m_in->call(plan.id + 1);
    if (plan.kind == THROWING)
        throw std::runtime_error("thrown by " + std::to_string(plan.id));
    if (plan.kind == LATE)
        answer_late(plan, req);
    else if (plan.kind != SILENT && plan.kind != ONE_WAY)
        answer(plan, req);
    check("running");
    if ((*m_more)[99] != 5)
        book_finding(all.book, "memory of a function object was written");
}

void serves::operator()(const tl::request &req, const parcel &argument,
    const tl::bulk &memory) const
{
    check("called");
    call_plan plan = m_in->plan_of(argument.id);
    serving books(plan.kind == ONE_WAY);

    if (engine_of(argument.id) != m_in->index || plan.target != m_in->rank) {
        book_finding(all.book, "call %llx came to a wrong place",
            static_cast<unsigned long long>(argument.id));
        return;
    }
    (void)book_handle(all.book, argument.id);
    if (!(argument == parcel_of(plan, CONTENT_ARGUMENT)))
        book_finding(all.book, "call %llx: its argument differs",
            static_cast<unsigned long long>(plan.id));
    try {
        act(plan, req, memory);
    } catch (const tl::margo_exception &error) {
        if (!plan.may_lose())
            book_finding(all.book, "a handler failed: %s", error.what());
    }
}

void world::serve()
{
    call_rpc = engine.define("call", serves(*this));
    one_way_rpc = engine.define("one_way", serves(*this)).disable_response();
    provided_rpc = engine.define("provided");
    auto *provider = new service(*this);
    engine.push_finalize_callback(provider, [provider, this] {
        delete provider;
        ends++;
    });
}

} /* namespace torture */
