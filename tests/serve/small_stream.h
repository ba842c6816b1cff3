#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "serve/streams/served_stream.h"
#include "serve/streams/state_store.h"
#include "tests/adapt/small_adapter.h"
#include "tests/support/temp_dir.h"

namespace sotta::testing {

// A stream of small_adapter()s in a folder; made again, it is the same stream
// after a crash: whatever was not on disk is lost.
struct SmallStream {
  std::filesystem::path folder;
  std::string method = "sotta";
  bool journal = false;
  GuardOptions guard = {};

  std::unique_ptr<ServedStream> open() const {
    ServedStreamOptions options;
    options.identity = "small " + method;
    options.journal = journal;
    options.save_interval = kSmallWindow;
    return std::make_unique<ServedStream>(
        small_adapter(method, guard), std::make_unique<StreamFolder>(folder),
        options);
  }
};

// The golden stream in requests of these sizes, over and over.
inline std::vector<StreamRequest> small_requests(
    const std::vector<int64_t>& sizes, int64_t images) {
  const at::Tensor all = golden_stream();
  std::vector<StreamRequest> requests;
  for (int64_t begin = 0; begin < images;) {
    const int64_t end =
        std::min(images, begin + sizes[requests.size() % sizes.size()]);
    StreamRequest request;
    request.seq = static_cast<int64_t>(requests.size());
    request.images = all.slice(0, begin, end).contiguous();
    requests.push_back(request);
    begin = end;
  }
  return requests;
}

}  // namespace sotta::testing
