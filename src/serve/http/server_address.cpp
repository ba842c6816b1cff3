#include "sotta/core/error.h"

#include "serve/http/http_client.h"

namespace sotta {

ServerAddress parse_server_address(const std::string& url,
                                   const std::string& subject) {
  const std::string scheme = "http://";
  std::string rest = url.compare(0, scheme.size(), scheme) == 0
                         ? url.substr(scheme.size())
                         : "";
  if (!rest.empty() && rest.back() == '/') rest.pop_back();
  const size_t colon = rest.rfind(':');
  ServerAddress address;
  if (colon != std::string::npos) {
    address.host = rest.substr(0, colon);
    address.port = rest.substr(colon + 1);
  }
  if (address.host.size() > 2 && address.host.front() == '[' &&
      address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  const bool is_port =
      !address.port.empty() && address.port.size() <= 5 &&
      address.port.find_first_not_of("0123456789") == std::string::npos &&
      std::stoi(address.port) >= 1 && std::stoi(address.port) <= 65535;
  const bool is_host =
      !address.host.empty() &&
      address.host.find_first_of("/@?#[] ") == std::string::npos;
  require(is_port && is_host, subject, "expected http://HOST:PORT");
  return address;
}

}  // namespace sotta
