#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sotta {

using RequestHeaders = std::map<std::string, std::string>;

// Adds a field: its name in lower case. One that is there twice has both
// values, as RFC 9110 says: nobody chooses one of them. But Sotta-Stream, whose
// value may hold commas: throws RequestError(kBadRequest) for two that differ.
void add_header(RequestHeaders& headers, std::string_view name,
                std::string_view value);

// Throws RequestError(kBadRequest) for a transfer coding other than chunked,
// and for any in a request of HTTP/1.0, which knows none: a proxy in front may
// take them for another end of the body than we do.
void check_framing(const RequestHeaders& headers, bool is_http_1_1 = true);

}  // namespace sotta
