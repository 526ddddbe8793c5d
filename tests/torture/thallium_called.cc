/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the C++ API under torture at their origin, in all forms. */
#include <chrono>
#include <list>
#include <thread>
#include "thallium_torture.hpp"

namespace torture
{

namespace
{

enum { WINDOW = 6 };

/* A call at its origin. */
struct call_made {
    world *in;
    call_plan plan;
    std::vector<std::uint8_t> memory;
    tl::bulk exposed;

    call_made(world &of, std::uint64_t id) : in(&of), plan(of.plan_of(id))
    {
        if (plan.kind == PULL || plan.kind == PUSH) {
            memory.resize(plan.bulk_len);
            content_fill(memory.data(), memory.size(),
                content_key(plan.hash, CONTENT_EXPOSED), 0);
            exposed = of.engine.expose({{memory.data(), memory.size()}},
                plan.kind == PULL ? tl::bulk_mode::read_only
                                  : tl::bulk_mode::write_only);
        }
        book_post(all.book, id);
        book_begin(all.book);
    }

    void end(hg_return_t code)
    {
        (void)book_end(all.book, plan.id, static_cast<int>(code));
        if (plan.kind != ONE_WAY || code != HG_SUCCESS)
            book_over(all.book);
        exposed = tl::bulk();
        if (code == HG_SUCCESS && !memory.empty() &&
            content_differs(memory.data(), memory.size(),
                content_key(plan.hash,
                    plan.kind == PUSH ? CONTENT_PUSHED : CONTENT_EXPOSED),
                0) != memory.size())
            book_finding(all.book, "call %llx: its memory is wrong",
                static_cast<unsigned long long>(plan.id));
    }

    /* Runs a function that waits for the answer, and ends the call. */
    template <typename F> void finish(F &&wait)
    {
        hg_return_t code = HG_SUCCESS;

        try {
            tl::packed_data<> answer = wait();

            if (plan.kind != ONE_WAY &&
                !(answer.as<parcel>() == parcel_of(plan, CONTENT_REPLY)))
                book_finding(all.book, "call %llx: its answer differs",
                    static_cast<unsigned long long>(plan.id));
        } catch (const tl::timeout &) {
            code = HG_TIMEOUT;
        } catch (const tl::margo_exception &error) {
            code = error.error();
            if (plan.kind == THROWING && code == HG_CANCELED &&
                std::string(error.what())
                        .find("thrown by " + std::to_string(plan.id)) ==
                    std::string::npos)
                book_finding(all.book, "the text of an exception is lost: %s",
                    error.what());
        } catch (const std::exception &error) {
            book_finding(all.book, "call %llx threw: %s",
                static_cast<unsigned long long>(plan.id), error.what());
        }
        end(code);
    }
};

tl::async_response start(const call_made &made)
{
    tl::callable_remote_procedure rpc = made.in->bind(made.plan);
    parcel argument = parcel_of(made.plan, CONTENT_ARGUMENT);

    if (made.plan.way == TIMED_ASYNC)
        return rpc.timed_async(
            std::chrono::duration<double, std::milli>(made.plan.limit_ms),
            argument, made.exposed);
    return rpc.async(argument, made.exposed);
}

/* Ends a call that is dropped, and so waited for, but not read. */
void drop(call_made &made, tl::async_response &&response)
{
    hg_return_t code = HG_SUCCESS;

    {
        tl::async_response gone = std::move(response);

        while (!gone.received())
            (void)std::this_thread::yield();
    }
    made.end(code);
}

tl::packed_data<> call_and_wait(const call_made &made)
{
    parcel argument = parcel_of(made.plan, CONTENT_ARGUMENT);

    switch (made.plan.way) {
    case TIMED:
        return made.in->bind(made.plan).timed(
            std::chrono::duration<double, std::milli>(made.plan.limit_ms),
            argument, made.exposed);
    case ASYNC:
    case TIMED_ASYNC:
        return start(made).wait();
    default:
        return made.in->bind(made.plan)(argument, made.exposed);
    }
}

/* Waits for calls of a window in the order in which these end. */
void window_drain(
    std::list<call_made> &calls, std::vector<tl::async_response> &responses)
{
    for (std::size_t left = responses.size(); left > 0; left--) {
        auto completed = responses.end();
        hg_return_t code = HG_SUCCESS;
        tl::packed_data<> answer;

        try {
            answer = tl::async_response::wait_any(
                responses.begin(), responses.end(), completed);
        } catch (const tl::margo_exception &error) {
            code = error.error();
        } catch (const std::exception &error) {
            book_finding(all.book, "wait_any: %s", error.what());
        }
        if (completed == responses.end()) {
            book_finding(all.book, "wait_any has nothing to wait for");
            break;
        }
        auto made = std::next(calls.begin(), completed - responses.begin());

        if (code == HG_SUCCESS)
            made->finish([&answer] { return std::move(answer); });
        else
            made->end(code);
    }
    responses.clear();
    calls.clear();
}

} /* namespace */

void world::call(std::uint64_t id)
{
    call_made made(*this, id);

    /* Dropped ones tell no code, so only those that must succeed are. */
    if (made.plan.way == DROPPED &&
        (made.plan.kind <= PROVIDED || made.plan.kind >= LATE))
        drop(made, start(made));
    else
        made.finish([&made] { return call_and_wait(made); });
}

void world::calls(unsigned first, unsigned step)
{
    std::list<call_made> window;
    std::vector<tl::async_response> responses;

    for (unsigned i = all.plan.first + first; i < all.plan.last; i += step) {
        std::uint64_t id = root(i);

        if (plan_of(id).way != ANY) {
            call(id);
            continue;
        }
        window.emplace_back(*this, id);
        try {
            responses.push_back(start(window.back()));
        } catch (const std::exception &error) {
            book_finding(all.book, "a call is refused: %s", error.what());
            window.back().end(HG_OTHER_ERROR);
            window.pop_back();
        }
        if (responses.size() == WINDOW)
            window_drain(window, responses);
    }
    window_drain(window, responses);
}

std::string passing_name(unsigned rank, unsigned passing)
{
    return "passing" + std::to_string(rank) + "_" + std::to_string(passing);
}

tl::callable_remote_procedure world::bind(const call_plan &plan)
{
    const tl::endpoint &peer = peers[plan.target];

    switch (plan.kind) {
    case ONE_WAY:
        return one_way_rpc.on(peer);
    case PROVIDED:
        return provided_rpc.on(tl::provider_handle(
            peer, static_cast<std::uint16_t>(1 + plan.target)));
    case PASSING:
        return engine.define(passing_name(plan.target, plan.passing)).on(peer);
    default:
        return call_rpc.on(peer);
    }
}

} /* namespace torture */
