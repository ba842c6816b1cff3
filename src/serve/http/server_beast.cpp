#include <charconv>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sotta/core/error.h"
#include "sotta/core/log.h"

#include "serve/http/server.h"
#include "serve/http/session.h"

namespace sotta {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kPause{100};

tcp::endpoint parse_listen(const ServerOptions& options) {
  const std::string& text = options.listen;
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
  if (!address.is_loopback() && !options.asks_for_tokens)
    refuse("expected a loopback address, as without --tokens anyone may ask");
  return {address, port};
}

}  // namespace

class HttpServer::Listener {
 public:
  Listener(const ServerOptions& options, Service& service)
      : server_(options, service),
        acceptor_(server_.io),
        signals_(server_.io, SIGTERM, SIGINT),
        hangup_(server_.io, SIGHUP),
        pause_(server_.io),
        grace_(server_.io) {
    server_.stop_accepting = [this] { stop(); };
    server_.tls = open_tls(options.tls_certificate, options.tls_key);
    const tcp::endpoint endpoint = parse_listen(options);
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
    const std::string scheme = server_.tls ? "https://" : "http://";
    return scheme + (endpoint.address().is_v6() ? "[" + host + "]" : host) +
           ":" + std::to_string(endpoint.port());
  }

  void run() {
    wait_for_end();
    wait_for_hangup();
    accept();
    try {
      server_.io.run();
    } catch (...) {
      // Workers answer into this server while it is there.
      server_.service.drain();
      server_.finishing = server_.stopped = false;  // sessions end, no loop
      throw;
    }
  }

 private:
  // The first signal begins the time of drain_seconds, the second ends it.
  void wait_for_end() {
    signals_.async_wait([this](error_code problem, int) {
      if (problem || server_.finishing) return;
      if (server_.draining) return finish();
      drain();
      if (!server_.finishing) wait_for_end();
    });
  }

  // Caught always: otherwise it would end the process.
  void wait_for_hangup() {
    hangup_.async_wait([this](error_code problem, int) {
      if (problem || server_.stopped) return;
      if (server_.options.reload || server_.tls)
        reload();
      else
        log(LogLevel::kWarning, "SIGHUP: there is nothing to read again");
      wait_for_hangup();
    });
  }

  void reload() {
    if (server_.options.reload) server_.options.reload();
    for (Session* session : sessions())
      session->end_events();
    if (server_.tls) reload_tls();
  }

  // Connections that are open keep the certificate they began with.
  void reload_tls() {
    try {
      server_.tls =
          open_tls(server_.options.tls_certificate, server_.options.tls_key);
    } catch (const Error& error) {
      log(LogLevel::kWarning,
          first_line(error) + "; the certificate stays as it was");
    }
  }

  void accept() {
    acceptor_.async_accept([this](error_code problem, tcp::socket socket) {
      // One that was accepted just before stop() still comes here.
      if (!problem) begin(std::move(socket));
      if (server_.stopped || problem == asio::error::operation_aborted) return;
      if (problem) return accept_later();
      accept();
    });
  }

  void begin(tcp::socket socket) {
    const auto open = static_cast<int64_t>(server_.sessions.size());
    if (open >= server_.options.max_connections) return;
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::make_shared<Session>(std::move(socket), server_)->start();
  }

  // The system has no descriptor or memory for another connection now, and
  // would say so again at once.
  void accept_later() {
    pause_.expires_after(kPause);
    pause_.async_wait([this](error_code problem) {
      if (!problem && !server_.stopped) accept();
    });
  }

  // Closing one may end others' sessions, so not over the set itself.
  std::vector<Session*> sessions() const {
    return {server_.sessions.begin(), server_.sessions.end()};
  }

  void drain() {
    server_.draining = true;
    server_.service.begin_drain();
    if (server_.options.drain_seconds == 0) return finish();
    grace_.expires_after(std::chrono::seconds(server_.options.drain_seconds));
    grace_.async_wait([this](error_code problem) {
      if (!problem && !server_.finishing) finish();
    });
  }

  void finish() {
    server_.finishing = true;
    close_waiting();
    server_.end_if_idle();
  }

  void close_waiting() {
    for (Session* session : sessions())
      session->close_if_waiting();
  }

  void stop() {
    server_.stopped = true;
    accept_waiting();
    error_code ignored;
    acceptor_.close(ignored);
    signals_.cancel(ignored);
    hangup_.cancel(ignored);
    pause_.cancel();
    grace_.cancel();
    close_waiting();
  }

  // Connections that the system has made already: closing the acceptor would
  // reset them, whatever they have sent.
  void accept_waiting() {
    error_code problem;
    acceptor_.non_blocking(true, problem);
    while (!problem) {
      tcp::socket socket = acceptor_.accept(problem);
      if (!problem) begin(std::move(socket));
    }
  }

  ServerContext server_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_, hangup_;
  asio::steady_timer pause_, grace_;
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
