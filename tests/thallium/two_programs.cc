/* SPDX-License-Identifier: BSD-3-Clause */
/* A server whose function ends after its definitions, and clients that end
 * after a call without an answer, whose memory the server reads.
 *
 *   two_programs serve TRANSPORT     writes its address, then what it has read
 *   two_programs call ADDRESS TEXT
 *   two_programs stop ADDRESS */
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>
#include <thallium.hpp>

namespace tl = thallium;

namespace
{

using segments = std::vector<std::pair<void *, std::size_t>>;

void serve(const std::string &transport)
{
    tl::engine engine(transport, THALLIUM_SERVER_MODE);
    std::function<void(const tl::request &, tl::bulk &)> read =
        [&engine](const tl::request &req, tl::bulk &theirs) {
            std::vector<char> part(6);
            tl::bulk mine = engine.expose(segments{{part.data(), part.size()}},
                tl::bulk_mode::write_only);
            std::size_t size = theirs.on(req.get_endpoint()) >> mine;

            std::cout << std::string(part.data(), size) << std::endl;
        };

    engine.define("read", read).disable_response();
    engine.enable_remote_shutdown();
    std::cout << engine.self() << std::endl;
    /* The engine goes away here, and serves until a client ends it. */
}

tl::engine client_of(const std::string &address)
{
    return tl::engine(
        address.substr(0, address.find_first_of(":;")), THALLIUM_CLIENT_MODE);
}

void call(const std::string &address, std::string text)
{
    tl::engine engine = client_of(address);
    tl::remote_procedure read = engine.define("read").disable_response();
    tl::endpoint server = engine.lookup(address);
    tl::bulk memory = engine.expose(
        segments{{&text[0], text.size() + 1}}, tl::bulk_mode::read_only);

    read.on(server)(memory);
}

void stop(const std::string &address)
{
    tl::engine engine = client_of(address);

    engine.shutdown_remote_engine(engine.lookup(address));
}

} /* namespace */

int main(int argc, char **argv)
{
    std::vector<std::string> args(argv + 1, argv + argc);

    try {
        if (args.size() == 2 && args[0] == "serve")
            serve(args[1]);
        else if (args.size() == 3 && args[0] == "call")
            call(args[1], args[2]);
        else if (args.size() == 2 && args[0] == "stop")
            stop(args[1]);
        else
            return 2;
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
