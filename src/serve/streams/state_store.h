#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/streams/request_journal.h"
#include "serve/streams/stream_state.h"

namespace sotta {

// A name as the name of a file: letters, digits, '-' and '_' stand for
// themselves, any other byte is '%' and two hexadecimal digits. Never empty,
// "." or "..", and never with a '/'. unescape_name() gives nothing for what
// escape_name() does not make.
std::string escape_name(const std::string& name);
std::optional<std::string> unescape_name(const std::string& escaped);

// A snapshot of a stream on disk. Snapshots are numbered from 1.
struct SnapshotEntry {
  int64_t number = 0;
  bool kept = false;  // asked for by a person, so kept for longer
};

// The files of one stream: snapshots, the journal of the requests since each,
// and damaged snapshots under another name. All members throw Error(kIo) when
// the system refuses. Not thread-safe.
//
//   0000000012.safetensors        snapshot 12, the newest or the one before
//   0000000007-kept.safetensors   snapshot 7, asked for
//   0000000012.journal            requests since snapshot 12
//   0000000011.damaged            was snapshot 11
class StreamFolder {
 public:
  explicit StreamFolder(std::filesystem::path path) : path_(std::move(path)) {}

  // Writes the next snapshot durably and returns its number. Then removes all
  // but the newest two and the newest kKept of those that are kept.
  int64_t save(const StreamState& state, bool keep = false);
  static constexpr size_t kKept = 16;

  struct Loaded {
    StreamState state;
    int64_t number = 0;
    std::vector<std::string> damaged;  // what is wrong with newer ones
  };
  // The newest snapshot that is whole; none if there is no whole one and none
  // was there. Newer ones that are damaged are put aside. Throws
  // Error(kBadFormat) if there are snapshots and all are damaged.
  std::optional<Loaded> load();

  // The requests since a snapshot, from its journal and those after it.
  std::vector<StreamRequest> requests_since(int64_t number) const;

  // A new journal for requests since the snapshot.
  std::unique_ptr<RequestJournal> start_journal(int64_t number) const;

  std::vector<SnapshotEntry> snapshots() const;  // the oldest first

  // Throws Error(kNotFound) if there is none of this number, and as
  // to_stream_state() does.
  StreamState read(int64_t number) const;

  bool exists() const { return std::filesystem::exists(path_); }
  void remove();

 private:
  std::filesystem::path file_of(const SnapshotEntry& entry) const;
  std::filesystem::path journal_of(int64_t number) const;
  StreamState read(const SnapshotEntry& entry) const;
  void remove_old() const;
  void set_aside(const SnapshotEntry& entry) const;

  std::filesystem::path path_;
};

// The folder that streams outlive the process in: DIR/streams/MODEL/STREAM,
// both names escaped. One process at a time may use it.
class StateStore {
 public:
  // Makes the folder if it is not there. Throws Error(kIo) if that fails,
  // Error(kInvalid) if another process uses it.
  explicit StateStore(std::filesystem::path root);
  ~StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  // Names of a model's streams that have anything on disk, sorted.
  std::vector<std::string> streams(const std::string& model) const;

  StreamFolder folder(const std::string& model,
                      const std::string& stream) const;

 private:
  std::filesystem::path root_;
  int lock_;
};

}  // namespace sotta
