/* SPDX-License-Identifier: BSD-3-Clause */
/* Thallium: the C++ API of Margo and Argobots. Includes all headers of thallium
 * but those of serialization/stl: a program includes the headers of the types
 * that its arguments have. */
#ifndef THALLIUM_HPP
#define THALLIUM_HPP

#include <thallium/config.hpp>

#include <margo.h>

#include <thallium/abt.hpp>
#include <thallium/abt_errors.hpp>
#include <thallium/anonymous.hpp>
#include <thallium/async_bulk_op.hpp>
#include <thallium/async_response.hpp>
#include <thallium/auto_respond.hpp>
#include <thallium/barrier.hpp>
#include <thallium/bulk.hpp>
#include <thallium/bulk_mode.hpp>
#include <thallium/bulk_segment.hpp>
#include <thallium/callable_remote_procedure.hpp>
#include <thallium/condition_variable.hpp>
#include <thallium/endpoint.hpp>
#include <thallium/engine.hpp>
#include <thallium/eventual.hpp>
#include <thallium/exception.hpp>
#include <thallium/function_util.hpp>
#include <thallium/future.hpp>
#include <thallium/logger.hpp>
#include <thallium/managed.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/margo_instance_ref.hpp>
#include <thallium/mutex.hpp>
#include <thallium/packed_data.hpp>
#include <thallium/pool.hpp>
#include <thallium/proc_object.hpp>
#include <thallium/provider.hpp>
#include <thallium/provider_handle.hpp>
#include <thallium/recursive_mutex.hpp>
#include <thallium/reference_util.hpp>
#include <thallium/remote_bulk.hpp>
#include <thallium/remote_procedure.hpp>
#include <thallium/request.hpp>
#include <thallium/rwlock.hpp>
#include <thallium/scheduler.hpp>
#include <thallium/self.hpp>
#include <thallium/serialization/serialize.hpp>
#include <thallium/task.hpp>
#include <thallium/thread.hpp>
#include <thallium/timed_callback.hpp>
#include <thallium/timed_remote_bulk.hpp>
#include <thallium/timeout.hpp>
#include <thallium/timer.hpp>
#include <thallium/tuple_util.hpp>
#include <thallium/unit_type.hpp>
#include <thallium/xstream.hpp>
#include <thallium/xstream_barrier.hpp>

#endif
