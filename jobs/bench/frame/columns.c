/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys that a row has in documents, in their order. */
#include "jobs/bench/frame/columns.h"

#define COLUMN(kind, key, member)                                              \
    {                                                                          \
        key, kind, offsetof(struct row, member)                                \
    }

const struct column columns[] = {
    COLUMN(COLUMN_TEXT, "bench", bench),
    COLUMN(COLUMN_TEXT, "transport", transport),
    COLUMN(COLUMN_TEXT, "via", via),
    COLUMN(COLUMN_TEXT, "cores", cores),
    COLUMN(COLUMN_TEXT, "op", op),
    COLUMN(COLUMN_SIZE, "size", size),
    COLUMN(COLUMN_COUNT, "window", window),
    COLUMN(COLUMN_COUNT, "threads", threads),
    COLUMN(COLUMN_COUNT, "ranks", ranks),
    COLUMN(COLUMN_COUNT, "peers", peers),
    COLUMN(COLUMN_TEXT, "memory", memory),
    COLUMN(COLUMN_TEXT, "unit", unit),
    COLUMN(COLUMN_NUMBER, "value", value),
    COLUMN(COLUMN_NUMBER, "p50_us", p50_us),
    COLUMN(COLUMN_NUMBER, "p99_us", p99_us),
    COLUMN(COLUMN_TEXT, "against", against),
    COLUMN(COLUMN_TEXT, "control", control),
    COLUMN(COLUMN_NUMBER, "control_value", control_value),
    COLUMN(COLUMN_NUMBER, "control_p50_us", control_p50_us),
    COLUMN(COLUMN_NUMBER, "control_p99_us", control_p99_us),
    COLUMN(COLUMN_NUMBER, "ratio", ratio),
    COLUMN(COLUMN_TEXT, "better", better),
    COLUMN(COLUMN_COUNT, "batches", batches),
    COLUMN(COLUMN_COUNT, "runs", runs),
    COLUMN(COLUMN_PAIR, "spread", spread),
    COLUMN(COLUMN_NUMBER, "control_spread", control_spread),
    COLUMN(COLUMN_NUMBER, "stolen", stolen),
    COLUMN(COLUMN_FLAG, "noisy", is_noisy),
};

const unsigned column_count = sizeof(columns) / sizeof(columns[0]);

static const void *member_of(const struct row *row, const struct column *column)
{
    return (const char *)row + column->offset;
}

const char *column_text(const struct row *row, const struct column *column)
{
    const char *const *text = member_of(row, column);

    return *text == NULL ? "" : *text;
}

double column_number(
    const struct row *row, const struct column *column, unsigned index)
{
    const void *member = member_of(row, column);

    switch (column->kind) {
    case COLUMN_SIZE:
        return (double)*(const size_t *)member;
    case COLUMN_COUNT:
        return (double)*(const unsigned *)member;
    case COLUMN_FLAG:
        return *(const bool *)member ? 1.0 : 0.0;
    default:
        return ((const double *)member)[index];
    }
}
