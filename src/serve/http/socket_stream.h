#pragma once

#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "serve/http/tls.h"

namespace sotta {

// A connection whose bytes go over TCP as they are, or encrypted by TLS: what
// Beast calls an AsyncStream.
class SocketStream {
 public:
  using Tcp = boost::beast::tcp_stream;
  using executor_type = Tcp::executor_type;

  // With TLS if there is a context for it.
  SocketStream(boost::asio::ip::tcp::socket socket, const TlsContext& context) {
    if (context)
      emplace_tls(tls_, std::move(socket), context);
    else
      tcp_.emplace(std::move(socket));
  }

  // What lies below TLS: timeouts, and the socket.
  Tcp& next_layer() {
    return tls_ ? boost::beast::get_lowest_layer(*tls_) : *tcp_;
  }
  bool is_encrypted() const { return tls_.has_value(); }
  executor_type get_executor() { return next_layer().get_executor(); }

  // Calls the handler with what went wrong, at once where there is no TLS.
  template <class Handler>
  void async_handshake(Handler handler) {
    if (tls_)
      handshake(*tls_, std::move(handler));
    else
      handler({});
  }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    else
      tcp_->async_read_some(buffers, std::forward<Handler>(handler));
  }

  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    else
      tcp_->async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  std::optional<Tcp> tcp_;
  std::optional<TlsStream> tls_;
};

}  // namespace sotta
