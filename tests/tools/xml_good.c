/* SPDX-License-Identifier: BSD-3-Clause */
/* A file is XML, as far as our pictures use it: xml_good FILE. */
#include <stdio.h>
#include <stdlib.h>

#include "file.h"
#include "xml.h"

int main(int argc, char **argv)
{
    char *text = argc == 2 ? file_read(argv[1]) : NULL;
    const char *wrong = text == NULL ? "cannot be read" : xml_check(text);

    if (wrong != NULL)
        fprintf(stderr, "xml_good: %s\n", wrong);
    free(text);
    return wrong != NULL;
}
