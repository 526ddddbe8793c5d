/* SPDX-License-Identifier: BSD-3-Clause */
/* Exceptions carry their message and code; log lines reach a logger. */
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <thallium/abt.hpp>
#include <thallium/bulk_mode.hpp>
#include <thallium/config.hpp>
#include <thallium/logger.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/mutex.hpp>
#include <thallium/timeout.hpp>

namespace tl = thallium;

TEST_CASE("an exception joins its arguments")
{
    const tl::exception error("pool ", 3, " has ", std::string("no"), ' ', 1.5);

    CHECK(std::string(error.what()) == "pool 3 has no 1.5");
    CHECK(std::string(tl::exception().what()).empty());
    const tl::exception copy(error);
    CHECK(std::string(copy.what()) == error.what());
}

TEST_CASE("a margo_exception names the place and has the code")
{
    bool is_thrown = false;

    try {
        MARGO_THROW(margo_forward, HG_NOENTRY, "no such RPC");
    } catch (const tl::exception &error) {
        const std::string text = error.what();

        is_thrown = true;
        CHECK(text.find("][margo_forward] no such RPC") != std::string::npos);
        CHECK(text.find(__FILE__) == 1);
    }
    CHECK(is_thrown);
    try {
        MARGO_ASSERT(HG_SUCCESS, margo_forward);
        MARGO_ASSERT(HG_CANCELED, margo_forward);
        FAIL("nothing was thrown");
    } catch (const tl::margo_exception &error) {
        CHECK(error.error() == HG_CANCELED);
        CHECK(std::strstr(error.what(), "margo_forward") != nullptr);
        CHECK(std::strstr(error.what(),
                  tl::translate_margo_error_code(HG_CANCELED).c_str()) !=
              nullptr);
    }
    MARGO_ASSERT_TERMINATE(HG_SUCCESS, margo_destroy);
    MARGO_ASSERT_TERMINATE(HG_SUCCESS, margo_destroy, -1);
}

TEST_CASE("a condition that does not hold throws")
{
    THALLIUM_ASSERT_CONDITION(1 + 1 == 2, "never");
    CHECK_THROWS_AS(
        THALLIUM_ASSERT_CONDITION(1 + 1 == 3, "sum"), tl::exception);
}

TEST_CASE("a timeout is no exception of the library")
{
    bool is_std = false;

    try {
        throw tl::timeout();
    } catch (const tl::exception &) {
        FAIL("it is a thallium::exception");
    } catch (const std::exception &error) {
        is_std = std::strlen(error.what()) > 0;
    }
    CHECK(is_std);
}

TEST_CASE("codes of Argobots have names")
{
    CHECK(std::string(tl::abt_error_get_name(ABT_ERR_MEM)) == "ABT_ERR_MEM");
    CHECK(std::string(tl::abt_error_get_name(ABT_ERR_INV_POOL_USER_DEF)) ==
          "ABT_ERR_INV_POOL_USER_DEF");
    CHECK(std::string(tl::abt_error_get_description(ABT_SUCCESS)) ==
          "Successful return code");
    CHECK(std::string(tl::abt_error_get_description(ABT_ERR_MEM)) ==
          "Memory allocation failure");
    CHECK(std::string(tl::timeout().what()) == "Request timed out");
    CHECK(std::string(tl::abt_error_get_name(-1)) == "UNKNOWN");
    CHECK(std::string(tl::abt_error_get_name(1000)) == "UNKNOWN");
    for (int code = 0; code <= ABT_ERR_INV_POOL_USER_DEF; code++) {
        char name[64] = "";
        std::size_t length = 0;

        if (ABT_error_get_str(code, name, &length) == ABT_SUCCESS)
            CHECK(std::string(tl::abt_error_get_name(code)) == name);
    }
}

TEST_CASE("what fails names the call and the code")
{
    try {
        TL_MUTEX_ASSERT(ABT_mutex_lock(ABT_MUTEX_NULL));
        FAIL("nothing was thrown");
    } catch (const tl::mutex_exception &error) {
        CHECK(std::strstr(error.what(), "ABT_mutex_lock") != nullptr);
        CHECK(std::strstr(error.what(), "ABT_ERR_INV_MUTEX") != nullptr);
    }
}

namespace
{

class kept_lines : public tl::logger
{
  public:
    mutable std::string text;

    void trace(const char *line) const override
    {
        text += std::string("T") + line;
    }

    void debug(const char *line) const override
    {
        text += std::string("D") + line;
    }

    void info(const char *line) const override
    {
        text += std::string("I") + line;
    }

    void warning(const char *line) const override
    {
        text += std::string("W") + line;
    }

    void error(const char *line) const override
    {
        text += std::string("E") + line;
    }

    void critical(const char *line) const override
    {
        text += std::string("C") + line;
    }
};

} // namespace

TEST_CASE("a global logger gets the lines of its level")
{
    static kept_lines lines;

    tl::logger::set_global_logger(&lines);
    tl::logger::set_global_log_level(tl::logger::level::warning);
    margo_info(MARGO_INSTANCE_NULL, "one");
    margo_warning(MARGO_INSTANCE_NULL, "two");
    margo_critical(MARGO_INSTANCE_NULL, "three");
    CHECK(lines.text.find("one") == std::string::npos);
    CHECK(lines.text.find("two") != std::string::npos);
    CHECK(lines.text[0] == 'W');
    CHECK(lines.text.find("C") < lines.text.find("three"));
    CHECK_THROWS_AS(tl::logger::set_global_logger(nullptr), tl::exception);
}

TEST_CASE("versions and modes have the values of the C headers")
{
    CHECK(THALLIUM_VERSION_NUM == THALLIUM_VERSION_MAJOR * 1000000 +
                                      THALLIUM_VERSION_MINOR * 1000 +
                                      THALLIUM_VERSION_PATCH);
    CHECK(std::string(THALLIUM_VERSION) == "0.16.0");
    CHECK(static_cast<hg_uint32_t>(tl::bulk_mode::read_write) ==
          HG_BULK_READWRITE);
    CHECK(static_cast<hg_uint32_t>(tl::bulk_mode::read_only) ==
          HG_BULK_READ_ONLY);
}
