// A stream of `sotta serve` from C++ with Boost.Beast: client HOST PORT.
#include <cstdio>
#include <random>
#include <string>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <nlohmann/json.hpp>

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

constexpr int kImages = 16, kSide = 28;

// JSON, and the pixels behind it.
http::request<http::string_body> make_request(const std::string& host,
                                              int64_t seq) {
  std::mt19937 draw(static_cast<unsigned>(seq));
  std::string pixels(kImages * kSide * kSide, '\0');
  for (char& pixel : pixels)
    pixel = static_cast<char>(draw() & 0xFF);
  const nlohmann::json json = {
      {"parameters", {{"sequence_id", "camera-10"}, {"seq", seq}}},
      {"inputs",
       {{{"name", "images"},
         {"datatype", "UINT8"},
         {"shape", {kImages, 1, kSide, kSide}},
         {"parameters", {{"binary_data_size", pixels.size()}}}}}},
      {"outputs", {{{"name", "label"}}}}};
  const std::string text = json.dump();
  http::request<http::string_body> request(http::verb::post,
                                           "/v2/models/fashion/infer", 11);
  request.set(http::field::host, host);
  request.set("Inference-Header-Content-Length", std::to_string(text.size()));
  request.body() = text + pixels;
  request.prepare_payload();
  return request;
}

int main(int count, char** arguments) try {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s HOST PORT\n", arguments[0]);
    return 2;
  }
  boost::asio::io_context context;
  tcp::socket socket(context);
  boost::asio::connect(
      socket, tcp::resolver(context).resolve(arguments[1], arguments[2]));
  boost::beast::flat_buffer buffer;
  for (int64_t seq = 0; seq < 8;) {
    http::write(socket, make_request(arguments[1], seq));
    http::response<http::string_body> response;
    http::read(socket, buffer, response);
    const auto answer = nlohmann::json::parse(response.body());
    if (response.result() == http::status::conflict) {  // it stands elsewhere
      seq = answer.at("next_seq");
      continue;
    }
    if (response.result() != http::status::ok)
      throw std::runtime_error(answer.at("error").get<std::string>());
    std::printf("request %lld: %s\n", static_cast<long long>(seq),
                answer.at("outputs")[0].at("data").dump().c_str());
    seq = answer.at("parameters").at("next_seq");
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "client: %s\n", error.what());
  return 1;
}
