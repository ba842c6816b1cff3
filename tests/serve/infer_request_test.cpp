#include "serve/protocol/infer_request.h"

#include <gtest/gtest.h>

#include "serve/request_error.h"
#include "tests/serve/expect_refusal.h"

namespace sotta {
namespace {

using testing::expect_refusal;

// A request of two images of 1 x 2 pixels, with more JSON at three places.
std::string request_text(const std::string& parameters = "",
                         const std::string& data = "\"data\":[1,2,3,255]",
                         const std::string& more = "") {
  return R"({"parameters":{)" + parameters +
         R"(},"inputs":[{"name":"images","datatype":"UINT8","shape":[2,1,1,2],)" +
         data + "}]" + more + "}";
}

InferRequest parse(const std::string& body, const std::string& length = "",
                   const RequestLimits& limits = {}) {
  return parse_infer_request(body, length, limits);
}

void expect_bad(const std::string& part, const std::string& body,
                const std::string& length = "") {
  expect_refusal(HttpStatus::kBadRequest, part, [&] { parse(body, length); });
}

// One tensor of this type, shape and data.
std::string tensor_text(const std::string& type, const std::string& shape,
                        const std::string& data) {
  return R"({"inputs":[{"name":"images","datatype":")" + type +
         R"(","shape":)" + shape + R"(,"data":)" + data + "}]}";
}

TEST(InferRequest, ReadsEveryParameter) {
  const InferRequest request = parse(request_text(
      R"("sequence_id":"camera-7","seq":123,"adapt":false,"reset":true,
         "sequence_start":true,"sequence_end":true,"timeout":200000,
         "priority":1)",
      R"("data":[1,2,3,255])", R"(,"id":"f-123")"));

  EXPECT_EQ(request.id, "f-123");
  EXPECT_EQ(request.stream, "camera-7");
  EXPECT_EQ(request.seq, 123);
  EXPECT_FALSE(request.adapt);
  EXPECT_TRUE(request.reset);
  EXPECT_TRUE(request.sequence_end);
  EXPECT_EQ(request.timeout_us, 200000);
}

TEST(InferRequest, WithoutParametersTheSourceModelIsAskedForAllOutputs) {
  const InferRequest request = parse(request_text());

  EXPECT_EQ(request.stream, "");
  EXPECT_FALSE(request.seq.has_value());
  EXPECT_TRUE(request.adapt);
  EXPECT_FALSE(request.reset);
  ASSERT_EQ(request.outputs.size(), 4u);
  EXPECT_EQ(request.outputs[0].name, "logits");
  EXPECT_EQ(request.outputs[3].name, "verdict");
  EXPECT_FALSE(request.outputs[0].binary);
}

TEST(InferRequest, SequencesMayBeNumbersAndZeroIsNone) {
  EXPECT_EQ(parse(request_text(R"("sequence_id":18446744073709551615)")).stream,
            "18446744073709551615");
  EXPECT_EQ(parse(request_text(R"("sequence_id":0)")).stream, "");
  EXPECT_EQ(parse(request_text(R"("sequence_id":"")")).stream, "");
}

TEST(InferRequest, AContentTypeOfTheInputSaysNothing) {
  const auto with = [](const std::string& type) {
    return parse(request_text("", R"("data":[1,2,3,4],"parameters":)"
                                  R"({"content_type":)" +
                                      type + "}"));
  };

  EXPECT_EQ(with("\"np\"").images.data, std::string("\1\2\3\4"));
  expect_refusal(HttpStatus::kBadRequest, "content_type: expected",
                 [&] { with("7"); });
}

TEST(InferRequest, ReadsFlatAndNestedNumbers) {
  const std::string nested = R"("data":[[[[1,2]]],[[[3,255]]]])";

  const InferRequest flat = parse(request_text());
  const InferRequest tree = parse(request_text("", nested));

  EXPECT_EQ(flat.images.data, "\x01\x02\x03\xff");
  EXPECT_EQ(tree.images.data, flat.images.data);
  EXPECT_EQ(flat.images.shape, (std::vector<int64_t>{2, 1, 1, 2}));
}

TEST(InferRequest, ReadsFloatsBitForBit) {
  const InferRequest request =
      parse(tensor_text("FP32", "[1,1,1,2]", "[0.1,1]"));

  const float expected[] = {0.1f, 1.0f};
  EXPECT_EQ(request.images.type, TensorType::kFloat32);
  EXPECT_EQ(request.images.data,
            std::string(reinterpret_cast<const char*>(expected), 8));
}

TEST(InferRequest, TakesBinaryDataFromBehindTheJson) {
  const std::string json =
      request_text("", R"("parameters":{"binary_data_size":4})");

  const InferRequest request =
      parse(json + std::string("\0\x7f{\xff", 4), std::to_string(json.size()));

  EXPECT_EQ(request.images.data, std::string("\0\x7f{\xff", 4));
}

TEST(InferRequest, ReadsWhichOutputsAreWantedAndHow) {
  const InferRequest request = parse(request_text(
      R"("binary_data_output":true)", R"("data":[1,2,3,4])",
      R"(,"outputs":[{"name":"label","parameters":{"binary_data":false}},
                     {"name":"logits","parameters":{"classification":3}}])"));

  ASSERT_EQ(request.outputs.size(), 2u);
  EXPECT_EQ(request.outputs[0].name, "label");
  EXPECT_FALSE(request.outputs[0].binary);
  EXPECT_TRUE(request.outputs[1].binary);
  EXPECT_EQ(request.outputs[1].classification, 3);
}

TEST(InferRequest, RefusesEveryTruncation) {
  const std::string whole =
      request_text(R"("sequence_id":"a","seq":1)", R"("data":[1,2,3,255])",
                   R"(,"outputs":[{"name":"label"}])");

  for (size_t size = 0; size < whole.size(); ++size)
    expect_bad("expected JSON", whole.substr(0, size));
}

TEST(InferRequest, RefusesTruncatedBinaryData) {
  const std::string json =
      request_text("", R"("parameters":{"binary_data_size":4})");

  for (size_t size = 0; size < 4; ++size)
    expect_bad("binary_data_size", json + std::string(size, 'x'),
               std::to_string(json.size()));
  expect_bad("binary_data_size", json + "12345", std::to_string(json.size()));
  expect_bad("expected it, as there are bytes after", request_text() + "1234",
             std::to_string(request_text().size()));
}

TEST(InferRequest, RefusesHeaderLengthsThatAreNone) {
  for (const std::string length :
       {"99999999999", "99999999999999999999999", "-1", "+5", "0", "1e3", "12 ",
        " 12", "0x10", "nan"})
    expect_bad("Inference-Header-Content-Length", request_text(), length);
}

TEST(InferRequest, RefusesShapesThatAreNone) {
  for (const std::string shape :
       {"[-1,1,1,2]", "[0,1,1,2]", "[1,1,1]", "[1,1,1,1,2]", "[]", "2",
        "[1,1,1,2.0]", "[1,1,1,\"2\"]", "[1,1,1,null]",
        "[18446744073709551615,1,1,1]", "[1,9223372036854775808,1,1]",
        "[1,1,1,1e99]", "{\"0\":1}"})
    expect_bad("shape", tensor_text("UINT8", shape, "[1,2]"));
}

TEST(InferRequest, RefusesShapesWhoseProductOverflows) {
  for (const std::string shape :
       {"[4096,4096,4096,4096]",
        "[1,3,9223372036854775807,9223372036854775807]", "[5000,1,1,1]",
        "[1,1,9223372036854775807,1]", "[1,64,4096,4096]"})
    expect_refusal(HttpStatus::kTooLarge, "shape",
                   [&] { parse(tensor_text("FP32", shape, "[1]")); });
}

TEST(InferRequest, RefusesDataThatDoesNotFitTheShape) {
  const auto bytes = [](const std::string& data) {
    return tensor_text("UINT8", "[1,1,1,2]", data);
  };

  expect_bad("as many numbers", bytes("[1]"));
  expect_bad("no more numbers", bytes("[1,2,3]"));
  expect_bad("no more numbers", bytes("[[1,2],[[3]]]"));
  for (const std::string item : {"256", "-1", "1.5", "\"1\"", "null", "true",
                                 "18446744073709551615", "{}"})
    expect_bad("0 to 255", bytes("[1," + item + "]"));
  expect_bad("a list of numbers", bytes("7"));
  expect_bad("numbers as FP32", tensor_text("FP32", "[1,1,1,2]", "[1,\"x\"]"));
  expect_bad("got both", request_text("", R"("data":[1,2,3,4],
                                 "parameters":{"binary_data_size":4})"));
}

TEST(InferRequest, RefusesJsonNestedTooDeep) {
  const std::string open(100000, '['), close(100000, ']');

  expect_bad("nested", open + close);
  expect_bad("nested", request_text("", "\"data\":" + open + "1" + close));
  expect_bad("nested", open);
}

TEST(InferRequest, RefusesWhatIsTooLarge) {
  RequestLimits limits;
  limits.json_bytes = 50;
  expect_refusal(HttpStatus::kTooLarge, "bytes of JSON",
                 [&] { parse(request_text(), "", limits); });

  limits.body_bytes = 60;
  expect_refusal(HttpStatus::kTooLarge, "a body of at most 60",
                 [&] { parse(request_text(), "", limits); });
}

TEST(InferRequest, RefusesUnknownNamesWithTheNearestKnownOne) {
  expect_bad("did you mean \"adapt\"", request_text(R"("adpat":false)"));
  expect_bad("did you mean \"inputs\"", R"({"input":[]})");
  expect_bad("expected UINT8, FP32 or BYTES",
             tensor_text("INT64", "[1,1,1,1]", "[1]"));
  expect_bad("named \"images\"",
             R"({"inputs":[{"name":"x","datatype":"UINT8"}]})");
  expect_bad("logits, label", request_text("", "\"data\":[1,2,3,4]",
                                           R"(,"outputs":[{"name":"logit"}])"));
}

TEST(InferRequest, RefusesParametersOfOtherTypes) {
  expect_bad("seq: expected", request_text(R"("seq":-1)"));
  expect_bad("seq: expected", request_text(R"("seq":1.5)"));
  expect_bad("seq: expected", request_text(R"("seq":9223372036854775807)"));
  expect_bad("seq: expected", request_text(R"("seq":18446744073709551615)"));
  expect_bad("adapt: expected", request_text(R"("adapt":1)"));
  expect_bad("timeout: expected", request_text(R"("timeout":-5)"));
  expect_bad("timeout: expected",
             request_text(R"("timeout":9223372036854775807)"));
  expect_bad("sequence_id: expected", request_text(R"("sequence_id":-7)"));
  expect_bad("sequence_id: expected", request_text(R"("sequence_id":[1])"));
  expect_bad("stream: expected",
             request_text("\"sequence_id\":\"" + std::string(81, 'x') + "\""));
  expect_bad("stream: expected", request_text(R"("sequence_id":"a\u0000b")"));
  expect_bad("id: expected",
             request_text("", "\"data\":[1,2,3,4]", ",\"id\":7"));
}

TEST(InferRequest, RefusesOtherJsonInPlaceOfObjectsAndLists) {
  for (const std::string body :
       {"[]", "7", "null", "\"x\"", "{}", "\xff\xfe", "{\"inputs\":{}}",
        "{\"inputs\":[]}", "{\"inputs\":[7]}", "{\"parameters\":[]}"})
    expect_bad("expected", body);
  expect_bad("at most 4", request_text("", "\"data\":[1,2,3,4]",
                                       R"(,"outputs":[{},{},{},{},{}])"));
}

}  // namespace
}  // namespace sotta
