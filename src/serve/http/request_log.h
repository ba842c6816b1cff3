#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sotta {

// A request that was answered, as logs have it: nothing of bodies, headers or
// queries, which may hold images and secrets.
struct RequestLogEntry {
  std::chrono::system_clock::time_point time;  // of the answer
  std::string client;                          // "127.0.0.1:51234"
  std::string token;                           // its name; empty: none
  std::string method;
  std::string path;  // as it was sent, without a query
  int status = 0;
  int64_t bytes_in = 0, bytes_out = 0;  // of bodies
  double milliseconds = 0;              // since the header had come
};

// A line, without its end: a JSON object, or words for people.
std::string to_json_line(const RequestLogEntry& entry);
std::string to_text_line(const RequestLogEntry& entry);

// A warning as a JSON object in one line.
std::string to_json_line(std::chrono::system_clock::time_point time,
                         const std::string& warning);

// The target without its query.
std::string path_of(const std::string& target);

}  // namespace sotta
