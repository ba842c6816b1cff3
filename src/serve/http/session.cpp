#include "serve/http/session.h"

#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "serve/http/error_response.h"
#include "serve/http/request_headers.h"
#include "serve/http/target.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kReadSize = 4096;
constexpr size_t kBufferLimit = 1 << 20;  // of what is read ahead
constexpr std::chrono::seconds kLinger{2};

// "127.0.0.1:51234" or "[::1]:51234".
std::string text_of(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace

Session::Session(tcp::socket socket, ServerContext& server)
    : server_(server),
      stream_(std::move(socket), server.tls),
      buffer_(kBufferLimit),
      is_late_(server.finishing) {
  server_.sessions.insert(this);
  if (!is_late_) ++server_.begun;
  error_code gone;
  const auto client = stream_.next_layer().socket().remote_endpoint(gone);
  if (!gone) log_entry_.client = text_of(client);
}

Session::~Session() {
  release_body();
  server_.sessions.erase(this);
  if (!is_late_) --server_.begun;
  server_.end_if_idle();
}

void Session::start() {
  expire_after(server_.options.header_seconds);
  stream_.async_handshake([self = shared_from_this()](error_code problem) {
    if (!problem) self->wait();
  });
}

void Session::wait() {
  waiting_ = true;
  is_partial_ = is_head_ = false;
  release_body();
  const bool ends = is_late_ ? server_.stopped : server_.finishing;
  if (ends && !has_input()) return close();
  log_entry_.method = log_entry_.path = "";
  header_time_ = std::chrono::steady_clock::now();
  parser_.emplace();
  parser_->header_limit(
      static_cast<uint32_t>(server_.options.max_header_bytes));
  parser_->body_limit(static_cast<uint64_t>(server_.options.max_body_bytes));
  if (buffer_.size() > 0) return read_header();
  expire_after(server_.options.idle_seconds);
  stream_.async_read_some(
      buffer_.prepare(kReadSize),
      beast::bind_front_handler(&Session::on_first_bytes, shared_from_this()));
}

void Session::close_if_waiting() {
  if (const auto events = events_.lock()) return events->stop();
  if (waiting_ && !has_input()) close();
}

// Of the next request. What came by TLS may be none of it.
bool Session::has_input() {
  error_code gone;
  return buffer_.size() > 0 ||
         (!stream_.is_encrypted() &&
          stream_.next_layer().socket().available(gone) > 0);
}

void Session::end_events() {
  if (const auto events = events_.lock()) events->stop();
}

void Session::expire_after(int64_t seconds) {
  stream_.next_layer().expires_after(std::chrono::seconds(seconds));
}

void Session::close() {
  error_code ignored;
  stream_.next_layer().socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.next_layer().close();
}

void Session::on_first_bytes(error_code problem, size_t size) {
  if (problem) return;
  buffer_.commit(size);
  read_header();
}

void Session::read_header() {
  waiting_ = false;
  expire_after(server_.options.header_seconds);
  http::async_read_header(
      stream_, buffer_, *parser_,
      beast::bind_front_handler(&Session::on_header, shared_from_this()));
}

void Session::on_header(error_code problem, size_t) {
  if (problem) return refuse_malformed(problem);
  try {
    take_head();
    check_framing(request_.headers, is_http_1_1_);
  } catch (const RequestError&) {
    return refuse(std::current_exception());
  }
  // Who may not ask need not send a body.
  if (!parser_->is_done())
    if (auto refused = server_.service.refuse_head(request_))
      return answer_last(std::move(*refused));
  // A client of HTTP/1.0 would take it for the answer.
  if (is_http_1_1_ &&
      beast::iequals(parser_->get()[http::field::expect], "100-continue"))
    return send_continue();
  read_body();
}

// Before the body, so that trailers are none of it.
void Session::take_head() {
  const auto& header = parser_->get();
  request_ = {};
  is_http_1_1_ = header.version() >= 11;
  // Answered as GET, without the body.
  is_head_ = header.method() == http::verb::head;
  log_entry_.method = std::string(header.method_string());
  request_.method = is_head_ ? "GET" : log_entry_.method;
  request_.target = std::string(header.target());
  log_entry_.path = path_of(request_.target);
  header_time_ = std::chrono::steady_clock::now();
  for (const auto& field : header)
    add_header(request_.headers, field.name_string(), field.value());
  to_origin_form(request_);
  log_entry_.path = path_of(request_.target);
}

// Bytes that have come count, not those that a header announces: slow clients
// keep nobody out.
bool Session::count_body() {
  const auto size = static_cast<int64_t>(parser_->get().body().size());
  server_.body_bytes += size - std::exchange(body_bytes_, size);
  return server_.body_bytes <= server_.options.max_bodies_bytes;
}

void Session::release_body() {
  server_.body_bytes -= std::exchange(body_bytes_, 0);
}

void Session::send_continue() {
  continue_.emplace(http::status::continue_, 11);
  http::async_write(stream_, *continue_,
                    [self = shared_from_this()](error_code problem, size_t) {
                      if (!problem) self->read_body();
                    });
}

void Session::read_body() {
  expire_after(server_.options.body_seconds);
  read_more();
}

void Session::read_more() {
  if (parser_->is_done()) return handle();
  http::async_read_some(
      stream_, buffer_, *parser_,
      beast::bind_front_handler(&Session::on_more, shared_from_this()));
}

void Session::on_more(error_code problem, size_t) {
  if (problem) return refuse_malformed(problem);
  if (!count_body())
    return refuse(HttpStatus::kTooMany, "server",
                  "too many bodies are being read");
  read_more();
}

void Session::handle() {
  auto message = parser_->release();
  keep_alive_ = message.keep_alive();
  request_.body = std::move(message.body());
  stream_.next_layer().expires_never();
  // The worker's reference goes with the answer: sessions end in this thread.
  server_.service.handle(
      std::move(request_),
      [self = shared_from_this()](HttpResponse response) mutable {
        const auto executor = self->stream_.get_executor();
        asio::post(executor, [self = std::move(self),
                              answer = std::move(response)]() mutable {
          self->answer(std::move(answer));
        });
      });
}

void Session::log_answer(const HttpResponse& response) const {
  if (!server_.options.log_request) return;
  RequestLogEntry entry = log_entry_;
  entry.time = std::chrono::system_clock::now();
  entry.token = response.caller;
  entry.status = response.status;
  entry.bytes_in = body_bytes_;
  entry.bytes_out = static_cast<int64_t>(response.body.size());
  entry.milliseconds = std::chrono::duration<double, std::milli>(
                           std::chrono::steady_clock::now() - header_time_)
                           .count();
  server_.options.log_request(entry);
}

void Session::answer(HttpResponse response) {
  log_answer(response);
  if (response.events && !is_head_) return send_events(std::move(response));
  response_.emplace(static_cast<http::status>(response.status), 11);
  response_->set(http::field::content_type, response.type);
  for (const auto& [name, value] : response.headers)
    response_->set(name, value);
  keep_alive_ = keep_alive_ && !server_.draining;
  response_->keep_alive(keep_alive_);
  // A client of HTTP/1.0 waits for the end otherwise.
  if (keep_alive_ && !is_http_1_1_)
    response_->set(http::field::connection, "keep-alive");
  response_->body() = std::move(response.body);
  response_->prepare_payload();
  if (is_head_) response_->body().clear();
  expire_after(server_.options.answer_seconds);
  http::async_write(
      stream_, *response_,
      beast::bind_front_handler(&Session::on_written, shared_from_this()));
}

// The connection serves nothing else from now on.
void Session::send_events(HttpResponse response) {
  if (server_.finishing) return close();
  std::string header = "HTTP/1.1 200 OK\r\nContent-Type: " + response.type +
                       "\r\nConnection: close\r\n";
  for (const auto& [name, value] : response.headers)
    header += name + ": " + value + "\r\n";
  release_body();
  const auto writer = std::make_shared<EventWriter<SocketStream>>(
      shared_from_this(), stream_, std::move(response.events),
      server_.options.answer_seconds);
  events_ = writer;
  writer->start(header + "\r\n");
}

// Of a request whose body is not going to be read.
void Session::answer_last(HttpResponse response) {
  keep_alive_ = false;
  is_partial_ = true;
  answer(std::move(response));
}

// What the service never sees.
void Session::refuse(const std::exception_ptr& problem) {
  HttpResponse response = error_response(problem);
  server_.service.count_refusal(response.status);
  answer_last(std::move(response));
}

void Session::refuse(HttpStatus status, const std::string& subject,
                     const std::string& problem) {
  refuse(std::make_exception_ptr(RequestError(status, subject, problem)));
}

void Session::on_written(error_code problem, size_t) {
  if (problem) return;
  response_.reset();
  if (keep_alive_) return wait();
  error_code ignored;
  stream_.next_layer().socket().shutdown(tcp::socket::shutdown_send, ignored);
  waiting_ = !is_partial_;
  stream_.next_layer().expires_after(kLinger);
  buffer_.clear();
  linger();
}

// A connection that is closed while its client still sends takes the answer
// with it: read on for a moment, below TLS, as nobody looks at it.
void Session::linger() {
  if (server_.finishing && !is_partial_) return close();
  stream_.next_layer().async_read_some(
      buffer_.prepare(kReadSize),
      [self = shared_from_this()](error_code problem, size_t) {
        if (!problem) self->linger();
      });
}

// What is no HTTP, or too large; silence where nothing or too little came.
void Session::refuse_malformed(error_code problem) {
  if (problem == http::error::body_limit)
    return refuse(HttpStatus::kTooLarge, "request",
                  "expected a body of at most " +
                      std::to_string(server_.options.max_body_bytes) +
                      " bytes");
  if (problem == http::error::header_limit)
    return refuse(HttpStatus::kTooLarge, "request",
                  "expected a header of at most " +
                      std::to_string(server_.options.max_header_bytes) +
                      " bytes");
  const bool is_content =
      problem.category() ==
          http::make_error_code(http::error::bad_method).category() &&
      problem != http::error::end_of_stream &&
      problem != http::error::partial_message;
  if (is_content)
    refuse(HttpStatus::kBadRequest, "request",
           "expected HTTP/1.1: " + problem.message());
}

}  // namespace sotta
