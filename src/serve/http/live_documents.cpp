#include "serve/http/live_documents.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "serve/http/event_hub.h"

namespace sotta {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Four digits behind the point: these are for charts.
double rounded(double value) {
  return std::isfinite(value) ? std::round(value * 1e4) / 1e4 : 0;
}

double milliseconds(double seconds) {
  return rounded(seconds * 1e3);
}

OrderedJson shares(const std::vector<float>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  OrderedJson list = OrderedJson::array();
  for (const float weight : weights)
    list.push_back(total > 0 ? rounded(weight / total) : 0);
  return list;
}

OrderedJson verdict_fields(const WindowFigures& window) {
  OrderedJson fields = OrderedJson::object();
  for (size_t i = 0; i < window.verdicts.size(); ++i)
    if (window.verdicts[i] > 0)
      fields[to_text(static_cast<Verdict>(i))] = window.verdicts[i];
  return fields;
}

// What is no number is null.
OrderedJson screen_fields(const WindowFigures& window) {
  const auto ratio = [](double value) {
    return std::isfinite(value) ? OrderedJson(rounded(value)) : OrderedJson();
  };
  return {{"closed", window.gate->closed},
          {"foreign", window.foreign},
          {"gap", rounded(window.gate->gap)},
          {"information", ratio(window.gate->information)},
          {"drift", ratio(window.gate->drift)}};
}

OrderedJson window_fields(const WindowFigures& window) {
  OrderedJson fields = {{"number", window.number},
                        {"images", window.images},
                        {"learnt", window.learnt},
                        {"guard", window.guard},
                        {"admitted_share", rounded(window.admitted_share())},
                        {"verdicts", verdict_fields(window)},
                        {"confidence", rounded(window.confidence)},
                        {"entropy", rounded(window.entropy)},
                        {"distance", rounded(window.distance)},
                        {"latency_ms", milliseconds(window.latency)},
                        {"update_ms", milliseconds(window.update_seconds)}};
  if (window.gate) fields["screen"] = screen_fields(window);
  return fields;
}

}  // namespace

OrderedJson summary_fields(const LiveSummary& summary) {
  return {{"windows", summary.windows},
          {"guard_trips", summary.guard_trips},
          {"admitted_share", rounded(summary.admitted_share)},
          {"confidence", rounded(summary.confidence)},
          {"entropy", rounded(summary.entropy)},
          {"distance", rounded(summary.distance)},
          {"latency_ms", milliseconds(summary.latency)}};
}

OrderedJson live_fields(const LiveFigures& figures) {
  const LiveFigures::Comparison& compared = figures.comparison();
  OrderedJson fields = summary_fields(figures.summary());
  fields["classes"] = shares(figures.classes());
  fields["source"] = {
      {"images", compared.images},
      {"agreement",
       compared.total > 0 ? rounded(compared.agreed / compared.total) : 0},
      {"classes", shares(compared.by_source)},
      {"own_classes", shares(compared.own)}};
  fields["recent"] = OrderedJson::array();
  for (const WindowFigures& window : figures.windows())
    fields["recent"].push_back(window_fields(window));
  return fields;
}

std::string event_text(const std::string& stream, const StreamEvent& event) {
  OrderedJson fields = {{"stream", stream}};
  if (event.window != nullptr)
    fields.update(window_fields(*event.window));
  else
    fields["detail"] = event.detail;
  return event_text(
      to_text(event.kind),
      fields.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

}  // namespace sotta
