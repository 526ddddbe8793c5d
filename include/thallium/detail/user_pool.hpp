/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Argobots for a pool that is a C++ class of the program. */
#ifndef THALLIUM_DETAIL_USER_POOL_HPP
#define THALLIUM_DETAIL_USER_POOL_HPP

#include <memory>
#include <new>
#include <thallium/task.hpp>
#include <thallium/thread.hpp>
#include <thallium/unit_type.hpp>

namespace thallium
{

namespace detail
{

/*
 * A Unit is the ABT_unit itself; the Pool is the data of its ABT_pool. These
 * functions end the program if an exception would pass through Argobots.
 */
template <typename Pool, typename Unit, typename PoolAllocator,
    typename UnitAllocator>
struct user_pool {
    static Unit *unit_of(ABT_unit unit) noexcept
    {
        return reinterpret_cast<Unit *>(unit);
    }

    static Pool *pool_of(ABT_pool pool) noexcept
    {
        void *data = nullptr;

        must_succeed(ABT_pool_get_data(pool, &data), "a pool");
        return static_cast<Pool *>(data);
    }

    static ABT_unit_type get_type(ABT_unit unit) noexcept
    {
        return unit_of(unit)->get_type() == unit_type::task
                   ? ABT_UNIT_TYPE_TASK
                   : ABT_UNIT_TYPE_THREAD;
    }

    static ABT_thread get_thread(ABT_unit unit) noexcept
    {
        return unit_of(unit)->get_thread().native_handle();
    }

    static ABT_task get_task(ABT_unit unit) noexcept
    {
        return unit_of(unit)->get_task().native_handle();
    }

    static ABT_bool is_in_pool(ABT_unit unit) noexcept
    {
        return unit_of(unit)->is_in_pool() ? ABT_TRUE : ABT_FALSE;
    }

    template <typename Work> static ABT_unit create_unit(const Work &work)
    {
        UnitAllocator allocator;
        Unit *unit =
            std::allocator_traits<UnitAllocator>::allocate(allocator, 1);

        std::allocator_traits<UnitAllocator>::construct(allocator, unit, work);
        return reinterpret_cast<ABT_unit>(unit);
    }

    static ABT_unit create_from_thread(ABT_thread handle) noexcept
    {
        return create_unit(thread(handle));
    }

    static ABT_unit create_from_task(ABT_task handle) noexcept
    {
        return create_unit(task(handle));
    }

    static void free_unit(ABT_unit *unit) noexcept
    {
        UnitAllocator allocator;
        Unit *old = unit_of(*unit);

        std::allocator_traits<UnitAllocator>::destroy(allocator, old);
        std::allocator_traits<UnitAllocator>::deallocate(allocator, old, 1);
        *unit = ABT_UNIT_NULL;
    }

    static int init(ABT_pool handle, ABT_pool_config) noexcept
    {
        PoolAllocator allocator;
        Pool *created =
            std::allocator_traits<PoolAllocator>::allocate(allocator, 1);

        std::allocator_traits<PoolAllocator>::construct(allocator, created);
        return ABT_pool_set_data(handle, created);
    }

    static size_t get_size(ABT_pool handle) noexcept
    {
        return pool_of(handle)->get_size();
    }

    static void push(ABT_pool handle, ABT_unit unit) noexcept
    {
        pool_of(handle)->push(unit_of(unit));
    }

    static ABT_unit pop(ABT_pool handle) noexcept
    {
        return reinterpret_cast<ABT_unit>(pool_of(handle)->pop());
    }

    static int remove(ABT_pool handle, ABT_unit unit) noexcept
    {
        pool_of(handle)->remove(unit_of(unit));
        return ABT_SUCCESS;
    }

    static int free_pool(ABT_pool handle) noexcept
    {
        PoolAllocator allocator;
        Pool *old = pool_of(handle);

        std::allocator_traits<PoolAllocator>::destroy(allocator, old);
        std::allocator_traits<PoolAllocator>::deallocate(allocator, old, 1);
        return ABT_SUCCESS;
    }

    static ABT_pool_def definition() noexcept
    {
        ABT_pool_def all = ABT_pool_def();

        all.access = static_cast<ABT_pool_access>(Pool::access_type);
        all.u_get_type = &get_type;
        all.u_get_thread = &get_thread;
        all.u_get_task = &get_task;
        all.u_is_in_pool = &is_in_pool;
        all.u_create_from_thread = &create_from_thread;
        all.u_create_from_task = &create_from_task;
        all.u_free = &free_unit;
        all.p_init = &init;
        all.p_get_size = &get_size;
        all.p_push = &push;
        all.p_pop = &pop;
        all.p_remove = &remove;
        all.p_free = &free_pool;
        return all;
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
