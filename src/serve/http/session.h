#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "serve/http/event_writer.h"
#include "serve/http/message.h"
#include "serve/http/request_headers.h"
#include "serve/http/server.h"
#include "serve/http/socket_stream.h"
#include "serve/request_error.h"

namespace sotta {

class Session;

// What the connections of a server share. One thread uses it.
struct ServerContext {
  ServerContext(const ServerOptions& server_options, Service& server_service)
      : options(server_options), service(server_service) {}

  // Called when a connection has ended.
  void end_if_idle() {
    if (finishing && !stopped && begun == 0) stop_accepting();
    if (stopped && sessions.empty()) work.reset();
  }

  const ServerOptions options;
  Service& service;
  TlsContext tls;  // none: connections are not encrypted
  std::set<Session*> sessions;
  int64_t body_bytes = 0;  // that have come and are not answered

  // The end, in steps: connections close with their next answer; those that
  // wait for a request are closed; no more are accepted, once the requests that
  // had begun are answered. A balancer that found the port closed before might
  // take it for a crash, and give these up.
  bool draining = false, finishing = false, stopped = false;
  int64_t begun = 0;  // connections from before `finishing` that are open
  std::function<void()> stop_accepting;

  boost::asio::io_context io{1};  // sessions end with it at the latest

  // Keeps the loop from ending while a worker computes an answer.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work = boost::asio::make_work_guard(io);
};

// One connection: waits, reads a request, has it answered, writes; again.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, ServerContext& server);
  ~Session();

  // Shakes hands, if there is TLS, and waits for the first request.
  void start();

  // Unless a request is arriving or being answered.
  void close_if_waiting();

  // If it sends events: whoever reads them has to ask again, for the tokens may
  // be others.
  void end_events();

 private:
  using Problem = boost::system::error_code;

  void wait();
  void expire_after(int64_t seconds);
  void close();
  bool has_input();

  void on_first_bytes(Problem problem, size_t size);
  void read_header();
  void on_header(Problem problem, size_t size);
  void take_head();
  void send_continue();
  void read_body();
  void read_more();
  void on_more(Problem problem, size_t size);
  bool count_body();
  void release_body();

  void handle();
  void log_answer(const HttpResponse& response) const;
  void answer(HttpResponse response);
  void send_events(HttpResponse response);
  void answer_last(HttpResponse response);
  void refuse(const std::exception_ptr& problem);
  void refuse(HttpStatus status, const std::string& subject,
              const std::string& problem);
  void refuse_malformed(Problem problem);
  void on_written(Problem problem, size_t size);
  void linger();

  ServerContext& server_;
  SocketStream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<
      boost::beast::http::request_parser<boost::beast::http::string_body>>
      parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>>
      response_;
  std::optional<boost::beast::http::response<boost::beast::http::empty_body>>
      continue_;
  HttpRequest request_;  // the one that is being read
  RequestLogEntry log_entry_;
  std::chrono::steady_clock::time_point header_time_;
  int64_t body_bytes_ = 0;  // of the server's, this connection's
  bool keep_alive_ = false, is_head_ = false;
  bool is_http_1_1_ = true;  // else its client knows less
  const bool is_late_;       // began when the server was finishing
  bool waiting_ = true;      // nothing has come that is not answered
  bool is_partial_ = false;  // the request that is answered was not read whole
  std::weak_ptr<EventWriter<SocketStream>> events_;
};

}  // namespace sotta
