/* SPDX-License-Identifier: BSD-3-Clause */
/* Every name of the C++ API for bulk data and serialization. */
#include <chrono>
#include <tuple>
#include "names.hpp"
#include <thallium/serialization/stl/array.hpp>
#include <thallium/serialization/stl/complex.hpp>
#include <thallium/serialization/stl/deque.hpp>
#include <thallium/serialization/stl/forward_list.hpp>
#include <thallium/serialization/stl/list.hpp>
#include <thallium/serialization/stl/map.hpp>
#include <thallium/serialization/stl/multimap.hpp>
#include <thallium/serialization/stl/multiset.hpp>
#include <thallium/serialization/stl/pair.hpp>
#include <thallium/serialization/stl/set.hpp>
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/tuple.hpp>
#include <thallium/serialization/stl/unordered_map.hpp>
#include <thallium/serialization/stl/unordered_multimap.hpp>
#include <thallium/serialization/stl/unordered_multiset.hpp>
#include <thallium/serialization/stl/unordered_set.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace names
{

/* Bulk data */

static_assert(
    std::is_same<std::underlying_type_t<tl::bulk_mode>, hg_uint32_t>::value &&
        static_cast<int>(tl::bulk_mode::read_write) == HG_BULK_READWRITE &&
        static_cast<int>(tl::bulk_mode::read_only) == HG_BULK_READ_ONLY &&
        static_cast<int>(tl::bulk_mode::write_only) == HG_BULK_WRITE_ONLY,
    "modes");
static_assert(copies<tl::bulk>() && copies<tl::bulk_segment>(), "copy");
static_assert(copies<tl::remote_bulk>(), "copy");
static_assert(moves_only<tl::async_bulk_op>(), "move");

/* What a whole bulk and a part of it can do alike. */
template <typename Local>
void local_rows(const Local &local, const tl::remote_bulk &remote,
    const tl::timed_remote_bulk &timed, const tl::endpoint &endpoint)
{
    is<tl::remote_bulk>(local.on(endpoint));
    is<tl::bulk_segment>(local.select(0, 1));
    is<tl::bulk_segment>(local(0, 1));
    is<std::size_t>(local >> remote);
    is<std::size_t>(local << remote);
    is<tl::async_bulk_op>(local.push_to(remote));
    is<tl::async_bulk_op>(local.pull_from(remote));
    is<std::size_t>(remote >> local);
    is<std::size_t>(remote << local);
    is<tl::async_bulk_op>(remote.pull_to(local));
    is<tl::async_bulk_op>(remote.push_from(local));
    is<std::size_t>(timed >> local);
    is<std::size_t>(timed << local);
    is<tl::async_bulk_op>(timed.pull_to(local));
    is<tl::async_bulk_op>(timed.push_from(local));
}

void bulk_rows(const tl::bulk &bulk, const tl::remote_bulk &remote,
    const tl::endpoint &endpoint, tl::async_bulk_op &operation)
{
    tl::bulk none;
    tl::bulk_segment whole(bulk);
    tl::bulk_segment part(bulk, 0, 1);
    const tl::bulk_segment converted = bulk;

    static_assert(noexcept(bulk.size()) &&noexcept(
                      bulk.segment_count()) &&noexcept(bulk.is_null()),
        "noexcept");
    is<std::size_t>(bulk.size());
    is<std::size_t>(std::size_t(bulk.segment_count()));
    is<bool>(none.is_null());
    is<hg_bulk_t>(bulk.get_bulk());
    is<hg_bulk_t>(bulk.get_bulk(true));
    is<tl::timed_remote_bulk>(remote.timed(1.5));
    is<tl::timed_remote_bulk>(remote.timed(std::chrono::milliseconds(1)));
    local_rows(bulk, remote, remote.timed(1), endpoint);
    local_rows(whole, remote, remote.timed(1), endpoint);
    local_rows(part, remote, remote.timed(1), endpoint);
    local_rows(converted, remote, remote.timed(1), endpoint);
    is<tl::remote_bulk>(remote.select(0, 1));
    is<tl::remote_bulk>(remote(0, 1));
    is<bool>(operation.test());
    is<std::size_t>(operation.wait());
}

void bulk_arguments(
    const tl::callable_remote_procedure &rpc, const tl::bulk &bulk)
{
    tl::bulk back = rpc(bulk);

    (void)back;
}

/* Serialization */

struct with_member {
    int x = 0;

    template <typename A> void serialize(A &archive)
    {
        archive &x;
        archive(x);
        (void)std::get<0>(archive.get_context());
        is<tl::engine>(archive.get_engine());
    }
};

struct with_pair {
    int x = 0;

    template <typename A> void save(A &archive) const
    {
        archive(x);
    }
    template <typename A> void load(A &archive)
    {
        archive(x);
    }
};

struct with_function {
    int x = 0;
};

template <typename A> void serialize(A &archive, with_function &object)
{
    archive(object.x);
}

template <typename Archive>
void archive_rows(Archive &archive, std::tuple<int> &context)
{
    void *place = archive.save_ptr(1);

    archive.restore_ptr(place, 1);
    is<hg_proc_t>(archive.get_proc());
    is<tl::engine>(archive.get_engine());
    static_assert(
        std::is_same<decltype(archive.get_context()), std::tuple<int> &>::value,
        "context");
    (void)context;
}

void serialization_rows(
    hg_proc_t proc, margo_instance_id mid, std::tuple<int> &context)
{
    using output = tl::proc_output_archive<int>;
    using input = tl::proc_input_archive<int>;
    output out(proc, context, mid);
    input in(proc, context, mid);
    char byte = 0;
    with_member member;
    with_pair pair;
    with_function function;

    (void)output(proc, context);
    (void)input(proc, context);
    static_assert(
        std::is_base_of<
            cereal::OutputArchive<output, cereal::AllowEmptyClassElision>,
            output>::value &&
            std::is_base_of<
                cereal::InputArchive<input, cereal::AllowEmptyClassElision>,
                input>::value,
        "base");
    out.write(&byte, 1);
    in.read(&byte, 1);
    archive_rows(out, context);
    archive_rows(in, context);
    out(member, pair, function);
    in(member, pair, function);
}

void encoding_rows(hg_proc_t proc, margo_instance_id mid)
{
    std::tuple<> none;
    int number = 0;

    is<hg_return_t>(tl::proc_object_encode(proc, number, mid, none));
    is<hg_return_t>(tl::proc_object_decode(proc, number, mid, none));
    is<hg_return_t>(tl::proc_void_object(proc, none));
}

/* Names that programs may meet. */
void names_of_handlers(hg_handle_t handle, hg_proc_t proc)
{
    tl::thallium_generic_rpc(handle);
    is<hg_return_t>(tl::hg_proc_meta_serialization(proc, nullptr));
}
static_assert(sizeof(tl::meta_serialization) > 0, "complete");

} /* namespace names */

int main()
{
    return 0;
}
