#pragma once

#include <string>

namespace sotta {

// Plain text (UTF-8) as a format spells it, on one line: what stands in a name
// is never taken for markup.
std::string escape_markdown(const std::string& text);
std::string escape_latex(const std::string& text);
std::string escape_html(const std::string& text);  // and XML, in attributes too
std::string escape_url(const std::string& path);   // a link to a file
std::string one_line(const std::string& text);     // as it is, on one line
std::string escape_csv(const std::string& text);   // one field (RFC 4180)

}  // namespace sotta
