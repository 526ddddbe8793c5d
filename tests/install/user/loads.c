/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is not linked with Mercury, and loads it while it runs, as
 * scripts and plugins do: loads LIBRARY:FUNCTION... */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *first = NULL;

    for (int i = 1; i < argc; i++) {
        char *function = strchr(argv[i], ':');
        void *library;
        int (*version)(unsigned *, unsigned *, unsigned *);
        unsigned major = 0, minor, patch;

        if (function == NULL)
            return 2;
        *function++ = '\0';
        library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL || dlsym(library, function) == NULL) {
            fprintf(stderr, "%s: %s\n", argv[i], dlerror());
            return 1;
        }
        *(void **)&version = dlsym(library, "HG_Version_get");
        if (version == NULL || version(&major, &minor, &patch) != 0 ||
            major != 2)
            return 3;
        /* All are one library, with one state. */
        if (first != NULL && first != *(void **)&version)
            return 4;
        first = *(void **)&version;
    }
    return first != NULL ? 0 : 5;
}
