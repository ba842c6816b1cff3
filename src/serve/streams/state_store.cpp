#include "serve/streams/state_store.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "core/output_place.h"
#include "serve/percent_decode.h"

namespace sotta {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSnapshot = ".safetensors";
constexpr const char* kJournal = ".journal";
constexpr const char* kAnswers = ".answers";
constexpr const char* kDamaged = ".damaged";
constexpr const char* kRemoved = ".removed-";  // no stream's name
constexpr size_t kDigits = 10;

bool is_plain(unsigned char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
}

std::string file_name(int64_t number, const std::string& ending) {
  const std::string digits = std::to_string(number);
  const size_t zeros = digits.size() < kDigits ? kDigits - digits.size() : 0;
  return std::string(zeros, '0') + digits + ending;
}

// The number of a file of this ending; 0 if it is another one, or no snapshot
// can have come so far.
int64_t number_of(const std::string& name, const char* ending) {
  int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data(), end, number);
  return problem == std::errc() && number > 0 && number <= kHighestSnapshot &&
                 name == file_name(number, ending)
             ? number
             : 0;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::is_directory(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

// What crashes have left of snapshots in a folder that nobody else writes to;
// whether there was any. The next writer of a name would keep what seems to be
// a living process's, and in a container the one that was killed had the number
// of this one; and many a name, as that of a snapshot that was asked for, never
// comes again.
bool remove_partial(const fs::path& folder) {
  bool any = false;
  for (const std::string& name : names_in(folder)) {
    if (!is_partial_file(name)) continue;
    std::error_code left_for_later;
    fs::remove(folder / name, left_for_later);
    any = true;
  }
  return any;
}

// Of the files of this ending, the lowest first.
std::vector<int64_t> numbers_among(const std::vector<std::string>& names,
                                   const char* ending) {
  std::vector<int64_t> numbers;
  for (const std::string& name : names)
    if (const int64_t number = number_of(name, ending))
      numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string snapshot_name(const SnapshotEntry& entry) {
  return file_name(entry.number, ending_of(entry) + std::string(kSnapshot));
}

// When it was written, in milliseconds since 1970.
std::optional<int64_t> time_of(const fs::path& file) {
  struct stat found = {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return int64_t{found.st_mtim.tv_sec} * 1000 + found.st_mtim.tv_nsec / 1000000;
}

}  // namespace

std::string escape_name(const std::string& name) {
  std::string escaped;
  for (const unsigned char letter : name) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", letter);
    escaped += is_plain(letter) ? std::string(1, static_cast<char>(letter))
                                : std::string(code);
  }
  return escaped.empty() ? "%" : escaped;
}

std::optional<std::string> unescape_name(const std::string& escaped) {
  const auto name = percent_decode(escaped);
  const bool is_ours = name && !name->empty() && escape_name(*name) == escaped;
  return is_ours ? name : std::nullopt;
}

fs::path StreamFolder::file_of(const SnapshotEntry& entry) const {
  return path_ / snapshot_name(entry);
}

fs::path StreamFolder::journal_of(int64_t number) const {
  return path_ / file_name(number, kJournal);
}

int64_t StreamFolder::save(const StreamState& state, bool keep) {
  if (quota_) quota_->require_room(path_);
  make_folder_durably(path_);
  const auto names = names_in(path_);
  auto all = snapshots_among(names, snapshot_name);
  int64_t last = all.empty() ? 0 : all.back().number;
  for (const std::string& name : names)  // never a number again
    last = std::max(last, number_of(name, kDamaged));
  const SnapshotEntry entry{last + 1, keep};
  const bool apart = save_answers(state.answers, entry.number);
  const TensorFile file = to_tensor_file(state, /*with_answers=*/!apart);
  write_safetensors(file_of(entry), file);
  const SnapshotEntry* plain = newest_plain(all);
  const auto before = plain ? summary(*plain) : std::nullopt;
  const bool repeats =
      before && before->adapter == summary_of(file, stream_).adapter;
  for (const SnapshotEntry& old : add_snapshot(entry, repeats, {}, all))
    fs::remove(file_of(old));
  remove_before(all[all.size() < 2 ? 0 : all.size() - 2].number, names);
  if (quota_) quota_->measure(path_);
  return last + 1;
}

// Whether they are in a file of their own, of which as much has reached the
// disk as the snapshot is going to count on.
bool StreamFolder::save_answers(const AnswerLog& answers, int64_t number) {
  std::unique_ptr<AnswerFile> before = std::move(answers_);
  if (answers.packed_bytes() <= kMostAnswersInSnapshot) return false;
  if (before && before->continues_with(answers)) {
    before->append(answers);
    answers_ = std::move(before);
  } else {
    answers_ = std::make_unique<AnswerFile>(path_ / file_name(number, kAnswers),
                                            answers);
  }
  return true;
}

// Those of the newest file up to the snapshot's number. What is wrong with
// them; empty if nothing is.
std::string StreamFolder::load_answers(int64_t number,
                                       StreamState& state) const {
  std::string file = file_name(number, kAnswers);
  for (const int64_t found : numbers_among(names_in(path_), kAnswers))
    if (found <= number) file = file_name(found, kAnswers);
  state.answers = read_answers(path_ / file, state.next_seq);
  return state.answers.end() == *state.answers_end
             ? ""
             : (path_ / file).string() + ": is damaged, answers are lost";
}

// The header of a snapshot; nothing if it cannot be read.
std::optional<StateSummary> StreamFolder::summary(
    const SnapshotEntry& entry) const {
  const fs::path file = file_of(entry);
  try {
    return summary_of(read_safetensors(file), file.string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Journals and answers that no snapshot from this one on counts on.
void StreamFolder::remove_before(int64_t snapshot,
                                 const std::vector<std::string>& names) const {
  for (const int64_t number : numbers_among(names, kJournal))
    if (number < snapshot) fs::remove(journal_of(number));
  const auto answers = numbers_among(names, kAnswers);
  for (size_t i = 1; i < answers.size(); ++i)
    if (answers[i] <= snapshot)
      fs::remove(path_ / file_name(answers[i - 1], kAnswers));
}

std::vector<SnapshotEntry> StreamFolder::snapshots() const {
  return snapshots_among(names_in(path_), snapshot_name);
}

std::vector<SnapshotEntry> StreamFolder::describe_snapshots() const {
  auto all = snapshots();
  for (SnapshotEntry& entry : all) {
    entry.saved_ms = time_of(file_of(entry));
    const auto found = summary(entry);
    if (!found) continue;
    entry.next_seq = found->next_seq;
    if (found->progress) entry.updates = found->progress->updates;
  }
  return all;
}

std::optional<StreamStore::Saved> StreamFolder::find_saved() const {
  const auto all = snapshots();
  if (all.empty()) return std::nullopt;
  for (size_t i = all.size(); i-- > 0;) {
    auto found = summary(all[i]);
    if (!found) continue;
    for (const StreamRequest& request : requests_since(all[i].number).requests)
      if (*request.seq == found->next_seq) ++found->next_seq;
    return StreamStore::Saved{std::move(*found), all[i].number};
  }
  fail(ErrorKind::kBadFormat, file_of(all.back()).string(),
       "is damaged, and so are all snapshots before it");
}

// Where the system refuses, it is kept as long as any other.
void StreamFolder::retain(int64_t number) {
  const SnapshotEntry before{number, false}, after{number, false, true};
  std::error_code ignored;
  fs::rename(file_of(before), file_of(after), ignored);
}

StreamState StreamFolder::read_snapshot(const SnapshotEntry& entry) const {
  const fs::path file = file_of(entry);
  return to_stream_state(read_safetensors(file), file.string());
}

void StreamFolder::set_aside(const SnapshotEntry& entry) const {
  fs::rename(file_of(entry), path_ / file_name(entry.number, kDamaged));
}

std::optional<StreamFolder::Loaded> StreamFolder::load() {
  if (remove_partial(path_) && quota_) quota_->measure(path_);
  if (forgotten_) return std::nullopt;
  auto loaded = load_newest();
  if (!loaded || !loaded->state.answers_end) return loaded;
  const std::string lost = load_answers(loaded->number, loaded->state);
  if (!lost.empty()) loaded->damaged.push_back(lost);
  return loaded;
}

StreamFolder::Journalled StreamFolder::requests_since(int64_t number) const {
  Journalled since;
  for (const int64_t journal : numbers_among(names_in(path_), kJournal)) {
    if (journal < number) continue;
    JournalContent content = read_journal(journal_of(journal));
    if (content.damaged) since.damaged.push_back(journal);
    for (StreamRequest& entry : content.requests)
      since.requests.push_back(std::move(entry));
  }
  return since;
}

std::string StreamFolder::set_journal_aside(int64_t number) const {
  const fs::path journal = journal_of(number);
  fs::path aside = journal;
  aside += kDamaged;
  if (fs::exists(journal))
    fs::rename(journal, aside);  // else a save came first
  return journal.string() + ": is damaged, requests after the damage are lost";
}

std::unique_ptr<RequestJournal> StreamFolder::start_journal(
    int64_t number) const {
  return std::make_unique<RequestJournal>(journal_of(number));
}

void StreamFolder::remove() {
  if (!fs::exists(path_)) return;
  const fs::path hidden =
      path_.parent_path() / (kRemoved + path_.filename().string());
  fs::remove_all(hidden);
  rename_durably(path_, hidden);
  std::error_code left_for_later;
  fs::remove_all(hidden, left_for_later);
  if (quota_) quota_->measure(path_);
}

StateStore::StateStore(fs::path root, int64_t most_bytes)
    : root_(std::move(root)), quota_(std::make_shared<DiskQuota>(most_bytes)) {
  make_folder_durably(root_ / "streams");
  const fs::path file = root_ / "lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail_to_write(file, errno);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    fail(ErrorKind::kInvalid, root_.string(),
         "is in use by another process that serves streams");
  }
  remove_leftovers();
  measure_all();
}

void StateStore::measure_all() const {
  for (const std::string& model : names_in(root_ / "streams"))
    for (const std::string& name : names_in(root_ / "streams" / model))
      quota_->measure(root_ / "streams" / model / name);
}

// Of streams whose removal a crash came into.
void StateStore::remove_leftovers() const {
  const std::string prefix = kRemoved;
  for (const std::string& model : names_in(root_ / "streams"))
    for (const std::string& name : names_in(root_ / "streams" / model))
      if (name.compare(0, prefix.size(), prefix) == 0) {
        std::error_code left_for_later;
        fs::remove_all(root_ / "streams" / model / name, left_for_later);
      }
}

StateStore::~StateStore() {
  ::close(lock_);
}

std::vector<std::string> StateStore::streams(const std::string& model) const {
  std::vector<std::string> names;
  const fs::path folder = root_ / "streams" / escape_name(model);
  for (const std::string& escaped : names_in(folder)) {
    const auto name = unescape_name(escaped);
    std::error_code ignored;
    if (name && fs::is_directory(folder / escaped, ignored))
      names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<StreamStorage> StateStore::open(
    const std::string& model, const std::string& stream) const {
  return std::make_unique<StreamFolder>(folder(model, stream));
}

std::optional<StreamStore::Saved> StateStore::find_saved(
    const std::string& model, const std::string& stream) const {
  return folder(model, stream).find_saved();
}

StreamFolder StateStore::folder(const std::string& model,
                                const std::string& stream) const {
  return StreamFolder(
      root_ / "streams" / escape_name(model) / escape_name(stream), stream,
      quota_);
}

}  // namespace sotta
