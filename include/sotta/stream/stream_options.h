#pragma once

#include <cstdint>
#include <string>

namespace sotta {

// What a stream is made of and in what order. Together with the datasets it is
// all that a stream depends on.
struct StreamOptions {
  // One of scenario_names().
  std::string scenario = "benign";

  // The foreign set, for scenarios that take a dataset: "name", "name:split" of
  // the catalogue, or "folder:PATH" with one folder per class. Empty: the
  // scenario's choice.
  std::string foreign;

  // Foreign samples; -1 means as many as target samples, as in the paper, which
  // also tries 5,000 to 20,000 beside 10,000. Without effect in a scenario
  // without foreign images.
  int64_t foreign_count = -1;

  // Instead of a count: which part of the stream is foreign, 0 to below 1.
  // 0 means that foreign_count says it.
  double foreign_share = 0;

  // Foreign samples come in runs of this many; 0 and 1 spread them evenly. Two
  // runs may follow one another by chance.
  int64_t burst = 0;

  // Target images, drawn from the set without replacement; 0 means all.
  int64_t limit = 0;

  // "shuffled", or "dirichlet": images of a class come close to one another.
  std::string order = "shuffled";

  // How evenly a class is spread over the dirichlet order's time slots: 0.01
  // puts nearly all of it in one, 100 spreads it evenly.
  double concentration = 0.1;

  // What happens to the target images: names of corruptions (or "clean") with
  // commas between, or "all" for the paper's fifteen; empty leaves them as they
  // are.
  std::string corruptions;

  // 1 (slight) to 5 (severe).
  int64_t severity = 5;

  // Seed of the corruptions themselves. Apart from `seed`, so that runs with
  // several seeds see the same images, as with the published files.
  int64_t corruption_seed = 0;

  // A folder with the photographs of the original frost; empty: textures with
  // their statistics.
  std::string frost_dir;

  // With several corruptions: "continual" gives all target images with the
  // first, then all with the second, each time with foreign_count foreign
  // samples; "mixed" gives every target image once, with a corruption of its
  // own.
  std::string domains = "continual";

  // Samples in a window. Changes nothing in the stream itself.
  int64_t window = 64;

  // Leaves out the last, partial window, as the published code does. Otherwise
  // it is part of the stream; adapters predict it and do not adapt on it.
  bool whole_windows = false;

  // Of every other random choice.
  int64_t seed = 0;

  // What changes only speed and memory: images that are read before they are
  // asked for. 0 reads in the caller's thread.
  int64_t read_ahead = 256;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scenario", scenario, "what else the stream holds, see `sotta info`");
    v("foreign", foreign, "foreign set: name, name:split or folder:PATH");
    v("foreign_count", foreign_count, "foreign samples, -1: as many as target");
    v("foreign_share", foreign_share, "or: foreign part of the stream, 0 to 1");
    v("burst", burst, "length of foreign runs, 0: spread evenly");
    v("limit", limit, "target images, 0 for all");
    v("order", order, "of the target images: shuffled or dirichlet");
    v("concentration", concentration,
      "dirichlet: small keeps classes together");
    v("corruptions", corruptions, "names with commas between, or all");
    v("severity", severity, "of the corruptions, 1 to 5");
    v("corruption_seed", corruption_seed, "of the corruptions' own draws");
    v("frost_dir", frost_dir, "folder with the frost photographs");
    v("domains", domains, "several corruptions: continual or mixed");
    v("window", window, "samples in a window");
    v("whole_windows", whole_windows, "leave out a last, partial window");
    v("seed", seed, "of every other random choice");
    v("read_ahead", read_ahead, "images read before they are asked for");
  }
};

// Throws Error(kInvalid) for the first field that is out of its range. Names of
// datasets and corruptions are checked where they are opened.
void validate(const StreamOptions& options);

}  // namespace sotta
