/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads: the whole API of Argobots 1.2. */
#ifndef ABT_H
#define ABT_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "abt_errors.h"
#include "abt_types.h"
#include "abt_init.h"
#include "abt_xstream.h"
#include "abt_sched.h"
#include "abt_pool.h"
#include "abt_pool_def.h"
#include "abt_thread.h"
#include "abt_thread_info.h"
#include "abt_thread_attr.h"
#include "abt_self.h"
#include "abt_task.h"
#include "abt_key.h"
#include "abt_mutex.h"
#include "abt_sync.h"
#include "abt_eventual.h"
#include "abt_info.h"
#include "abt_tool.h"

#endif
