// Runs a stream of 224 x 224 photographs and noise, and prints what the process
// holds on its way, in MB.
//   stream_memory FOLDER [SAMPLES]
// FOLDER has one folder of JPEG files per class; fewer files than samples are
// read several times over.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <ATen/Parallel.h>
#include <unistd.h>

#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/stream/stream.h"

#include "core/peak_memory.h"
#include "data/sets/image_folder.h"

namespace {

double resident_megabytes() {
  long pages = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / 1e6
                   : 0;
}

double peak_megabytes() {
  return static_cast<double>(sotta::peak_memory_bytes()) / 1e6;
}

void run(const char* folder, int64_t samples) {
  using namespace sotta;  // a program of its own
  at::set_num_threads(static_cast<int>(available_cores()));
  StreamSources sources;
  sources.name = "photographs";
  const auto photographs = std::make_shared<ImageFolder>(folder);
  sources.domains = {{"clean", photographs}};
  sources.foreign = photographs;
  StreamOptions options;
  options.scenario = "near";
  options.foreign_count = std::max<int64_t>(0, samples - photographs->size());
  const auto plan = std::make_shared<const StreamPlan>(options, sources);
  Stream stream(plan, sources);
  const double start = resident_megabytes();
  std::printf("%9d samples: %6.0f MB\n", 0, start);
  for (int64_t tenth = 1; tenth <= 10; ++tenth) {
    while (stream.position() < tenth * stream.size() / 10)
      stream.next(options.window);
    std::printf("%9lld samples: %6.0f MB\n",
                static_cast<long long>(stream.position()),
                resident_megabytes());
    std::fflush(stdout);
  }
  std::printf("peak %.0f MB, %.0f MB over the start\n", peak_megabytes(),
              peak_megabytes() - start);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fputs("usage: stream_memory FOLDER [SAMPLES]\n", stderr);
    return 2;
  }
  run(argv[1], argc > 2 ? std::atoll(argv[2]) : 10000);
} catch (const sotta::Error& error) {
  std::fprintf(stderr, "stream_memory: %s\n", error.what());
  return 1;
}
