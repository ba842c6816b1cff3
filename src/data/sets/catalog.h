#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotta/data/dataset.h"

namespace sotta {

// How a dataset lies on disk.
enum class DatasetLayout {
  kCifar10,   // binary records: label, image
  kCifar100,  // binary records: coarse label, fine label, image
  kIdx,       // a file of images, a file of labels, each perhaps with .gz
  kFolders,   // one folder of JPEG or PNG files per class
  kNpy,       // one array of images per corruption, one of labels for all
};

// A file, or for kFolders a folder, as its publisher laid it out.
struct DatasetFile {
  // Under the data root. For kIdx without the ".gz" it may carry.
  std::string path;

  // What the file holds: its bytes, uncompressed; for kNpy the elements; for
  // kFolders the images.
  int64_t size = 0;

  // SHA-1 of those bytes, 40 hexadecimal digits; empty where none is known.
  std::string sha1;
};

struct DatasetSplit {
  std::string name;  // "train", "test", "val"
  std::vector<DatasetFile> files;
};

// All there is to know about a dataset without opening it.
struct DatasetEntry {
  std::string name;  // on the command line: "cifar10"
  DatasetLayout layout;
  int64_t classes;
  ImageShape shape;
  std::vector<DatasetSplit> splits = {};

  // The public name to get it under.
  std::string origin = {};

  // `sotta data get` can bring it.
  bool gettable = false;

  // Images come in all sizes: they are resized and cropped, not resized alone.
  bool mixed_sizes = false;

  // A folder outside the data root, where a system package puts the files;
  // empty if there is none.
  std::string system_folder = {};

  // Per channel, of pixels in [0, 1]: what models of this dataset subtract and
  // divide by.
  std::vector<double> mean = {};
  std::vector<double> std = {};
};

const std::vector<DatasetEntry>& known_datasets();

// Throws Error(kInvalid) for an unknown name, with the nearest known one.
const DatasetEntry& find_dataset(const std::string& name);

// "test" and "val" both name the split that models are evaluated on, whichever
// of the two the publisher called it. Throws Error(kInvalid) for an unknown
// split.
const DatasetSplit& find_split(const DatasetEntry& entry,
                               const std::string& split);

}  // namespace sotta
