#include "serve/http/request_log.h"

#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

namespace sotta {
namespace {

using Json = nlohmann::ordered_json;

// "2026-11-18T04:05:06.789Z"
std::string utc(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                      time.time_since_epoch())
                      .count();
  const std::time_t seconds = ms / 1000;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[32], whole[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(whole, sizeof whole, "%s.%03dZ", text,
                static_cast<int>(ms % 1000));
  return whole;
}

std::string dump(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double rounded(double milliseconds) {
  return static_cast<double>(static_cast<int64_t>(milliseconds * 1000)) / 1000;
}

}  // namespace

std::string to_json_line(const RequestLogEntry& entry) {
  Json line = {{"time", utc(entry.time)},
               {"event", "request"},
               {"client", entry.client},
               {"method", entry.method},
               {"path", entry.path},
               {"status", entry.status},
               {"bytes_in", entry.bytes_in},
               {"bytes_out", entry.bytes_out},
               {"ms", rounded(entry.milliseconds)}};
  if (!entry.token.empty()) line["token"] = entry.token;
  return dump(line);
}

std::string to_text_line(const RequestLogEntry& entry) {
  char figures[96];
  std::snprintf(figures, sizeof figures, " %d %lld %lld %.3f", entry.status,
                static_cast<long long>(entry.bytes_in),
                static_cast<long long>(entry.bytes_out), entry.milliseconds);
  return utc(entry.time) + " " + entry.client + " " +
         (entry.token.empty() ? "-" : entry.token) + " \"" + entry.method +
         " " + entry.path + "\"" + figures;
}

std::string to_json_line(std::chrono::system_clock::time_point time,
                         const std::string& warning) {
  return dump(
      {{"time", utc(time)}, {"event", "warning"}, {"message", warning}});
}

std::string path_of(const std::string& target) {
  return target.substr(0, target.find('?'));
}

}  // namespace sotta
