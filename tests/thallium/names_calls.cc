/* SPDX-License-Identifier: BSD-3-Clause */
/* Every name of the C++ API for engines and calls. */
#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <sstream>
#include <string>
#include "names.hpp"
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/tuple.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace names
{

/* What holds everywhere */

#if !defined(MARGO_THROW) || !defined(MARGO_ASSERT) ||                         \
    !defined(MARGO_ASSERT_TERMINATE) ||                                        \
    !defined(MARGO_INSTANCE_MUST_BE_VALID) ||                                  \
    !defined(THALLIUM_ASSERT_CONDITION)
#error "a macro that services use is missing"
#endif

static_assert(THALLIUM_VERSION_NUM == THALLIUM_VERSION_MAJOR * 1000000 +
                                          THALLIUM_VERSION_MINOR * 1000 +
                                          THALLIUM_VERSION_PATCH,
    "version");
static_assert(THALLIUM_VERSION_NUM >= 16000, "version");
static_assert(sizeof(THALLIUM_VERSION) > sizeof("0.0"), "version");

/* Engines */

static_assert(THALLIUM_SERVER_MODE == MARGO_SERVER_MODE, "mode");
static_assert(THALLIUM_CLIENT_MODE == MARGO_CLIENT_MODE, "mode");
static_assert(
    std::is_base_of<tl::margo_instance_ref, tl::engine>::value, "base");
static_assert(copies<tl::engine>() && copies<tl::margo_instance_ref>(), "copy");
static_assert(
    std::is_nothrow_constructible<tl::engine, margo_instance_id, bool>::value,
    "noexcept");

void instance_rows(margo_instance_id mid)
{
    tl::margo_instance_ref none;
    tl::margo_instance_ref ref(mid);
    tl::margo_instance_ref taken(mid, true);
    margo_instance_id id = ref;

    is<margo_instance_id>(taken.get_margo_instance());
    (void)id;
    (void)static_cast<bool>(none);
    (void)(ref == taken);
    (void)(ref != taken);
}

void engine_constructors(margo_instance_id mid)
{
    std::string address("na+sm");
    std::string json("{}");
    hg_init_info *info = nullptr;
    margo_init_info *margo_info = nullptr;
    tl::pool pool;

    (void)tl::engine();
    (void)tl::engine(address, THALLIUM_SERVER_MODE);
    (void)tl::engine(address, MARGO_CLIENT_MODE, true);
    (void)tl::engine("na+sm", THALLIUM_SERVER_MODE, true, 4);
    (void)tl::engine(address, THALLIUM_SERVER_MODE, false, 0, info);
    (void)tl::engine(address, THALLIUM_SERVER_MODE, "{}");
    (void)tl::engine(address, THALLIUM_SERVER_MODE, json);
    (void)tl::engine(address, THALLIUM_SERVER_MODE, "{}", info);
    (void)tl::engine(address, THALLIUM_SERVER_MODE, json, info);
    (void)tl::engine(address, THALLIUM_SERVER_MODE, margo_info);
    (void)tl::engine(address, THALLIUM_SERVER_MODE, pool, pool);
    (void)tl::engine(mid);
    (void)tl::engine(mid, true);
}

void by_pointer(const tl::request &, int)
{
}

struct by_object {
    void operator()(const tl::request &, std::string)
    {
    }
};

void engine_definitions(tl::engine &engine, const tl::pool &pool)
{
    const std::string name("name");
    std::function<void(const tl::request &, int)> function;
    auto lambda = [](const tl::request &, double) {};

    is<tl::remote_procedure>(engine.define(name));
    is<tl::remote_procedure>(engine.define("name"));
    is<tl::remote_procedure>(engine.define(name, function));
    is<tl::remote_procedure>(engine.define(name, std::move(function)));
    is<tl::remote_procedure>(engine.define(name, function, 7));
    is<tl::remote_procedure>(engine.define(name, function, 7, pool));
    is<tl::remote_procedure>(engine.define(name, function, 7, tl::pool()));
    is<tl::remote_procedure>(engine.define(name, by_pointer));
    is<tl::remote_procedure>(engine.define(name, &by_pointer, 7));
    is<tl::remote_procedure>(engine.define("name", by_pointer, 7, pool));
    is<tl::remote_procedure>(engine.define("name", by_object()));
    is<tl::remote_procedure>(engine.define(name, by_object(), 7));
    is<tl::remote_procedure>(engine.define(name, lambda));
    is<tl::remote_procedure>(engine.define(name, lambda, 7));
    is<tl::remote_procedure>(engine.define("name", lambda, 7, pool));
}

void engine_memory(tl::engine &engine, hg_bulk_t handle)
{
    std::vector<std::pair<void *, std::size_t>> segments;
    std::array<void *, 2> pointers = {};
    std::array<std::size_t, 2> sizes = {};
    hg_bulk_attr attributes = {};

    is<tl::bulk>(engine.expose(segments, tl::bulk_mode::read_only));
    is<tl::bulk>(engine.expose(segments, tl::bulk_mode::read_only, attributes));
    is<tl::bulk>(engine.expose(
        2u, pointers.data(), sizes.data(), tl::bulk_mode::write_only));
    is<tl::bulk>(engine.expose(2u, pointers.data(), sizes.data(),
        tl::bulk_mode::read_write, attributes));
    is<tl::bulk>(engine.wrap(handle, true));
}

void engine_callbacks(tl::engine &engine, const void *owner)
{
    using callback = std::function<void()>;
    auto function = [] {};

    engine.push_prefinalize_callback(function);
    engine.push_prefinalize_callback(owner, function);
    is<callback>(engine.top_prefinalize_callback());
    is<callback>(engine.top_prefinalize_callback(owner));
    is<callback>(engine.pop_prefinalize_callback());
    is<callback>(engine.pop_prefinalize_callback(owner));
    engine.push_finalize_callback(function);
    engine.push_finalize_callback(owner, function);
    is<callback>(engine.top_finalize_callback());
    is<callback>(engine.top_finalize_callback(owner));
    is<callback>(engine.pop_finalize_callback());
    is<callback>(engine.pop_finalize_callback(owner));
}

template <typename List, typename T, typename Key>
void list_rows(List list, const Key &key)
{
    using named = tl::engine::named_object_proxy<T>;

    static_assert(std::is_base_of<T, named>::value, "base");
    named found = list[key];

    is<std::string>(std::string(found.name()));
    (void)static_cast<std::uint32_t>(found.index());
    list.remove(key);
    list.ref_incr(key);
    list.release(key);
    is<unsigned>(list.ref_count(key));
    (void)static_cast<std::size_t>(list.size());
}

template <typename List, typename T> void list_keys(List list, const T &object)
{
    static_assert(std::is_same<List, tl::engine::list_proxy<T>>::value, "list");
    list_rows<List, T>(list, "name");
    list_rows<List, T>(list, std::string("name"));
    list_rows<List, T>(list, 1);
    list_rows<List, T>(list, std::size_t(1));
    list_rows<List, T>(list, object);
}

void engine_rows(tl::engine &engine, const tl::endpoint &endpoint,
    const tl::pool &pool, const tl::xstream &xstream, tl::logger *logger)
{
    const tl::engine &constant = engine;

    (void)(engine == constant);
    (void)(engine != constant);
    engine.finalize();
    engine.wait_for_finalize();
    engine.finalize_and_wait();
    is<tl::endpoint>(constant.self());
    is<tl::endpoint>(constant.lookup(std::string("na+sm://1-0")));
    engine.enable_remote_shutdown();
    constant.shutdown_remote_engine(endpoint);
    is<bool>(constant.is_listening());
    is<tl::pool>(constant.get_handler_pool());
    is<tl::pool>(constant.get_progress_pool());
    is<std::string>(constant.get_config());
    is<tl::timed_callback>(engine.create_timed_callback([] {}));
    engine.set_logger(logger);
    engine.set_log_level(tl::logger::level::warning);
    list_keys(engine.pools(), pool);
    list_keys(engine.xstreams(), xstream);
}

/* Calls */

static_assert(copies<tl::remote_procedure>(), "copy");
static_assert(std::is_default_constructible<tl::remote_procedure>::value, "()");
static_assert(
    std::is_base_of<tl::remote_procedure, tl::auto_remote_procedure>::value,
    "base");
static_assert(std::is_constructible<tl::auto_remote_procedure,
                  tl::remote_procedure &&>::value,
    "from a temporary");
static_assert(std::is_same<tl::callable_remote_procedure,
                  tl::callable_remote_procedure_with_context<>>::value,
    "alias");
static_assert(moves_only<tl::async_response>(), "move");
static_assert(moves_only<tl::packed_data<>>(), "move");
static_assert(std::is_default_constructible<tl::packed_data<>>::value, "()");
static_assert(
    std::is_same<tl::request, tl::request_with_context<>>::value, "alias");
static_assert(copies<tl::request>(), "copy");
static_assert(!std::is_copy_constructible<tl::auto_respond<int>>::value &&
                  !std::is_move_constructible<tl::auto_respond<int>>::value,
    "neither");

void procedure_rows(tl::engine &engine, const tl::endpoint &endpoint,
    const tl::provider_handle &provider)
{
    tl::remote_procedure rpc = engine.define("name").disable_response();

    is<tl::remote_procedure>(rpc.disable_response());
    static_assert(
        std::is_lvalue_reference<decltype(rpc.disable_response())>::value,
        "itself");
    is<tl::callable_remote_procedure>(rpc.on(endpoint));
    is<tl::callable_remote_procedure>(rpc.on(provider));
    is<hg_id_t>(rpc.id());
    rpc.deregister();
}

void call_rows(const tl::callable_remote_procedure &rpc, int &context)
{
    using std::chrono::milliseconds;

    is<tl::packed_data<>>(rpc());
    is<tl::packed_data<>>(rpc(1, std::string("x"), 2.5));
    is<tl::packed_data<>>(rpc.timed(milliseconds(1)));
    is<tl::packed_data<>>(rpc.timed(std::chrono::duration<double>(1), 1, 2));
    is<tl::async_response>(rpc.async());
    is<tl::async_response>(rpc.async(1, 2));
    is<tl::async_response>(rpc.timed_async(milliseconds(1)));
    is<tl::async_response>(rpc.timed_async(milliseconds(1), 1, 2));
    is<tl::callable_remote_procedure_with_context<int>>(
        rpc.with_serialization_context(1));
    is<tl::callable_remote_procedure_with_context<int &>>(
        rpc.with_serialization_context(std::ref(context)));
    is<tl::callable_remote_procedure_with_context<int, std::string>>(
        rpc.with_serialization_context(1, std::string()));
}

void response_rows(tl::async_response &response)
{
    std::vector<tl::async_response> several;
    std::vector<tl::async_response>::iterator completed;

    is<tl::packed_data<>>(response.wait());
    is<bool>(static_cast<const tl::async_response &>(response).received());
    is<tl::packed_data<>>(tl::async_response::wait_any(
        several.begin(), several.end(), completed));
}

void packed_rows(tl::packed_data<> &data, tl::packed_data<> &other)
{
    int number = 0;
    std::string text;
    int converted = data;
    std::string also_converted = other;

    is<int>(data.as<int>());
    is<std::tuple<int, std::string>>(data.as<int, std::string>());
    is<std::tuple<int, std::string, double>>(
        data.as<int, std::string, double>());
    data.unpack(number);
    data.unpack(number, text);
    is<hg_handle_t>(data.native_handle());
    is<tl::packed_data<int>>(data.with_serialization_context(1));
    is<tl::packed_data<int &>>(
        other.with_serialization_context(std::ref(number)));
    (void)converted;
    (void)also_converted;
}

void request_rows(const tl::request &request)
{
    int number = 0;
    tl::auto_respond<int> answers(request, number);

    request.respond();
    request.respond(1);
    request.respond(1, std::string("x"));
    is<tl::endpoint>(request.get_endpoint());
    is<tl::packed_data<>>(request.get_input());
    is<hg_handle_t>(request.native_handle());
    is<tl::request_with_context<int>>(request.with_serialization_context(1));
}

/* Addresses and providers */

static_assert(copies<tl::endpoint>() && copies<tl::provider_handle>(), "copy");
static_assert(std::has_virtual_destructor<tl::endpoint>::value, "virtual");
static_assert(
    std::is_base_of<tl::endpoint, tl::provider_handle>::value, "base");

void endpoint_rows(tl::engine &engine, hg_addr_t addr)
{
    tl::margo_instance_ref ref = engine;
    tl::endpoint none;
    tl::endpoint taken(ref, addr);
    tl::endpoint copied(engine, addr, false);
    std::ostringstream out;

    is<tl::engine>(copied.get_engine());
    is<std::string>(static_cast<std::string>(copied));
    is<bool>(none.is_null());
    (void)static_cast<bool>(none);
    is<hg_addr_t>(taken.get_addr());
    is<hg_addr_t>(taken.get_addr(true));
    (void)(none == taken);
    (void)(none != taken);
    taken.set_remove();
    out << taken;
}

void provider_handle_rows(
    const tl::engine &engine, hg_addr_t addr, tl::endpoint endpoint)
{
    tl::provider_handle none;
    tl::provider_handle zero(engine, addr);
    tl::provider_handle seven(engine, addr, 7);
    tl::provider_handle copied(engine, addr, 7, false);
    tl::provider_handle of_zero(endpoint);
    tl::provider_handle of_seven(endpoint, 7);

    is<std::uint16_t>(none.provider_id());
    is<std::string>(of_seven.get_identity());
}

class service : public tl::provider<service>
{
    int own(const tl::request &, int)
    {
        return 0;
    }
    int value(int, std::string) const
    {
        return 0;
    }
    void nothing(int)
    {
    }

  public:
    service(const tl::engine &engine, std::uint16_t id, const tl::pool &pool)
        : tl::provider<service>(engine, id, "identity")
    {
        is<tl::remote_procedure>(define("own", &service::own));
        is<tl::remote_procedure>(define("value", &service::value, pool));
        is<tl::remote_procedure>(
            define("nothing", &service::nothing, tl::ignore_return_value()));
        is<tl::remote_procedure>(define(std::string("value"), &service::value,
            pool, tl::ignore_return_value()));
        is<const char *>(identity());
        is<std::uint16_t>(get_provider_id());
        is<tl::engine>(get_engine());
    }
};

class plain_service : public tl::provider<plain_service>
{
  public:
    plain_service(const tl::engine &engine, std::uint16_t id)
        : tl::provider<plain_service>(engine, id)
    {
    }
};

static_assert(!std::is_copy_constructible<service>::value &&
                  !std::is_move_constructible<service>::value &&
                  std::has_virtual_destructor<tl::provider<service>>::value,
    "neither");
static_assert(std::is_same<tl::ignore_return_value,
                  std::integral_constant<bool, true>>::value,
    "alias");

/* Errors, callbacks, logs */

static_assert(std::is_base_of<std::exception, tl::exception>::value, "base");
static_assert(
    std::is_base_of<tl::exception, tl::margo_exception>::value, "base");
static_assert(std::is_base_of<std::exception, tl::timeout>::value &&
                  !std::is_base_of<tl::exception, tl::timeout>::value,
    "base");
static_assert(moves_only<tl::timed_callback>(), "move");
static_assert(std::is_abstract<tl::logger>::value, "abstract");
static_assert(
    static_cast<int>(tl::logger::level::external) == MARGO_LOG_EXTERNAL &&
        static_cast<int>(tl::logger::level::trace) == MARGO_LOG_TRACE &&
        static_cast<int>(tl::logger::level::debug) == MARGO_LOG_DEBUG &&
        static_cast<int>(tl::logger::level::info) == MARGO_LOG_INFO &&
        static_cast<int>(tl::logger::level::warning) == MARGO_LOG_WARNING &&
        static_cast<int>(tl::logger::level::error) == MARGO_LOG_ERROR &&
        static_cast<int>(tl::logger::level::critical) == MARGO_LOG_CRITICAL,
    "levels");

class silent : public tl::logger
{
  public:
    void trace(const char *) const override
    {
    }
    void debug(const char *) const override
    {
    }
    void info(const char *) const override
    {
    }
    void warning(const char *) const override
    {
    }
    void error(const char *) const override
    {
    }
    void critical(const char *) const override
    {
    }
};

void error_rows(tl::timed_callback &callback, silent &logger)
{
    tl::exception joined("call ", 7, " of ", 2.5, std::string(" failed"));
    tl::margo_exception failed("function", "file", 7, HG_TIMEOUT, "message");

    is<const char *>(joined.what());
    is<hg_return_t>(failed.error());
    is<const char *>(tl::timeout().what());
    is<std::string>(std::string(tl::translate_margo_error_code(HG_TIMEOUT)));
    callback.start(1.5);
    callback.cancel();
    tl::logger::set_global_logger(&logger);
    tl::logger::set_global_log_level(tl::logger::level::error);
}

} /* namespace names */

int main()
{
    return 0;
}
