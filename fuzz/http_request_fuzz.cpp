#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "fuzz/fuzz_input.h"
#include "serve/http/request_headers.h"
#include "serve/http/target.h"
#include "serve/protocol/infer_request.h"
#include "serve/request_error.h"

namespace {

namespace http = boost::beast::http;

using Parser = http::request_parser<http::string_body>;

// Feeds the parser until `done` or it wants what is not there.
template <class Done>
bool read_until(Parser& parser, std::string_view& bytes, const Done& done) {
  while (!done()) {
    boost::system::error_code problem;
    const size_t used =
        parser.put(boost::asio::buffer(bytes.data(), bytes.size()), problem);
    bytes.remove_prefix(used);
    if (problem || (used == 0 && !done())) return false;
  }
  return true;
}

}  // namespace

// What a connection sends, request after request, as Session reads it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  while (!bytes.empty()) {
    Parser parser;
    parser.header_limit(1024);
    parser.body_limit(4096);
    if (!read_until(parser, bytes, [&] { return parser.is_header_done(); }))
      return 0;
    sotta::RequestHeaders headers;
    try {
      for (const auto& field : parser.get())
        sotta::add_header(headers, field.name_string(), field.value());
      sotta::check_framing(headers, parser.get().version() >= 11);
      parser.eager(true);
      if (!read_until(parser, bytes, [&] { return parser.is_done(); }))
        return 0;
      sotta::parse_target(std::string(parser.get().target()));
      sotta::parse_infer_request(
          parser.get().body(), headers["inference-header-content-length"], {});
    } catch (const sotta::RequestError&) {
    }
    if (!parser.is_done()) return 0;
  }
  return 0;
}
