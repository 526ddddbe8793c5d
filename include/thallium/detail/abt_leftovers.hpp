/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and schedulers whose owner ended while a stream still used them. */
#ifndef THALLIUM_DETAIL_ABT_LEFTOVERS_HPP
#define THALLIUM_DETAIL_ABT_LEFTOVERS_HPP

#include <mutex>
#include <vector>
#include <abt.h>

namespace thallium
{

namespace detail
{

/*
 * Local variables are destroyed in the reverse order of their definition, so a
 * program may destroy a pool before the streams that run it. This class keeps
 * such a pool or scheduler until the class abt calls free_all().
 */
class abt_leftovers
{
    std::mutex m_mutex;
    std::vector<ABT_sched> m_scheds;
    std::vector<ABT_pool> m_pools;

  public:
    static abt_leftovers &get()
    {
        /* Never destroyed: static objects may be destroyed later. */
        static abt_leftovers *all = new abt_leftovers;

        return *all;
    }

    void keep(ABT_sched sched)
    {
        std::lock_guard<std::mutex> guard(m_mutex);

        m_scheds.push_back(sched);
    }

    void keep(ABT_pool pool)
    {
        std::lock_guard<std::mutex> guard(m_mutex);

        m_pools.push_back(pool);
    }

    /* Frees all pools and schedulers; leaks those that are still in use. */
    void free_all()
    {
        std::lock_guard<std::mutex> guard(m_mutex);

        for (ABT_sched &sched : m_scheds)
            ABT_sched_free(&sched);
        for (ABT_pool &pool : m_pools)
            ABT_pool_free(&pool);
        m_scheds.clear();
        m_pools.clear();
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
