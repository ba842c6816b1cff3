#include "serve/http/request_log.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sotta {
namespace {

RequestLogEntry entry() {
  RequestLogEntry entry;
  entry.time = std::chrono::system_clock::time_point(
      std::chrono::milliseconds(1700000000123));
  entry.client = "127.0.0.1:4242";
  entry.token = "gate";
  entry.method = "POST";
  entry.path = "/v2/models/m/infer";
  entry.status = 200;
  entry.bytes_in = 784;
  entry.bytes_out = 100;
  entry.milliseconds = 1.25;
  return entry;
}

TEST(RequestLog, ALineIsOneJsonObject) {
  const auto line = nlohmann::json::parse(to_json_line(entry()));

  EXPECT_EQ(line["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(line["event"], "request");
  EXPECT_EQ(line["client"], "127.0.0.1:4242");
  EXPECT_EQ(line["token"], "gate");
  EXPECT_EQ(line["path"], "/v2/models/m/infer");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["bytes_in"], 784);
  EXPECT_EQ(line["bytes_out"], 100);
  EXPECT_EQ(line["ms"], 1.25);
}

TEST(RequestLog, ALineIsWordsForPeople) {
  EXPECT_EQ(to_text_line(entry()),
            "2023-11-14T22:13:20.123Z 127.0.0.1:4242 gate "
            "\"POST /v2/models/m/infer\" 200 784 100 1.250");
}

TEST(RequestLog, WhatAClientSendsDoesNotEndALine) {
  RequestLogEntry hostile = entry();
  hostile.path = "/\"\n\xff\\";

  const std::string line = to_json_line(hostile);

  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST(RequestLog, QueriesAreLeftOut) {
  EXPECT_EQ(path_of("/v2/models/m?token=secret"), "/v2/models/m");
  EXPECT_EQ(path_of("/v2"), "/v2");
}

TEST(RequestLog, AWarningIsAnEvent) {
  const auto line =
      nlohmann::json::parse(to_json_line(entry().time, "a \"b\""));

  EXPECT_EQ(line["event"], "warning");
  EXPECT_EQ(line["message"], "a \"b\"");
}

}  // namespace
}  // namespace sotta
