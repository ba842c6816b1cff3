#include <chrono>
#include <set>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "serve/http/http_client.h"

namespace sotta {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr uint64_t kMostBytes = uint64_t{1} << 32;  // of an answer

// Belong to one connection, or are written anew.
bool is_of_connection(const std::string& name) {
  static const std::set<std::string> names = {
      "connection", "content-length",    "expect",  "host",
      "keep-alive", "transfer-encoding", "upgrade", "te"};
  return names.count(name) > 0;
}

http::request<http::string_body> to_beast(const ServerAddress& server,
                                          const HttpRequest& request) {
  http::request<http::string_body> message;
  message.version(11);
  message.method_string(request.method);
  message.target(request.target);
  for (const auto& [name, value] : request.headers)
    if (!is_of_connection(name)) message.insert(name, value);
  const bool is_v6 = server.host.find(':') != std::string::npos;
  message.set(
      http::field::host,
      (is_v6 ? "[" + server.host + "]" : server.host) + ":" + server.port);
  message.set(http::field::connection, "close");
  message.body() = request.body;
  message.prepare_payload();
  return message;
}

HttpResponse from_beast(http::response<http::string_body> message) {
  HttpResponse response;
  response.status = message.result_int();
  response.type = std::string(message[http::field::content_type]);
  for (const auto& field : message)
    if (field.name() != http::field::content_type &&
        field.name() != http::field::content_length &&
        field.name() != http::field::connection &&
        field.name() != http::field::server &&
        field.name() != http::field::transfer_encoding)
      response.headers.emplace_back(field.name_string(), field.value());
  response.body = std::move(message.body());
  return response;
}

// One exchange: each step is started, then run to its end or its time.
class Exchange {
 public:
  HttpResponse run(const ServerAddress& server, const HttpRequest& request,
                   const ClientLimits& limits) {
    tcp::resolver resolver(io_);
    error_code problem;
    const auto places = resolver.resolve(server.host, server.port, problem);
    if (problem) throw NoAnswer(problem.message(), false);
    stream_.expires_after(std::chrono::milliseconds(limits.connect_ms));
    stream_.async_connect(
        places, [&](error_code result, const auto&) { problem = result; });
    finish_step(problem, false);
    auto message = to_beast(server, request);
    const auto deadline = Clock::now() + Milliseconds(limits.answer_ms);
    stream_.expires_at(deadline);
    http::async_write(stream_, message,
                      [&](error_code result, size_t) { problem = result; });
    // A server that refuses a body answers before it has read all of it.
    finish_step(ignored_, true);
    return read(problem, deadline, limits);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  HttpResponse read(error_code written, Clock::time_point deadline,
                    const ClientLimits& limits) {
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMostBytes);
    error_code problem;
    bool done = false;
    stream_.expires_never();
    http::async_read(stream_, buffer, parser, [&](error_code result, size_t) {
      problem = result;
      done = true;
    });
    io_.run_until(deadline);
    while (!done) {
      const int64_t more = limits.more_ms ? limits.more_ms() : 0;
      if (more > 0) {
        io_.run_for(Milliseconds(more));
        continue;
      }
      stream_.close();
      io_.run();
      if (problem) problem = beast::error::timeout;
    }
    if (problem) throw NoAnswer((written ? written : problem).message(), true);
    return from_beast(parser.release());
  }

  void finish_step(const error_code& problem, bool sent) {
    io_.run();
    io_.restart();
    if (problem)
      throw NoAnswer(problem.message(), sent,
                     problem == boost::asio::error::connection_refused);
  }

  asio::io_context io_{1};
  beast::tcp_stream stream_{io_};
  const error_code ignored_;
};

}  // namespace

HttpResponse send_request(const ServerAddress& server,
                          const HttpRequest& request,
                          const ClientLimits& limits) {
  return Exchange().run(server, request, limits);
}

}  // namespace sotta
