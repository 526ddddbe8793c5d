/* SPDX-License-Identifier: BSD-3-Clause */
/* margo-info: prints a table of the transports that Margo can be opened with
 * here, each with the address of an instance, or the reason why it cannot be
 * opened. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "margo.h"

/* First argument of the program in the child of a trial, before the string. */
#define TRIAL_WORD "--try"

enum {
    TIMEOUT_MS = 30000, /* for one trial: MPI and some providers start slowly */
    TEXT_CAP = 8192,
    MS_PER_S = 1000,
    NS_PER_MS = 1000000
};

/* The output of a trial. */
struct output {
    char text[TEXT_CAP];
    size_t len;
};

static long long now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/* Reads more output, and keeps the last part of it. False: the end was reached.
 */
static bool output_read(struct output *output, int fd)
{
    ssize_t len = 0;

    if (output->len > TEXT_CAP / 2) {
        memmove(output->text, output->text + output->len / 2,
            output->len - output->len / 2);
        output->len -= output->len / 2;
    }
    len = read(fd, output->text + output->len, TEXT_CAP - 1 - output->len);
    if (len > 0)
        output->len += (size_t)len;
    return len > 0 || (len < 0 && errno == EINTR);
}

/* Copies the last line that is not empty; false: there is none. */
static bool output_last_line(struct output *output, char *ret_words, size_t cap)
{
    char *line = NULL;

    while (output->len > 0 &&
           strchr("\r\n ", output->text[output->len - 1]) != NULL)
        output->len--;
    output->text[output->len] = '\0';
    line = strrchr(output->text, '\n');
    line = line == NULL ? output->text : line + 1;
    (void)snprintf(ret_words, cap, "%.*s", (int)cap - 1, line);
    return output->len > 0;
}

/* Copies the first line with an error, which names the cause, or else the last
 * line. */
static bool output_first_error(
    struct output *output, char *ret_words, size_t cap)
{
    static const char mark[] = "error: ";
    static const char outlet[] = "cls: "; /* prefix of the library's lines */
    char *start = NULL;

    output->text[output->len] = '\0';
    start = strstr(output->text, mark);
    if (start == NULL)
        return output_last_line(output, ret_words, cap);
    start += strlen(mark);
    if (strncmp(start, outlet, strlen(outlet)) == 0)
        start += strlen(outlet);
    (void)snprintf(ret_words, cap, "%.*s", (int)strcspn(start, "\r\n"), start);
    return true;
}

/* Removes the variables of the launcher, so that MPI starts as a job of its
 * own: with them all trials would share a connection that the first closes. */
static void launcher_forget(void)
{
    static const char *const prefixes[] = {"PMI_", "PMI2_", "PMIX_", "PRTE_",
        "OMPI_COMM_WORLD_", "OMPI_MCA_ess", "OMPI_MCA_orte_"};
    char **at = environ;

    while (*at != NULL) {
        char *name = strndup(*at, strcspn(*at, "="));
        bool is_its = false;

        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
            is_its =
                is_its || strncmp(*at, prefixes[i], strlen(prefixes[i])) == 0;
        if (is_its && name != NULL && unsetenv(name) == 0)
            at = environ;
        else
            at++;
        free(name);
    }
}

/* Called in the child; never returns. */
static void child_run(const char *name, int out, int err)
{
    int nothing = open("/dev/null", O_RDONLY);

    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    launcher_forget();
    (void)setenv("HG_LOG_LEVEL", "error", 0);
    (void)setenv("MARGO_LOG_LEVEL", "error", 0);
    (void)execl("/proc/self/exe", "margo-info", TRIAL_WORD, name, (char *)NULL);
    fprintf(stderr, "cannot start a child process: %s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

/* Reads until both pipes are closed. False: that took too long. */
static bool child_read(struct output output[2], const int fds[2])
{
    struct pollfd polls[2] = {
        {.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
    long long deadline = now_ms() + TIMEOUT_MS;

    while (polls[0].fd >= 0 || polls[1].fd >= 0) {
        long long left = deadline - now_ms();

        if (left <= 0)
            return false;
        if (poll(polls, 2, (int)left) < 0 && errno != EINTR)
            return false;
        for (unsigned i = 0; i < 2; i++)
            if (polls[i].fd >= 0 && polls[i].revents != 0 &&
                !output_read(&output[i], polls[i].fd))
                polls[i].fd = -1;
    }
    return true;
}

/* The result of the child: its last line if it succeeded, else the reason. */
static bool child_result(
    struct output output[2], int status, char *ret_words, size_t cap)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS &&
        output_last_line(&output[0], ret_words, cap))
        return true;
    if (WIFSIGNALED(status))
        (void)snprintf(ret_words, cap, "killed by signal %d (%s)",
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!output_first_error(&output[1], ret_words, cap))
        (void)snprintf(ret_words, cap, "exit code %d", WEXITSTATUS(status));
    return false;
}

/* Tries an init string in a child process, which may crash or hang. True: the
 * string can be opened, and `ret_words` is the address; false: `ret_words` is
 * the reason. Takes at most 30 seconds. */
static bool trial_run(const char *name, char *ret_words, size_t cap)
{
    static struct output output[2];
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int status = 0;
    bool is_over = false;
    pid_t child = -1;

    memset(output, 0, sizeof(output));
    (void)snprintf(ret_words, cap, "no memory for a process");
    if (pipe(out) != 0)
        return false;
    if (pipe(err) == 0)
        child = fork();
    if (child == 0)
        child_run(name, out[1], err[1]);
    (void)close(out[1]);
    (void)close(err[1]);
    if (child > 0) {
        int fds[2] = {out[0], err[0]};

        is_over = child_read(output, fds);
        if (!is_over)
            (void)kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    (void)close(out[0]);
    (void)close(err[0]);
    if (child > 0 && !is_over)
        (void)snprintf(
            ret_words, cap, "not open after %d s", TIMEOUT_MS / MS_PER_S);
    return child > 0 && is_over && child_result(output, status, ret_words, cap);
}

enum { EXIT_USAGE = 2, NAME_CAP = 128, NAMES_MAX = 256, ADDRESS_CAP = 512 };

/* Init strings without duplicates. */
struct names {
    char names[NAMES_MAX][NAME_CAP];
    unsigned count;
};

static void usage(FILE *stream)
{
    fputs("margo-info [ADDRESS...]\n\n"
          "Opens an instance of Margo over each ADDRESS; default: over all "
          "that this build\noffers. Prints a table with the argument of "
          "margo_init(), and the address of the\ninstance or the reason why "
          "it cannot be opened.\n\n"
          "Exit code: 0: all ADDRESSes, or by default at least one, can be "
          "opened; 1: not;\n2: invalid arguments.\n",
        stream);
}

static void names_add(struct names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return;
    if (names->count < NAMES_MAX)
        (void)snprintf(names->names[names->count++], NAME_CAP, "%s", name);
}

/* Adds the protocols that HG lists for a query. */
static void names_query(struct names *names, const char *query)
{
    struct na_protocol_info *first = NULL;

    if (HG_Get_na_protocol_info(query, &first) != HG_SUCCESS)
        return;
    for (const struct na_protocol_info *at = first; at != NULL; at = at->next) {
        char name[NAME_CAP];

        /* The list says "na+self", which cannot be opened. */
        if (strcmp(at->protocol_name, "self") == 0)
            (void)snprintf(name, sizeof(name), "self");
        else
            (void)snprintf(
                name, sizeof(name), "%s+%s", at->class_name, at->protocol_name);
        names_add(names, name);
    }
    HG_Free_na_protocol_info(first);
}

/* Adds all protocols; the queries name the drivers in libraries of their own,
 * so that these are loaded. */
static void names_find(struct names *names)
{
    HG_Set_log_level("none");
    names_query(names, NULL);
    names_query(names, "ofi");
    names_query(names, "mpi");
}

/* Called in the child of a trial: prints the address as the last line. */
static int child_open(const char *name)
{
    margo_instance_id mid = margo_init(name, MARGO_SERVER_MODE, 0, 0);
    hg_addr_t self = HG_ADDR_NULL;
    char address[ADDRESS_CAP];
    hg_size_t len = sizeof(address);
    hg_return_t rc = HG_SUCCESS;

    if (mid == MARGO_INSTANCE_NULL)
        return EXIT_FAILURE;
    rc = margo_addr_self(mid, &self);
    if (rc == HG_SUCCESS)
        rc = margo_addr_to_string(mid, address, &len, self);
    (void)margo_addr_free(mid, self);
    margo_finalize(mid);
    if (rc != HG_SUCCESS) {
        fprintf(stderr, "no address: %s\n", HG_Error_to_string(rc));
        return EXIT_FAILURE;
    }
    printf("%s\n", address);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Tries all; returns how many can be opened. */
static unsigned names_try(const struct names *names)
{
    bool has_colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    const char *good = has_colour ? "\033[32m" : "";
    const char *bad = has_colour ? "\033[31m" : "";
    const char *plain = has_colour ? "\033[0m" : "";
    unsigned opened = 0;
    int width = (int)strlen("margo_init()");

    for (unsigned i = 0; i < names->count; i++)
        if ((int)strlen(names->names[i]) > width)
            width = (int)strlen(names->names[i]);
    printf("%-*s  %s\n", width, "margo_init()", "address, or reason");
    for (unsigned i = 0; i < names->count; i++) {
        char words[ADDRESS_CAP];
        bool is_open = trial_run(names->names[i], words, sizeof(words));

        printf("%s%-*s  %s%s%s\n", is_open ? good : bad, width, names->names[i],
            is_open ? "" : "no: ", words, plain);
        (void)fflush(stdout);
        opened += is_open;
    }
    return opened;
}

int main(int argc, char **argv)
{
    static struct names names;
    unsigned opened = 0;

    if (argc == 3 && strcmp(argv[1], TRIAL_WORD) == 0)
        return child_open(argv[2]);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return EXIT_SUCCESS;
        }
        if (argv[i][0] == '-' || argv[i][0] == '\0' ||
            strlen(argv[i]) >= NAME_CAP) {
            usage(stderr);
            return EXIT_USAGE;
        }
        names_add(&names, argv[i]);
    }
    if (argc == 1)
        names_find(&names);
    opened = names_try(&names);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("margo-info: stdout");
        return EXIT_FAILURE;
    }
    if (argc == 1)
        return opened > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    return opened == names.count ? EXIT_SUCCESS : EXIT_FAILURE;
}
