#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "sotta/core/error.h"

#include "serve/http/error_response.h"
#include "serve/http/server.h"
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

tcp::endpoint parse_listen(const std::string& text) {
  const auto refuse = [&](const std::string& problem) {
    fail(ErrorKind::kInvalid, "listen", problem);
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) refuse("expected ADDRESS:PORT");
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data() + colon + 1, end, port);
  if (bad != std::errc() || stop != end)
    refuse("expected a port from 0 to 65535");
  error_code problem;
  const auto address = asio::ip::make_address(host, problem);
  if (problem) refuse("expected the numbers of an address, got " + host);
  if (!address.is_loopback())
    refuse("expected a loopback address, as nobody is asked who they are");
  return {address, port};
}

HttpResponse refusal(HttpStatus status, const std::string& subject,
                     const std::string& problem) {
  return error_response(
      std::make_exception_ptr(RequestError(status, subject, problem)));
}

std::string lower_case(beast::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32)
                                          : letter;
  });
  return lower;
}

class Session;

// What the connections share. One thread uses it.
struct Shared {
  const ServerOptions options;
  Service& service;
  asio::io_context context{1};
  std::set<Session*> sessions;
  int64_t body_bytes = 0;
  bool draining = false;

  // Keeps run() from ending while a worker computes an answer.
  asio::executor_work_guard<asio::io_context::executor_type> work =
      asio::make_work_guard(context);

  Shared(const ServerOptions& server_options, Service& server_service)
      : options(server_options), service(server_service) {}

  void end_if_idle() {
    if (draining && sessions.empty()) work.reset();
  }
};

// One connection: waits, reads a request, has it answered, writes; again.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Shared& shared)
      : shared_(shared), stream_(std::move(socket)), buffer_(kBufferLimit) {
    shared_.sessions.insert(this);
  }
  ~Session() {
    release_body();
    shared_.sessions.erase(this);
    shared_.end_if_idle();
  }

  void wait() {
    answering_ = false;
    release_body();
    if (shared_.draining) return close();
    parser_.emplace();
    parser_->header_limit(
        static_cast<uint32_t>(shared_.options.max_header_bytes));
    parser_->body_limit(static_cast<uint64_t>(shared_.options.max_body_bytes));
    if (buffer_.size() > 0) return read_header();
    expire_after(shared_.options.idle_seconds);
    stream_.async_read_some(buffer_.prepare(kReadSize),
                            beast::bind_front_handler(&Session::on_first_bytes,
                                                      shared_from_this()));
  }

  // While no request is being answered: a person asked the server to end.
  void close_if_waiting() {
    if (!answering_) close();
  }

 private:
  void expire_after(int64_t seconds) {
    stream_.expires_after(std::chrono::seconds(seconds));
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  void on_first_bytes(error_code problem, size_t size) {
    if (problem) return;
    buffer_.commit(size);
    read_header();
  }

  void read_header() {
    expire_after(shared_.options.header_seconds);
    http::async_read_header(
        stream_, buffer_, *parser_,
        beast::bind_front_handler(&Session::on_header, shared_from_this()));
  }

  void on_header(error_code problem, size_t) {
    if (problem) return refuse_malformed(problem);
    const auto& header = parser_->get();
    if (header.find(http::field::content_encoding) != header.end())
      return answer_last(refusal(HttpStatus::kUnsupportedMedia,
                                 "Content-Encoding",
                                 "expected a body that is not compressed"));
    if (beast::iequals(header[http::field::expect], "100-continue"))
      return send_continue();
    read_body();
  }

  // Bytes that have come count, not those that a header announces: slow clients
  // keep nobody out.
  bool count_body() {
    const auto size = static_cast<int64_t>(parser_->get().body().size());
    shared_.body_bytes += size - std::exchange(body_bytes_, size);
    return shared_.body_bytes <= shared_.options.max_bodies_bytes;
  }

  void release_body() { shared_.body_bytes -= std::exchange(body_bytes_, 0); }

  void send_continue() {
    continue_.emplace(http::status::continue_, 11);
    http::async_write(stream_, *continue_,
                      [self = shared_from_this()](error_code problem, size_t) {
                        if (!problem) self->read_body();
                      });
  }

  void read_body() {
    expire_after(shared_.options.body_seconds);
    read_more();
  }

  void read_more() {
    if (parser_->is_done()) return handle();
    http::async_read_some(
        stream_, buffer_, *parser_,
        beast::bind_front_handler(&Session::on_more, shared_from_this()));
  }

  void on_more(error_code problem, size_t) {
    if (problem) return refuse_malformed(problem);
    if (!count_body())
      return answer_last(refusal(HttpStatus::kTooMany, "server",
                                 "too many bodies are being read"));
    read_more();
  }

  void handle() {
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message)
      request.headers[lower_case(field.name_string())] =
          std::string(field.value());
    request.body = std::move(message.body());
    stream_.expires_never();
    answering_ = true;
    // The worker's reference goes with the answer: sessions end in this thread.
    shared_.service.handle(
        std::move(request),
        [self = shared_from_this()](HttpResponse response) mutable {
          const auto executor = self->stream_.get_executor();
          asio::post(executor, [self = std::move(self),
                                answer = std::move(response)]() mutable {
            self->answer(std::move(answer));
          });
        });
  }

  void answer(HttpResponse response) {
    response_.emplace(static_cast<http::status>(response.status), 11);
    response_->set(http::field::content_type, response.type);
    for (const auto& [name, value] : response.headers)
      response_->set(name, value);
    keep_alive_ = keep_alive_ && !shared_.draining;
    response_->keep_alive(keep_alive_);
    response_->body() = std::move(response.body);
    response_->prepare_payload();
    if (is_head_) response_->body().clear();
    answering_ = true;
    expire_after(shared_.options.answer_seconds);
    http::async_write(
        stream_, *response_,
        beast::bind_front_handler(&Session::on_written, shared_from_this()));
  }

  // Of a request whose body is not going to be read.
  void answer_last(HttpResponse response) {
    keep_alive_ = false;
    answer(std::move(response));
  }

  void on_written(error_code problem, size_t) {
    if (problem) return;
    response_.reset();
    if (keep_alive_) return wait();
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    answering_ = false;
    stream_.expires_after(kLinger);
    buffer_.clear();
    linger();
  }

  // A connection that is closed while its client still sends takes the answer
  // with it: read on for a moment.
  void linger() {
    if (shared_.draining) return close();
    stream_.async_read_some(
        buffer_.prepare(kReadSize),
        [self = shared_from_this()](error_code problem, size_t) {
          if (!problem) self->linger();
        });
  }

  // What is no HTTP, or too large; silence where nothing or too little came.
  void refuse_malformed(error_code problem) {
    if (problem == http::error::body_limit)
      return answer_last(refusal(
          HttpStatus::kTooLarge, "request",
          "expected a body of at most " +
              std::to_string(shared_.options.max_body_bytes) + " bytes"));
    if (problem == http::error::header_limit)
      return answer_last(refusal(
          HttpStatus::kTooLarge, "request",
          "expected a header of at most " +
              std::to_string(shared_.options.max_header_bytes) + " bytes"));
    const bool is_content =
        problem.category() ==
            http::make_error_code(http::error::bad_method).category() &&
        problem != http::error::end_of_stream &&
        problem != http::error::partial_message;
    if (is_content)
      answer_last(refusal(HttpStatus::kBadRequest, "request",
                          "expected HTTP/1.1: " + problem.message()));
  }

  Shared& shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::optional<http::response<http::empty_body>> continue_;
  int64_t body_bytes_ = 0;
  bool keep_alive_ = false, is_head_ = false;
  bool answering_ = false;
};

}  // namespace

class HttpServer::Listener {
 public:
  Listener(const ServerOptions& options, Service& service)
      : shared_(options, service),
        acceptor_(shared_.context),
        signals_(shared_.context, SIGTERM, SIGINT) {
    const tcp::endpoint endpoint = parse_listen(options.listen);
    try {
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen();
    } catch (const boost::system::system_error& error) {
      fail(ErrorKind::kIo, "listen",
           options.listen + ": " + error.code().message());
    }
  }

  std::string address() const {
    const auto endpoint = acceptor_.local_endpoint();
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
           std::to_string(endpoint.port());
  }

  void run() {
    signals_.async_wait([this](error_code problem, int) {
      if (!problem) drain();
    });
    accept();
    shared_.context.run();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code problem, tcp::socket socket) {
      // One that was accepted just before drain() still comes here.
      if (shared_.draining || problem == asio::error::operation_aborted) return;
      const auto open = static_cast<int64_t>(shared_.sessions.size());
      if (!problem && open < shared_.options.max_connections) {
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        std::make_shared<Session>(std::move(socket), shared_)->wait();
      }
      accept();
    });
  }

  void drain() {
    shared_.draining = true;
    error_code ignored;
    acceptor_.close(ignored);
    // Closing one may end others' sessions, so not over the set itself.
    const std::vector<Session*> sessions(shared_.sessions.begin(),
                                         shared_.sessions.end());
    for (Session* session : sessions)
      session->close_if_waiting();
    shared_.end_if_idle();
  }

  Shared shared_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
};

void require_http_server() {}

HttpServer::HttpServer(const ServerOptions& options, Service& service)
    : listener_(std::make_unique<Listener>(options, service)) {}
HttpServer::~HttpServer() = default;

std::string HttpServer::address() const {
  return listener_->address();
}

void HttpServer::run() {
  listener_->run();
}

}  // namespace sotta
