/* SPDX-License-Identifier: BSD-3-Clause */
/* Patience with other ranks that a common step waits for. */
#include "base/patience.h"

#include "base/clock.h"
#include "base/env.h"

enum { PERIOD_MS_MIN = 100 }; /* so that a log is not flooded */

enum amg_patience_verdict amg_patience_look(struct amg_patience *patience)
{
    uint64_t now_ns = amg_clock_ns();
    uint64_t give_up_ms = amg_env_number(AMG_ENV_GIVE_UP);

    if (patience->start_ns == 0) {
        patience->start_ns = now_ns;
        patience->tell_ns =
            now_ns + amg_env_number(AMG_ENV_FINALIZE_TIMEOUT) * AMG_NS_PER_MS;
    }
    if (give_up_ms > 0 &&
        now_ns >= patience->start_ns + give_up_ms * AMG_NS_PER_MS)
        return AMG_PATIENCE_OVER;
    if (now_ns < patience->tell_ns)
        return AMG_PATIENCE_WAIT;
    patience->tell_ns = now_ns + (now_ns - patience->start_ns);
    if (patience->tell_ns < now_ns + PERIOD_MS_MIN * AMG_NS_PER_MS)
        patience->tell_ns = now_ns + PERIOD_MS_MIN * AMG_NS_PER_MS;
    return AMG_PATIENCE_TELL;
}
