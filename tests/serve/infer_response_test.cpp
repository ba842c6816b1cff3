#include "serve/protocol/infer_response.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "serve/request_error.h"

namespace sotta {
namespace {

InferResult two_images() {
  InferResult result;
  result.answer.seq = 123;
  result.answer.classes = 2;
  result.answer.logits = {0.1f, -2.0f, 1.0f, 1e-10f};
  result.answer.labels = {0, 0};
  result.answer.confidences = {0.75f, 0.5f};
  result.answer.verdicts = {Verdict::kAdmitted, Verdict::kLowConfidence};
  result.answer.updates = 1;
  result.next_seq = 124;
  result.durable_seq = 64;
  return result;
}

InferRequest asking_for(const std::vector<OutputRequest>& outputs) {
  InferRequest request;
  request.outputs = outputs;
  return request;
}

TEST(InferResponse, NamesTheStreamAndWhereItStands) {
  InferRequest request = asking_for({{"label"}});
  request.id = "f-123";
  request.stream = "camera-7";

  EXPECT_EQ(write_infer_response("fashion", request, two_images()).body,
            R"({"model_name":"fashion","model_version":"1","id":"f-123",)"
            R"("parameters":{"stream":"camera-7","seq":123,"next_seq":124,)"
            R"("durable_seq":64,"updates":1,"guard":""},)"
            R"("outputs":[{"name":"label","datatype":"INT64","shape":[2],)"
            R"("data":[0,0]}]})");
}

TEST(InferResponse, WhatIsNoNumberIsNull) {
  InferResult result = two_images();
  result.answer.logits[1] = std::nanf("");
  result.answer.logits[2] = HUGE_VALF;

  EXPECT_NE(write_infer_response("m", asking_for({{"logits"}}), result)
                .body.find(R"("data":[0.1,null,null,1e-10])"),
            std::string::npos);
}

TEST(InferResponse, SaysWhyAStreamIsFrozen) {
  InferRequest request = asking_for({{"label"}});
  request.stream = "a";
  InferResult result = two_images();
  result.frozen = "by request";

  const InferResponse response = write_infer_response("m", request, result);

  EXPECT_NE(response.body.find(R"("frozen":"by request")"), std::string::npos);
}

TEST(InferResponse, TheSourceModelsAnswersHaveNoStream) {
  const InferResponse response =
      write_infer_response("m", asking_for({{"verdict"}}), two_images());

  EXPECT_EQ(response.body,
            R"({"model_name":"m","model_version":"1",)"
            R"("outputs":[{"name":"verdict","datatype":"BYTES","shape":[2],)"
            R"("data":["admitted","low confidence"]}]})");
  EXPECT_EQ(response.json_length, 0u);
}

TEST(InferResponse, FloatsAreTheShortestTextOfTheirBits) {
  const InferResponse response =
      write_infer_response("m", asking_for({{"logits"}}), two_images());

  EXPECT_NE(response.body.find(R"("shape":[2,2],"data":[0.1,-2.0,1.0,1e-10])"),
            std::string::npos)
      << response.body;
}

TEST(InferResponse, BinaryOutputsFollowTheJsonInTheirOrder) {
  const InferResult result = two_images();

  const InferResponse response = write_infer_response(
      "m",
      asking_for({{"confidence", true}, {"label", false}, {"verdict", true}}),
      result);

  const std::string json = response.body.substr(0, response.json_length);
  const std::string binary = response.body.substr(response.json_length);
  EXPECT_EQ(json.back(), '}');
  EXPECT_NE(json.find(R"("parameters":{"binary_data_size":8})"),
            std::string::npos);
  EXPECT_NE(json.find(R"("parameters":{"binary_data_size":30})"),
            std::string::npos);
  EXPECT_EQ(std::memcmp(binary.data(), result.answer.confidences.data(), 8), 0);
  EXPECT_EQ(binary.substr(8), std::string("\x08\0\0\0admitted"
                                          "\x0e\0\0\0low confidence",
                                          30));
}

TEST(InferResponse, ClassificationListsTheBestClassesFirst) {
  const InferResponse response = write_infer_response(
      "m", asking_for({{"logits", false, 5}}), two_images());

  EXPECT_NE(response.body.find(
                R"("datatype":"BYTES","shape":[2,2],"data":["0.100000:0",)"
                R"("-2.000000:1","1.000000:0","0.000000:1"])"),
            std::string::npos)
      << response.body;
}

TEST(WriteError, IsOneSentenceAndTheNextRequestWhereOneIsExpected) {
  RequestError error(HttpStatus::kConflict, "seq", "expected 7, got 9");
  EXPECT_EQ(write_error(error), R"({"error":"seq: expected 7, got 9"})");

  error.next_seq = 7;
  EXPECT_EQ(write_error(error),
            R"({"error":"seq: expected 7, got 9","next_seq":7})");
}

TEST(WriteError, BytesThatAreNoTextAreReplaced) {
  const RequestError error(HttpStatus::kBadRequest, "a\xff", "b\"c");

  EXPECT_EQ(write_error(error), "{\"error\":\"a\xEF\xBF\xBD: b\\\"c\"}");
}

}  // namespace
}  // namespace sotta
