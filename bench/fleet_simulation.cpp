// What a fleet of `sotta serve` holds: replays measured service times
// (bench/fleet_times.py) for many streams on many servers with failures.
//
//   fleet_simulation TIMES [NAME=VALUE...]
//
// Streams send one image each, at random moments; every window=64 images there
// is an update and a snapshot goes to the one Redis, in which all servers
// queue. A server has resident=256 streams in memory (--max-resident) and
// renews their leases every third of lease=4 seconds, 256 in one go; a request
// for another stream first saves the one that was used least recently, then
// claims and loads its own. Servers fail at random, their streams wait for the
// lease to lapse and are loaded by others. Prints one row: what streams saw,
// how busy servers, Redis and its network were, and how many renewals came too
// late to keep a lease.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <map>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"

namespace {

using sotta::Rng;

struct Option {
  double value, least, most;
  bool is_whole = true;
};

struct Options {
  std::map<std::string, Option> all = {
      {"servers", {10, 1, 1e5}},
      {"streams", {10000, 1, 1e8}},
      {"images_per_second", {0.1, 1e-6, 1e6, false}},
      {"window", {64, 1, 4096}},
      {"resident", {256, 1, 1e8}},
      {"workers", {2, 1, 1024}},
      {"seconds", {60, 1, 1e6, false}},
      {"lease", {4, 1, 3600, false}},
      {"failures", {0, 0, 3600, false}},  // of a server, per hour
      {"restart", {10, 0, 1e6, false}},
      {"redis_gbit", {10, 1e-3, 1e6, false}},
      {"seed", {1, 0, 1e9}}};

  double operator[](const std::string& name) const {
    return all.at(name).value;
  }

  void read(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      const size_t equals = word.find('=');
      const auto found = all.find(word.substr(0, equals));
      sotta::require(equals != std::string::npos && found != all.end(), word,
                     "expected NAME=VALUE with one of the names " + names());
      set(found->first, found->second, word.substr(equals + 1));
    }
  }

 private:
  static void set(const std::string& name, Option& option,
                  const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0';
    char range[100];
    std::snprintf(range, sizeof range,
                  "expected a %snumber from %g to %g, got ",
                  option.is_whole ? "whole " : "", option.least, option.most);
    sotta::require(is_number && value >= option.least && value <= option.most &&
                       (!option.is_whole || value == std::floor(value)),
                   name, range + text);
    option.value = value;
  }

  std::string names() const {
    std::string joined;
    for (const auto& [name, option] : all)
      joined += (joined.empty() ? "" : ", ") + name;
    return joined;
  }
};

// Lines "name number number ...": seconds, or bytes.
struct Times {
  std::map<std::string, std::vector<double>> samples;

  explicit Times(const char* file) {
    std::ifstream in(file);
    sotta::require(in.is_open(), file, "expected a file of measured times");
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      for (double number = 0; words >> number;)
        samples[name].push_back(number);
    }
    for (const char* name :
         {"answer", "update", "reload", "redis_claim", "redis_load",
          "redis_save", "redis_renew", "snapshot_bytes", "renew_bytes"})
      sotta::require(samples.count(name) > 0, file,
                     std::string("expected ") + name);
  }

  double draw(const char* name, Rng& rng) const {
    const auto& samples_of_name = samples.at(name);
    return samples_of_name[static_cast<size_t>(
        rng.below(static_cast<int64_t>(samples_of_name.size())))];
  }
};

// One queue, several that serve it.
struct Station {
  explicit Station(int count) : free_at(static_cast<size_t>(count)) {}

  // When work that comes at `time` is done.
  double serve(double time, double seconds) {
    const auto first = std::min_element(free_at.begin(), free_at.end());
    *first = std::max(*first, time) + seconds;
    busy += seconds;
    return *first;
  }
  std::vector<double> free_at;
  double busy = 0;
};

struct Stream {
  int32_t server = -1;  // who has it, or had it last
  int32_t images = 0;   // of the window
  bool is_resident = false;
  std::list<uint32_t>::iterator place;  // in Server::resident
};

struct Server {
  explicit Server(int workers) : work(workers) {}

  Station work;
  double back_at = 0, lapsed_at = 0;  // after a failure
  std::list<uint32_t> resident;       // streams, the last used first
  std::vector<double> renewed_at;     // each batch of their leases
};

class Simulation {
 public:
  Simulation(const Options& options, const Times& times)
      : options_(options),
        times_(times),
        rng_(static_cast<uint64_t>(options["seed"])),
        streams_(static_cast<size_t>(options["streams"])),
        servers_(static_cast<size_t>(options["servers"]),
                 Server(static_cast<int>(options["workers"]))) {
    const auto window = static_cast<int64_t>(options["window"]);
    for (size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].server = static_cast<int32_t>(i % servers_.size());
      streams_[i].images = static_cast<int32_t>(rng_.below(window));
      if (has_room(servers_[i % servers_.size()])) enter(i);
    }
    for (size_t i = 0; i < servers_.size(); ++i)
      later_.push({interval() * rng_.uniform(), Later::kRenewal, i});
  }

  void run() {
    const double rate = options_["images_per_second"] * options_["streams"];
    const double end = options_["seconds"];
    const double failure_rate =
        options_["failures"] / 3600 * options_["servers"];
    double next_failure = failure_rate > 0 ? wait(failure_rate) : end;
    for (double time = wait(rate); time < end; time += wait(rate)) {
      for (; next_failure < time; next_failure += wait(failure_rate))
        fail(next_failure);
      while (!later_.empty() && later_.top().time < time)
        go_on();
      request(time, time,
              static_cast<size_t>(
                  rng_.below(static_cast<int64_t>(streams_.size()))));
    }
    ended_ = true;
    while (!later_.empty())
      go_on();
  }

  void print() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto quantile = [&](double share) {
      return latencies_.empty()
                 ? 0
                 : latencies_[static_cast<size_t>(
                       share * static_cast<double>(latencies_.size() - 1))];
    };
    double busy = 0;
    for (const Server& server : servers_)
      busy += server.work.busy;
    const double seconds = options_["seconds"];
    std::printf(
        "servers %.0f streams %.0f resident %.0f lease %g images/s %.0f | p50 "
        "%.1f ms p99 %.1f ms worst %.2f s | servers busy %.0f%% redis busy "
        "%.0f%% network %.0f%% MB/s %.0f | saves/s %.0f loads/s %.0f "
        "renewals/s %.0f late %ld | failures %ld moved %ld\n",
        options_["servers"], options_["streams"], options_["resident"],
        options_["lease"], static_cast<double>(latencies_.size()) / seconds,
        1e3 * quantile(0.5), 1e3 * quantile(0.99), quantile(1),
        100 * busy / (seconds * options_["servers"] * options_["workers"]),
        100 * redis_.busy / seconds, 100 * network_.busy / seconds,
        bytes_ / seconds / 1e6, static_cast<double>(saves_) / seconds,
        static_cast<double>(loads_) / seconds,
        static_cast<double>(renewals_) / seconds, late_, failures_, moved_);
  }

 private:
  static constexpr int64_t kBatch = 256;  // leases renewed in one go

  // What is not done yet, in the order of time: stations serve who comes first.
  struct Later {
    enum Kind { kRequest, kSave, kRenewal };
    double time;
    Kind kind;
    size_t index;  // of the stream, or of the server that renews its leases
    double arrival = 0;  // of the request
    int64_t done = 0;    // leases renewed in this round
    bool operator<(const Later& other) const { return time > other.time; }
  };

  double wait(double rate) { return -std::log(1 - rng_.uniform()) / rate; }
  double interval() const { return options_["lease"] / 3; }
  bool has_room(const Server& server) const {
    return static_cast<double>(server.resident.size()) < options_["resident"];
  }

  void enter(size_t index) {
    Stream& stream = streams_[index];
    auto& resident = servers_[static_cast<size_t>(stream.server)].resident;
    resident.push_front(static_cast<uint32_t>(index));
    stream.place = resident.begin();
    stream.is_resident = true;
  }

  // Its leases lapse after a time that depends on when they were renewed.
  void fail(double time) {
    Server& server = servers_[static_cast<size_t>(
        rng_.below(static_cast<int64_t>(servers_.size())))];
    server.back_at = time + options_["restart"];
    server.lapsed_at = time + options_["lease"] * rng_.uniform(2. / 3, 1);
    for (double& free : server.work.free_at)
      free = server.back_at;
    for (const uint32_t index : server.resident) {
      streams_[index].is_resident = false;
      streams_[index].images = 0;  // clients send again what was not saved
    }
    server.resident.clear();
    server.renewed_at.clear();
    ++failures_;
  }

  void go_on() {
    const Later next = later_.top();
    later_.pop();
    if (next.kind == Later::kRequest)
      request(next.time, next.arrival, next.index);
    else if (next.kind == Later::kRenewal)
      renew(next);
    else
      transfer(redis_.serve(next.time, draw_save()), 1);
  }

  // A batch of a server's leases; the next one when Redis has answered, the
  // next round an interval after the last batch.
  void renew(const Later& round) {
    if (ended_) return;
    Server& server = servers_[round.index];
    const int64_t count = std::min(
        kBatch, static_cast<int64_t>(server.resident.size()) - round.done);
    if (count <= 0)
      return later_.push(
          {round.time + interval(), Later::kRenewal, round.index});
    const auto number = static_cast<double>(count);
    const double done =
        redis_.serve(round.time, number * times_.draw("redis_renew", rng_));
    const double bytes = number * times_.draw("renew_bytes", rng_);
    bytes_ += bytes;
    network_.serve(done, seconds_on_network(bytes));
    renewals_ += count;
    const auto batch = static_cast<size_t>(round.done / kBatch);
    if (server.renewed_at.size() <= batch)
      server.renewed_at.push_back(done);
    else if (done - server.renewed_at[batch] > options_["lease"])
      late_ += count;
    server.renewed_at[batch] = done;
    later_.push({done, Later::kRenewal, round.index, 0, round.done + count});
  }

  void request(double time, double arrival, size_t index) {
    Stream& stream = streams_[index];
    const Server& last = servers_[static_cast<size_t>(stream.server)];
    if (last.back_at > time) {
      if (last.lapsed_at > time)
        return later_.push({last.lapsed_at, Later::kRequest, index, arrival});
      move(stream, time);
    }
    Server& server = servers_[static_cast<size_t>(stream.server)];
    double begin = time, work = times_.draw("answer", rng_);
    if (stream.is_resident) {
      server.resident.splice(server.resident.begin(), server.resident,
                             stream.place);
    } else {
      begin = load(index, server, time);
      work += times_.draw("reload", rng_);
    }
    const double done = server.work.serve(begin, work);
    latencies_.push_back(static_cast<float>(done - arrival));
    if (++stream.images < options_["window"]) return;
    stream.images = 0;
    later_.push({server.work.serve(done, times_.draw("update", rng_)),
                 Later::kSave, index});
  }

  // To any server that runs, or the one that does so first.
  void move(Stream& stream, double time) {
    size_t server = 0;
    for (int tries = 0; tries < 100; ++tries) {
      server = static_cast<size_t>(
          rng_.below(static_cast<int64_t>(servers_.size())));
      if (servers_[server].back_at <= time) break;
    }
    if (servers_[server].back_at > time)
      server = static_cast<size_t>(
          std::min_element(servers_.begin(), servers_.end(),
                           [](const Server& a, const Server& b) {
                             return a.back_at < b.back_at;
                           }) -
          servers_.begin());
    stream.server = static_cast<int32_t>(server);
    ++moved_;
  }

  // When the stream is in the server's memory, by way of Redis.
  double load(size_t index, Server& server, double time) {
    double work =
        times_.draw("redis_claim", rng_) + times_.draw("redis_load", rng_);
    int snapshots = 1;
    if (!has_room(server)) {
      streams_[server.resident.back()].is_resident = false;
      server.resident.pop_back();
      work += draw_save();
      ++snapshots;
    }
    enter(index);
    ++loads_;
    return transfer(redis_.serve(time, work), snapshots);
  }

  double draw_save() {
    ++saves_;
    return times_.draw("redis_save", rng_);
  }

  double transfer(double time, int snapshots) {
    const double bytes = snapshots * times_.draw("snapshot_bytes", rng_);
    bytes_ += bytes;
    return network_.serve(time, seconds_on_network(bytes));
  }
  double seconds_on_network(double bytes) const {
    return bytes * 8 / (options_["redis_gbit"] * 1e9);
  }

  const Options& options_;
  const Times& times_;
  Rng rng_;
  std::vector<Stream> streams_;
  std::vector<Server> servers_;
  Station redis_{1}, network_{1};
  std::priority_queue<Later> later_;
  std::vector<float> latencies_;
  long failures_ = 0, moved_ = 0, saves_ = 0, loads_ = 0, renewals_ = 0,
       late_ = 0;
  double bytes_ = 0;
  bool ended_ = false;
};

}  // namespace

int main(int argc, char** argv) try {
  sotta::require(argc >= 2, "fleet_simulation",
                 "expected a file of measured times");
  Options options;
  options.read(argc, argv);
  const Times times(argv[1]);
  Simulation simulation(options, times);
  simulation.run();
  simulation.print();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
