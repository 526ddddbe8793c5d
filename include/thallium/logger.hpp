/* SPDX-License-Identifier: BSD-3-Clause */
/* An interface by which programs receive the log lines of Margo. */
#ifndef THALLIUM_LOGGER_HPP
#define THALLIUM_LOGGER_HPP

#include <margo.h>
#include <thallium/exception.hpp>

namespace thallium
{

/**
 * Receives log lines, by one function for each level. A line has no line feed
 * at its end. Any thread calls the functions, also several threads at once.
 */
class logger
{
  public:
    /** Lines below the set level are dropped; level external drops no line. */
    enum class level {
        external = MARGO_LOG_EXTERNAL,
        trace = MARGO_LOG_TRACE,
        debug = MARGO_LOG_DEBUG,
        info = MARGO_LOG_INFO,
        warning = MARGO_LOG_WARNING,
        error = MARGO_LOG_ERROR,
        critical = MARGO_LOG_CRITICAL
    };

    virtual ~logger() = default;

    /** A line of level trace. */
    virtual void trace(const char *line) const = 0;

    /** A line of level debug. */
    virtual void debug(const char *line) const = 0;

    /** A line of level info. */
    virtual void info(const char *line) const = 0;

    /** A line of level warning. */
    virtual void warning(const char *line) const = 0;

    /** A line of level error. */
    virtual void error(const char *line) const = 0;

    /** A line of level critical. */
    virtual void critical(const char *line) const = 0;

    /**
     * Sets the logger for lines without an engine, and for engines that are
     * created afterwards. The logger stays the caller's and must live as long
     * as these engines. Throws exception if the pointer is null.
     */
    static void set_global_logger(logger *lines_to);

    /** Sets the lowest level for lines without an engine and later ones. */
    static void set_global_log_level(level lowest);
};

namespace detail
{

template <void (logger::*Function)(const char *) const>
inline void log_line(void *uargs, const char *line)
{
    (static_cast<const logger *>(uargs)->*Function)(line);
}

/* A logger of Margo that passes lines to *lines_to. */
inline margo_logger margo_logger_of(logger *lines_to)
{
    margo_logger result;

    if (lines_to == nullptr)
        throw exception("set_logger: the logger is null");
    result.uargs = lines_to;
    result.trace = &log_line<&logger::trace>;
    result.debug = &log_line<&logger::debug>;
    result.info = &log_line<&logger::info>;
    result.warning = &log_line<&logger::warning>;
    result.error = &log_line<&logger::error>;
    result.critical = &log_line<&logger::critical>;
    return result;
}

} /* namespace detail */

inline void logger::set_global_logger(logger *lines_to)
{
    margo_logger functions = detail::margo_logger_of(lines_to);

    if (margo_set_global_logger(&functions) != 0)
        throw exception("margo_set_global_logger failed");
}

inline void logger::set_global_log_level(level lowest)
{
    if (margo_set_global_log_level(static_cast<margo_log_level>(lowest)) != 0)
        throw exception("no log level ", static_cast<int>(lowest));
}

} /* namespace thallium */

#endif
