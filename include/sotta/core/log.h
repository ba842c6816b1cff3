#pragma once

#include <functional>
#include <string>

namespace sotta {

enum class LogLevel { kInfo, kWarning };

// Receives every message of the library. May be called from several threads.
using LogSink = std::function<void(LogLevel, const std::string&)>;

// Installs the sink; an empty one silences the library, which is the default.
// Call it before other threads use the library.
void set_log_sink(LogSink sink);

void log(LogLevel level, const std::string& message);

}  // namespace sotta
