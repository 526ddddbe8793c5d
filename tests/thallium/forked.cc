/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of fork() that has an engine with a progress thread exits through its
 * destructor without waiting, and the engine goes on in the parent: forked
 * TRANSPORT. */
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thallium.hpp>

#include "../slow.h"

namespace tl = thallium;

namespace
{

constexpr int limit_s = 30 * TEST_SLOW;
constexpr int code = 3;

int add(tl::engine &engine, const tl::remote_procedure &sum)
{
    return sum.on(engine.self())(40, 2);
}

} // namespace

int main(int argc, char **argv)
{
    int status = 0;
    int result = 0;
    pid_t child = 0;

    alarm(2 * limit_s);
    if (argc != 2)
        return EXIT_FAILURE;
    tl::engine engine(argv[1], THALLIUM_SERVER_MODE, true);
    tl::remote_procedure sum = engine.define("sum",
        [](const tl::request &req, int a, int b) { req.respond(a + b); });
    if (add(engine, sum) != 42)
        return EXIT_FAILURE;
    child = fork();
    if (child == 0) {
        alarm(limit_s);
        return code; // by the destructors of both
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == code)
        result = add(engine, sum);
    if (result != 42)
        std::fprintf(stderr, "status of the child 0x%x, sum %d\n",
            static_cast<unsigned>(status), result);
    engine.finalize();
    return result == 42 ? EXIT_SUCCESS : EXIT_FAILURE;
}
