/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files as texts. */
#include "file.h"

#include <stdio.h>
#include <stdlib.h>

char *file_read(const char *path)
{
    enum { STEP = 65536 };
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t len = 0;
    size_t got = 0;

    if (file == NULL)
        return NULL;
    do {
        char *more = realloc(text, len + STEP + 1);

        if (more == NULL) {
            free(text);
            text = NULL;
            break;
        }
        text = more;
        got = fread(text + len, 1, STEP, file);
        len += got;
        text[len] = '\0';
    } while (got > 0);
    fclose(file);
    return text;
}
