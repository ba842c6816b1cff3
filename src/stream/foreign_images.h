#pragma once

#include <memory>

#include "sotta/stream/stream_options.h"
#include "sotta/stream/stream_sources.h"

namespace sotta {

// The images that the scenario's foreign samples are drawn from, in the shape
// of the target's; null if they are none, or copies of target images.
std::shared_ptr<const Dataset> foreign_images(const StreamOptions& options,
                                              const StreamSources& sources);

}  // namespace sotta
