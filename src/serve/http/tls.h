#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#if SOTTA_WITH_OPENSSL
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#endif

namespace sotta {

// TLS by OpenSSL; where it is not in the build, types that are never made.
#if SOTTA_WITH_OPENSSL
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;
using TlsStream = boost::beast::ssl_stream<boost::beast::tcp_stream>;

inline void emplace_tls(std::optional<TlsStream>& stream,
                        boost::asio::ip::tcp::socket socket,
                        const TlsContext& context) {
  stream.emplace(std::move(socket), *context);
}

template <class Handler>
void handshake(TlsStream& stream, Handler handler) {
  stream.async_handshake(boost::asio::ssl::stream_base::server,
                         std::move(handler));
}
#else
struct NoTls {};
using TlsContext = std::shared_ptr<NoTls>;
using TlsStream = boost::beast::tcp_stream;

inline void emplace_tls(std::optional<TlsStream>&, boost::asio::ip::tcp::socket,
                        const TlsContext&) {}

template <class Handler>
void handshake(TlsStream&, Handler) {}
#endif

// Reads a certificate chain and its key, PEM files; none if both names are
// empty. TLS 1.2 at the least. Throws Error: kInvalid for files that are none,
// do not belong together or need a password, kUnsupported if this build has no
// OpenSSL.
TlsContext open_tls(const std::string& certificate, const std::string& key);

}  // namespace sotta
