#include "serve/fleet/redis_storage.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sotta/core/error.h"
#include "sotta/core/log.h"
#include "sotta/data/safetensors.h"

#include "serve/fleet/lease_scripts.h"
#include "serve/streams/state_store.h"
#include "serve/streams/without_folder.h"

namespace sotta {
namespace {

constexpr const char* kWaitMilliseconds = "1000";

// Two of each stream, and what people did: a fleet's streams share one memory.
constexpr SnapshotRetention kRetention{16, 2, /*spaced=*/0};

std::string field_of(const SnapshotEntry& entry) {
  return std::to_string(entry.number) + ending_of(entry);
}

// Nothing of what was put aside.
std::vector<SnapshotEntry> entries_among(const RedisReply& fields) {
  std::vector<std::string> names;
  for (const RedisReply& name : fields.list)
    names.push_back(name.text);
  return snapshots_among(names, field_of);
}

// Which state of the adapter a plain snapshot holds.
std::string content_of(int64_t number, const std::string& adapter) {
  return std::to_string(number) + " " + adapter;
}

// No other claim of any process has this name.
std::string draw_claim(const std::string& owner) {
  static std::atomic<int64_t> claims{0};
  return owner + "-" + std::to_string(++claims);
}

[[noreturn]] void refuse_as_away() {
  throw RequestError(HttpStatus::kUnavailable, "stream",
                     "the store of streams cannot be reached, send it again");
}

}  // namespace

std::string redis_key(const std::string& model, const std::string& stream) {
  return "sotta:{" + escape_name(model) + "/" + escape_name(stream) + "}";
}

std::string redis_index(const std::string& model) {
  return "sotta:streams:{" + escape_name(model) + "}";
}

RedisStorage::RedisStorage(std::shared_ptr<FleetContext> context,
                           const std::string& model, std::string stream)
    : context_(std::move(context)),
      stream_(std::move(stream)),
      key_(redis_key(model, stream_)),
      index_(redis_index(model)),
      lease_(std::make_shared<HeldLease>(key_)) {}

RedisStorage::~RedisStorage() {
  context_->keeper.release(lease_);
}

RedisCommand RedisStorage::script(
    const char* text, const std::vector<const char*>& keys,
    const std::vector<std::string>& arguments) const {
  RedisCommand command = {"EVAL", text, std::to_string(keys.size())};
  for (const char* key : keys)
    command.push_back(key_ + ":" + key);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// Any other kind is no answer of the script, and tells nothing of what was
// done.
const RedisReply& RedisStorage::require_kind(RedisReply::Kind kind,
                                             const RedisReply& reply) const {
  if (reply.kind != kind ||
      (kind == RedisReply::Kind::kList && reply.list.empty()))
    fail(ErrorKind::kIo, context_->options.redis.text(),
         "answers a script with another kind of value than it returns");
  return reply;
}

int64_t RedisStorage::integer_in(const RedisReply& reply) const {
  return require_kind(RedisReply::Kind::kInteger, reply).integer;
}

ClaimReply RedisStorage::ask_for_lease(bool create, const std::string& claim) {
  const FleetOptions& options = context_->options;
  RedisReply reply;
  try {
    reply = context_->client.run(script(
        kClaimScript, {"lease", "stream"},
        {context_->owner, options.advertise, std::to_string(options.lease_ms),
         create ? "1" : "0", claim, lease_->lost ? "" : claim_}));
    require_kind(RedisReply::Kind::kList, reply);
  } catch (const Error& error) {
    if (context_->client.is_away()) refuse_as_away();
    throw RequestError(HttpStatus::kUnavailable,
                       without_folder(first_line(error)));
  }
  ClaimReply claimed;
  const auto& list = reply.list;
  if (list.at(0).integer == 2)
    throw RequestError(HttpStatus::kNotFound, "stream",
                       "there is none of this name");
  claimed.taken = list[0].integer == 1;
  if (claimed.taken) {
    claimed.fence = list.at(1).integer;
    claimed.fence_before = list.at(2).integer;
    claimed.claim_before = list.at(3).text;
    claimed.number = list.at(4).integer;
  } else {
    claimed.address = list.at(1).text;
    claimed.lapses_ms = list.at(2).integer;
  }
  return claimed;
}

bool RedisStorage::claim(bool create) {
  if (lease_->is_valid()) {
    if (!context_->client.is_away()) return true;
    refuse_as_away();
  }
  const int64_t held = lease_->lost ? 0 : lease_->fence.load();
  const auto asked = HeldLease::Clock::now();
  const std::string claim = draw_claim(context_->owner);
  const ClaimReply reply = ask_for_lease(create, claim);
  const Standing standing = standing_after(reply, claim_, held);
  if (standing == Standing::kElsewhere) lose(reply);
  if (standing == Standing::kStale && held > 0) ++context_->lost;
  ++context_->claims;
  claim_ = claim;
  lease_->fence = reply.fence;
  lease_->lost = false;
  lease_->prolong(asked, context_->options.lease_ms);
  number_ = std::max(number_, reply.number);
  context_->keeper.add(lease_);
  return standing == Standing::kCurrent;
}

void RedisStorage::lose(const ClaimReply& reply) {
  if (lease_->fence > 0 && !lease_->lost) ++context_->lost;
  lease_->lost = true;
  context_->keeper.forget(lease_);
  StreamElsewhere elsewhere;
  elsewhere.address = reply.address;
  elsewhere.lapses_ms = reply.lapses_ms;
  throw elsewhere;
}

// Nobody else saves meanwhile, unless this is refused. What an earlier attempt
// that went unanswered adds between both is found by the next.
RedisCommand RedisStorage::save_command(const SnapshotEntry& entry,
                                        const StreamState& state) const {
  const TensorFile file = to_tensor_file(state);
  const std::string adapter = summary_of(file, stream_).adapter;
  const auto there = context_->client.run(std::vector<RedisCommand>{
      {"HKEYS", key_ + ":snapshots"}, {"HGET", key_ + ":stream", "content"}});
  auto all = entries_among(there[0]);
  const SnapshotEntry* plain = newest_plain(all);
  const bool repeats =
      plain && there[1].text == content_of(plain->number, adapter);
  std::vector<std::string> arguments = {
      claim_,
      std::to_string(lease_->fence),
      std::to_string(entry.number),
      std::to_string(context_->options.lease_ms),
      field_of(entry),
      safetensors_bytes(file, "state"),
      std::to_string(state.next_seq),
      state.frozen ? "1" : "0",
      context_->owner,
      entry.kept ? "" : content_of(entry.number, adapter)};
  for (const SnapshotEntry& old : add_snapshot(entry, repeats, kRetention, all))
    arguments.push_back(field_of(old));
  return script(kSaveScript, {"lease", "stream", "snapshots"}, arguments);
}

// Every attempt has a number of its own: one that is still on its way when the
// next has been taken is refused as older.
int64_t RedisStorage::save(const StreamState& state, bool keep) {
  const FleetOptions& options = context_->options;
  if (lease_->lost) throw StreamElsewhere();
  const SnapshotEntry entry{++number_, keep};
  std::vector<RedisCommand> commands;
  if (!listed_) commands.push_back({"ZADD", index_, "0", stream_});
  commands.push_back(save_command(entry, state));
  const size_t at = commands.size() - 1;
  if (options.min_replicas > 0)
    commands.push_back(
        {"WAIT", std::to_string(options.min_replicas), kWaitMilliseconds});
  const auto replies = context_->client.run(commands);
  listed_ = true;
  if (integer_in(replies[at]) != 0) {
    ++context_->fenced;
    ++context_->lost;
    lease_->lost = true;
    context_->keeper.forget(lease_);
    throw StreamElsewhere();
  }
  if (options.min_replicas == 0) return entry.number;
  const int64_t replicas = integer_in(replies[at + 1]);
  if (replicas < options.min_replicas)
    fail(ErrorKind::kIo, options.redis.text(),
         "saved a snapshot on " + std::to_string(replicas) +
             " replicas, --min-replicas expects " +
             std::to_string(options.min_replicas));
  note_durable(entry.number, state.next_seq);
  return entry.number;
}

// For whoever lists or loads the stream next. If this is lost, the snapshot is
// durable all the same, and only saved again when it is loaded.
void RedisStorage::note_durable(int64_t number, int64_t next_seq) const {
  try {
    context_->client.run(
        script(kDurableScript, {"stream"},
               {claim_, std::to_string(lease_->fence), std::to_string(number),
                std::to_string(next_seq)}));
  } catch (const Error& error) {
    log(LogLevel::kWarning, first_line(error));
  }
}

std::optional<int64_t> RedisStorage::durable_seq(const Loaded& loaded) const {
  if (context_->options.min_replicas == 0) return std::nullopt;
  const auto noted = context_->client.run(
      {"HMGET", key_ + ":stream", "durable", "durable_seq"});
  const int64_t next_seq = loaded.state.next_seq;
  return number_in(noted.list.at(0)) >= loaded.number
             ? next_seq
             : std::min(next_seq, number_in(noted.list.at(1)));
}

std::vector<SnapshotEntry> RedisStorage::snapshots() const {
  return entries_among(context_->client.run({"HKEYS", key_ + ":snapshots"}));
}

StreamState RedisStorage::read_snapshot(const SnapshotEntry& entry) const {
  const std::string field = field_of(entry);
  const RedisReply reply =
      context_->client.run({"HGET", key_ + ":snapshots", field});
  const std::string subject = key_ + " snapshot " + field;
  return to_stream_state(
      parse_safetensors(reinterpret_cast<const std::byte*>(reply.text.data()),
                        reply.text.size(), subject),
      subject);
}

void RedisStorage::rename(const SnapshotEntry& entry,
                          const std::string& name) const {
  context_->client.run(
      script(kRenameScript, {"stream", "snapshots"},
             {claim_, std::to_string(lease_->fence), field_of(entry), name}));
}

void RedisStorage::set_aside(const SnapshotEntry& entry) const {
  rename(entry, "damaged-" + field_of(entry));
}

// Where Redis refuses, it is kept as long as any other.
void RedisStorage::retain(int64_t number) {
  const SnapshotEntry before{number, false}, after{number, false, true};
  try {
    rename(before, field_of(after));
  } catch (const Error& error) {
    log(LogLevel::kWarning, first_line(error));
  }
}

std::optional<StreamStorage::Loaded> RedisStorage::load() {
  auto loaded = load_newest();
  if (loaded) loaded->durable_seq = durable_seq(*loaded);
  return loaded;
}

// One that went unanswered may be carried out yet: the copy goes as if it was
// lost, and the next claim raises the fence, so that it removes nothing later.
void RedisStorage::remove() {
  int64_t refused = 0;
  try {
    refused = integer_in(context_->client.run(
        script(kRemoveScript, {"lease", "stream", "snapshots"},
               {claim_, std::to_string(lease_->fence)})));
  } catch (const Error&) {
    if (context_->client.is_away()) lease_->lost = true;
    throw;
  }
  context_->keeper.forget(lease_);
  if (refused != 0) {
    ++context_->lost;
    lease_->lost = true;
    throw StreamElsewhere();
  }
  lease_->fence = 0;
  context_->client.run({"ZREM", index_, stream_});
}

std::string RedisStorage::set_journal_aside(int64_t) const {
  return "";
}

std::unique_ptr<RequestJournal> RedisStorage::start_journal(int64_t) const {
  fail(ErrorKind::kUnsupported, "journal", "expected none with Redis");
}

}  // namespace sotta
