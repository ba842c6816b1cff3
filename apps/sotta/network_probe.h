#pragma once

#include <filesystem>

#include "sotta/models/weights.h"

namespace sotta::cli {

// TorchScript is code that LibTorch compiles and runs inside the process, a
// .pt2 file calls its operators, and there are archives it does not survive. So
// the program tries one out first: it starts itself again (`sotta
// probe-network`, not shown in the help) to load the network and run it forward
// and backward, and looks how that process ends. A process of its own, not a
// copy by fork(): LibTorch's libraries have threads from the start. Other files
// are not looked at.
//
// Throws Error(kBadFormat) if the process crashes, takes more than
// kProbeSeconds of processor time, or cannot load the network: then with its
// sentence, for where memory is read out of bounds a second attempt may end
// otherwise. Throws Error(kIo) if it cannot be started. A network that loads
// and cannot be run is left to whoever runs it, who knows device and images.
void probe_network(const std::filesystem::path& file,
                   const LoadOptions& options);

constexpr int kProbeSeconds = 60;

// What the other process does with the network: runs it on images of one size
// after another until one fits. Throws what the last of them gave.
void try_network(const Classifier& network);

}  // namespace sotta::cli
