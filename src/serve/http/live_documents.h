#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "serve/streams/live_figures.h"
#include "serve/streams/stream_watch.h"

namespace sotta {

// What people who watch a stream see of it, as JSON; docs/serve.md says what
// each figure means.

// `live` in the status of one stream, and in a list of many.
nlohmann::ordered_json live_fields(const LiveFigures& figures);
nlohmann::ordered_json summary_fields(const LiveSummary& summary);

// One server-sent event.
std::string event_text(const std::string& stream, const StreamEvent& event);

}  // namespace sotta
