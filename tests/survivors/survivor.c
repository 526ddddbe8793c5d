/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals, lines for the script, and the file with the address. */
#include "survivor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t survivor_is_asked;
volatile sig_atomic_t survivor_is_over;

static void on_signal(int number)
{
    if (number == SIGTERM)
        survivor_is_over = 1;
    else
        survivor_is_asked = 1;
}

void survivor_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGUSR1, &action, NULL);
}

void survivor_check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%d: %s\n", (int)getpid(), what);
    _exit(EXIT_FAILURE);
}

void survivor_say(const char *what)
{
    printf("%d %s\n", (int)getpid(), what);
    fflush(stdout);
}

void survivor_say_number(const char *what, unsigned number)
{
    printf("%d %s %u\n", (int)getpid(), what, number);
    fflush(stdout);
}

void survivor_address_read(const char *path, char address[ADDR_CAP])
{
    FILE *file = fopen(path, "r");

    if (file == NULL || fgets(address, ADDR_CAP, file) == NULL)
        address[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    address[strcspn(address, "\n")] = '\0';
}

void survivor_address_write(const char *path, const char *address)
{
    char part[4096];
    FILE *file = NULL;

    snprintf(part, sizeof(part), "%s.%d", path, (int)getpid());
    file = fopen(part, "w");
    survivor_check(file != NULL && fprintf(file, "%s\n", address) > 0 &&
                       fclose(file) == 0 && rename(part, path) == 0,
        "cannot write the address");
}
