#pragma once

namespace sotta {

// What a request needs and a token allows. Each allows what stands before it.
enum class Scope {
  kNone,     // whether the server runs, and pages without data
  kInfer,    // ask for answers; look at streams
  kControl,  // make, change and forget streams
  kAdmin,    // images that streams remember; models
};

}  // namespace sotta
