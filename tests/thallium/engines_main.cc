/* SPDX-License-Identifier: BSD-3-Clause */
/* The main program of tests with engines: [TRANSPORT] [option of doctest]... */
#define DOCTEST_CONFIG_IMPLEMENT
#include "engines.hpp"
#include "slow.h"

#include <unistd.h>

namespace
{

enum { ALARM_S = 50 * TEST_SLOW }; /* below the limit of a test */

} /* namespace */

std::string transport = "na+sm";

int main(int argc, char **argv)
{
    doctest::Context context;

    alarm(ALARM_S); /* ends a test that hangs */
    if (argc > 1 && argv[1][0] != '-')
        transport = argv[1];
    context.applyCommandLine(argc, argv);
    return context.run();
}
