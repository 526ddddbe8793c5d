/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Argobots for a scheduler that is a C++ class of the program. */
#ifndef THALLIUM_DETAIL_USER_SCHED_HPP
#define THALLIUM_DETAIL_USER_SCHED_HPP

#include <thallium/pool.hpp>
#include <thallium/scheduler.hpp>

namespace thallium
{

namespace detail
{

/* A Sched is the data of its ABT_sched. Its exceptions end the program. */
template <typename Sched> struct user_sched {
    static Sched *sched_of(ABT_sched handle) noexcept
    {
        void *data = nullptr;

        must_succeed(ABT_sched_get_data(handle, &data), "a scheduler");
        return static_cast<Sched *>(data);
    }

    static int init(ABT_sched handle, ABT_sched_config) noexcept
    {
        return ABT_sched_set_data(handle, new Sched(handle));
    }

    static void run(ABT_sched handle) noexcept
    {
        sched_of(handle)->run();
    }

    static int free_sched(ABT_sched handle) noexcept
    {
        delete sched_of(handle);
        return ABT_SUCCESS;
    }

    static ABT_pool get_migr_pool(ABT_sched handle) noexcept
    {
        return sched_of(handle)->get_migr_pool().native_handle();
    }

    static ABT_sched_def definition() noexcept
    {
        ABT_sched_def all = ABT_sched_def();

        all.type = ABT_SCHED_TYPE_ULT;
        all.init = &init;
        all.run = &run;
        all.free = &free_sched;
        all.get_migr_pool = &get_migr_pool;
        return all;
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
