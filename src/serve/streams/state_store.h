#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/streams/answer_file.h"
#include "serve/streams/disk_quota.h"
#include "serve/streams/request_journal.h"
#include "serve/streams/snapshot_storage.h"
#include "serve/streams/stream_state.h"

namespace sotta {

// A name as the name of a file: letters, digits, '-' and '_' stand for
// themselves, any other byte is '%' and two hexadecimal digits. Never empty,
// "." or "..", and never with a '/'. unescape_name() gives nothing for what
// escape_name() does not make.
std::string escape_name(const std::string& name);
std::optional<std::string> unescape_name(const std::string& escaped);

// The files of one stream: snapshots, the journal of the requests since each,
// and damaged snapshots under another name. All members throw Error(kIo) when
// the system refuses. Not thread-safe.
//
//   0000000012.safetensors        snapshot 12
//   0000000007-kept.safetensors   snapshot 7, asked for
//   0000000009-left.safetensors   snapshot 9, left by a rollback or a reset
//   0000000012.journal            requests since snapshot 12
//   0000000003.answers            stored answers of snapshots from 3 on, where
//                                 they are many
//   0000000011.damaged            was snapshot 11
//   0000000012.journal.damaged    was the journal since snapshot 12
class StreamFolder : public SnapshotStorage {
 public:
  // Within a quota, if there is one.
  explicit StreamFolder(std::filesystem::path path, std::string stream = "",
                        std::shared_ptr<DiskQuota> quota = nullptr)
      : path_(std::move(path)),
        stream_(std::move(stream)),
        quota_(std::move(quota)) {}

  const std::string& stream() const override { return stream_; }

  // Then removes older ones: SnapshotRetention says which.
  int64_t save(const StreamState& state, bool keep = false) override;

  // Stored answers of more bytes are not part of each snapshot, but appended to
  // a file of their own.
  static constexpr size_t kMostAnswersInSnapshot = 4 << 10;

  std::optional<Loaded> load() override;
  void forget_saved() override { forgotten_ = true; }
  Journalled requests_since(int64_t number) const override;
  std::string set_journal_aside(int64_t number) const override;
  std::unique_ptr<RequestJournal> start_journal(int64_t number) const override;
  std::vector<SnapshotEntry> snapshots() const override;
  std::vector<SnapshotEntry> describe_snapshots() const override;

  // See StreamStore::find_saved(). Counts the requests in the journal too.
  std::optional<StreamStore::Saved> find_saved() const;
  void retain(int64_t number) override;

  // All of it at once: it takes a hidden name first, and what a crash leaves of
  // that is removed by the next StateStore. Where this throws, all is there.
  void remove() override;

 private:
  std::filesystem::path file_of(const SnapshotEntry& entry) const;
  std::filesystem::path journal_of(int64_t number) const;
  bool save_answers(const AnswerLog& answers, int64_t number);
  std::string load_answers(int64_t number, StreamState& state) const;
  std::optional<StateSummary> summary(const SnapshotEntry& entry) const;
  void remove_before(int64_t snapshot,
                     const std::vector<std::string>& names) const;
  StreamState read_snapshot(const SnapshotEntry& entry) const override;
  void set_aside(const SnapshotEntry& entry) const override;

  std::filesystem::path path_;
  std::string stream_;
  std::shared_ptr<DiskQuota> quota_;
  std::unique_ptr<AnswerFile> answers_;  // that this process appends to
  bool forgotten_ = false;
};

// The folder that streams outlive the process in: DIR/streams/MODEL/STREAM,
// both names escaped. One process at a time may use it.
class StateStore : public StreamStore {
 public:
  // Makes the folder if it is not there. Where its streams hold `most_bytes`,
  // unless that is 0, none can be saved. Throws Error(kIo) if it cannot be
  // made, Error(kInvalid) if another process uses it.
  explicit StateStore(std::filesystem::path root, int64_t most_bytes = 0);
  ~StateStore() override;
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  std::vector<std::string> streams(const std::string& model) const override;
  std::unique_ptr<StreamStorage> open(const std::string& model,
                                      const std::string& stream) const override;
  std::optional<Saved> find_saved(const std::string& model,
                                  const std::string& stream) const override;
  StreamFolder folder(const std::string& model,
                      const std::string& stream) const;

 private:
  void remove_leftovers() const;
  void measure_all() const;

  std::filesystem::path root_;
  std::shared_ptr<DiskQuota> quota_;
  int lock_;
};

}  // namespace sotta
