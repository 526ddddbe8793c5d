/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a class by each init string that it is given; "!TEXT" is one that must
 * be refused. */
#include <mercury.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int is_refused = argv[i][0] == '!';
        hg_class_t *hg_class = HG_Init(argv[i] + is_refused, HG_TRUE);

        if ((hg_class == NULL) != is_refused ||
            (hg_class != NULL && HG_Finalize(hg_class) != HG_SUCCESS)) {
            fprintf(stderr, "opens %s: %p\n", argv[i], (void *)hg_class);
            return 1;
        }
    }
    return argc > 1 ? 0 : 2;
}
