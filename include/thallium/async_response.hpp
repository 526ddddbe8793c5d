/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls under way. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_ASYNC_RESPONSE_HPP
#define THALLIUM_ASYNC_RESPONSE_HPP

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include <margo.h>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/exception.hpp>
#include <thallium/packed_data.hpp>

namespace thallium
{

/** A call under way, or none. */
class async_response
{
    detail::handle_ref m_handle;
    margo_request m_request = MARGO_REQUEST_NULL;
    bool m_ignores_response = false;

    /* Returns the answer of a call that ended with `ret`, or throws. */
    packed_data<> finish(hg_return_t ret)
    {
        detail::handle_ref handle = std::move(m_handle);

        if (ret != HG_SUCCESS)
            handle.fail("margo_wait", __LINE__, ret);
        if (m_ignores_response)
            return packed_data<>();
        return packed_data<>(std::move(handle), false, std::tuple<>());
    }

    void drop() noexcept
    {
        if (m_request != MARGO_REQUEST_NULL)
            (void)margo_wait(m_request);
        m_request = MARGO_REQUEST_NULL;
    }

  public:
    /** No call. */
    async_response() noexcept = default;

    /** A call that was started, and the request to wait for. */
    async_response(detail::handle_ref handle, margo_request request,
        bool ignores_response) noexcept
        : m_handle(std::move(handle)), m_request(request),
          m_ignores_response(ignores_response)
    {
    }

    async_response(async_response &&other) noexcept
        : m_handle(std::move(other.m_handle)),
          m_request(std::exchange(other.m_request, MARGO_REQUEST_NULL)),
          m_ignores_response(other.m_ignores_response)
    {
    }

    /** Waits for the former call first. */
    async_response &operator=(async_response &&other) noexcept
    {
        if (this != &other) {
            drop();
            m_handle = std::move(other.m_handle);
            m_request = std::exchange(other.m_request, MARGO_REQUEST_NULL);
            m_ignores_response = other.m_ignores_response;
        }
        return *this;
    }

    async_response(const async_response &) = delete;
    async_response &operator=(const async_response &) = delete;

    /** Waits for the call. Never throws. */
    ~async_response()
    {
        drop();
    }

    /**
     * Waits for the answer and returns it; empty if the RPC has no response.
     * Throws timeout or margo_exception if the call failed, and exception if
     * there is no call, or wait() was called before.
     */
    packed_data<> wait()
    {
        THALLIUM_ASSERT_CONDITION(m_request != MARGO_REQUEST_NULL,
            "no call to wait for, or it was waited for before");
        return finish(margo_wait(std::exchange(m_request, MARGO_REQUEST_NULL)));
    }

    /** True if wait() would return at once, or there is no call. */
    bool received() const
    {
        int flag = 1;

        if (m_request != MARGO_REQUEST_NULL && margo_test(m_request, &flag))
            throw exception("margo_test failed");
        return flag != 0;
    }

    /**
     * Waits for any call of a range and returns its answer, as wait() does.
     * Stores the iterator of that call in `completed`, also if the call failed.
     * Stores `end` and throws exception if the range has no call.
     */
    template <typename Iterator>
    static packed_data<> wait_any(
        const Iterator &begin, const Iterator &end, Iterator &completed)
    {
        std::vector<margo_request> requests;
        std::size_t index = 0;
        hg_return_t ret = HG_SUCCESS;

        for (Iterator it = begin; it != end; ++it)
            requests.push_back(it->m_request);
        index = requests.size();
        completed = end;
        ret = margo_wait_any(requests.size(), requests.data(), &index);
        if (index == requests.size()) {
            MARGO_ASSERT(ret, margo_wait_any);
            throw exception("wait_any: no call to wait for");
        }
        completed = std::next(begin,
            static_cast<
                typename std::iterator_traits<Iterator>::difference_type>(
                index));
        completed->m_request = MARGO_REQUEST_NULL; /* freed by Margo */
        return completed->finish(ret);
    }
};

} /* namespace thallium */

#endif
