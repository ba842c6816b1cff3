#include "sotta/core/log.h"

#include <utility>

namespace sotta {
namespace {

LogSink& installed_sink() {
  static LogSink sink;
  return sink;
}

}  // namespace

void set_log_sink(LogSink sink) {
  installed_sink() = std::move(sink);
}

void log(LogLevel level, const std::string& message) {
  if (installed_sink()) installed_sink()(level, message);
}

}  // namespace sotta
