/* SPDX-License-Identifier: BSD-3-Clause */
/* A counted reference to a Margo instance. Every C++ object that uses an
 * instance holds such a reference. */
#ifndef THALLIUM_MARGO_INSTANCE_REF_HPP
#define THALLIUM_MARGO_INSTANCE_REF_HPP

#include <utility>
#include <margo.h>
#include <thallium/margo_exception.hpp>

namespace thallium
{

/**
 * A reference to an instance, or to none. While a reference exists, addresses,
 * handles and exposed memory of the instance can be used and freed, also after
 * the instance was finalized.
 */
class margo_instance_ref
{
    margo_instance_id m_mid = MARGO_INSTANCE_NULL;

    void drop() noexcept
    {
        /* Margo logs a failure, which means that the instance has ended. */
        if (m_mid != MARGO_INSTANCE_NULL)
            (void)margo_instance_release(m_mid);
        m_mid = MARGO_INSTANCE_NULL;
    }

  public:
    /** Refers to no instance. */
    margo_instance_ref() noexcept = default;

    /**
     * Refers to the instance. Takes a new reference, or takes over the
     * caller's if take_ownership is true.
     */
    margo_instance_ref(
        margo_instance_id mid, bool take_ownership = false) noexcept
        : m_mid(mid)
    {
        if (m_mid != MARGO_INSTANCE_NULL && !take_ownership)
            (void)margo_instance_ref_incr(m_mid);
    }

    margo_instance_ref(const margo_instance_ref &other) noexcept
        : margo_instance_ref(other.m_mid)
    {
    }

    /** Leaves the other object without an instance. */
    margo_instance_ref(margo_instance_ref &&other) noexcept
        : m_mid(std::exchange(other.m_mid, MARGO_INSTANCE_NULL))
    {
    }

    margo_instance_ref &operator=(const margo_instance_ref &other) noexcept
    {
        if (m_mid != other.m_mid)
            *this = margo_instance_ref(other);
        return *this;
    }

    margo_instance_ref &operator=(margo_instance_ref &&other) noexcept
    {
        if (this != &other) {
            drop();
            m_mid = std::exchange(other.m_mid, MARGO_INSTANCE_NULL);
        }
        return *this;
    }

    /** Releases the reference. Never throws. */
    ~margo_instance_ref()
    {
        drop();
    }

    /** The instance; MARGO_INSTANCE_NULL if there is none. */
    margo_instance_id get_margo_instance() const noexcept
    {
        return m_mid;
    }

    /** The instance, for functions of Margo. */
    operator margo_instance_id() const noexcept
    {
        return m_mid;
    }

    /** True if there is an instance. */
    explicit operator bool() const noexcept
    {
        return m_mid != MARGO_INSTANCE_NULL;
    }

    /** True if the two objects refer to the same instance. */
    bool operator==(const margo_instance_ref &other) const noexcept
    {
        return m_mid == other.m_mid;
    }

    /** True if the two objects refer to different instances. */
    bool operator!=(const margo_instance_ref &other) const noexcept
    {
        return m_mid != other.m_mid;
    }
};

} /* namespace thallium */

#endif
