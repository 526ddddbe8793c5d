/* SPDX-License-Identifier: BSD-3-Clause */
/* One ratio that is expected of all rows that are alike in some columns. */
#include "jobs/bench/frame/expectation.h"

#include <string.h>

#include "jobs/bench/frame/columns.h"

bool expectation_meets(
    const struct expectation *expectation, const struct row *row)
{
    for (unsigned i = 0; i < column_count; i++) {
        const struct column *column = &columns[i];

        if (!expectation->has[i])
            continue;
        if (column->kind == COLUMN_TEXT) {
            if (strcmp(expectation->texts[i], column_text(row, column)) != 0)
                return false;
        } else if (expectation->numbers[i] != column_number(row, column, 0)) {
            return false;
        }
    }
    return true;
}

bool expectation_holds(
    const struct expectation *expectation, const struct row *row, double slack)
{
    if (strcmp(row->better, "higher") == 0)
        return row->ratio >= expectation->ratio * (1.0 - slack);
    return row->ratio <= expectation->ratio * (1.0 + slack);
}

const char *expectation_text(
    const struct expectation *expectation, const char *key)
{
    for (unsigned i = 0; i < column_count; i++)
        if (strcmp(columns[i].key, key) == 0)
            return expectation->texts[i];
    return NULL;
}

void expectation_print(const struct expectation *expectation, FILE *stream)
{
    const char *comma = "";

    for (unsigned i = 0; i < column_count; i++) {
        if (!expectation->has[i])
            continue;
        if (columns[i].kind == COLUMN_TEXT)
            fprintf(stream, "%s%s %s", comma, columns[i].key,
                expectation->texts[i]);
        else
            fprintf(stream, "%s%s %.0f", comma, columns[i].key,
                expectation->numbers[i]);
        comma = ", ";
    }
}
