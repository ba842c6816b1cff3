// What a fleet of `sotta serve` holds: replays measured service times
// (bench/fleet_times.py) for many streams on many servers with failures.
//
//   fleet_simulation TIMES [NAME=VALUE...]
//
// Streams send one image each, at random moments; every --window images there
// is an update and a snapshot goes to the one Redis, in which all servers
// queue. Servers fail at random, their streams wait for the lease to lapse and
// are loaded by others. Prints one row: what streams saw, and how busy servers,
// Redis and its network were.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"

namespace {

using sotta::Rng;

struct Options {
  std::map<std::string, double> values = {
      {"servers", 10}, {"streams", 10000}, {"images_per_second", 0.1},
      {"window", 64},  {"workers", 2},     {"seconds", 60},
      {"lease", 4},    {"failures", 0},  // of a server, per hour
      {"restart", 10}, {"redis_gbit", 10}, {"seed", 1}};

  double operator[](const std::string& name) const { return values.at(name); }

  void read(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      const size_t equals = word.find('=');
      sotta::require(equals != std::string::npos &&
                         values.count(word.substr(0, equals)) > 0,
                     word, "expected NAME=VALUE");
      values[word.substr(0, equals)] = std::atof(word.c_str() + equals + 1);
    }
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
    for (const char* name : {"answer", "update", "redis_claim", "redis_load",
                             "redis_save", "snapshot_bytes"})
      sotta::require(samples.count(name) > 0, file,
                     std::string("expected ") + name);
  }

  double draw(const char* name, Rng& rng) const {
    const auto& all = samples.at(name);
    return all[static_cast<size_t>(
        rng.below(static_cast<int64_t>(all.size())))];
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
  int32_t server = -1;  // who has it; -1: nobody
  uint8_t images = 0;   // of the window
};

class Simulation {
 public:
  Simulation(const Options& options, const Times& times)
      : options_(options),
        times_(times),
        rng_(static_cast<uint64_t>(options["seed"])),
        streams_(static_cast<size_t>(options["streams"])),
        servers_(static_cast<size_t>(options["servers"]),
                 Station(static_cast<int>(options["workers"]))),
        back_at_(servers_.size(), 0),
        lapsed_at_(servers_.size(), 0) {
    const auto window = static_cast<int64_t>(options["window"]);
    for (size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].server = static_cast<int32_t>(i % servers_.size());
      streams_[i].images = static_cast<uint8_t>(rng_.below(window));
    }
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
      const auto stream = static_cast<size_t>(
          rng_.below(static_cast<int64_t>(streams_.size())));
      request(time, time, stream);
    }
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
    for (const Station& server : servers_)
      busy += server.busy;
    const double seconds = options_["seconds"];
    std::printf(
        "servers %.0f streams %.0f images/s %.0f | p50 %.1f ms p99 %.1f ms "
        "worst %.2f s | servers busy %.0f%% redis busy %.0f%% network %.0f%% "
        "writes/s %.0f MB/s %.0f | failures %ld moved %ld\n",
        options_["servers"], options_["streams"],
        static_cast<double>(latencies_.size()) / seconds, 1e3 * quantile(0.5),
        1e3 * quantile(0.99), quantile(1),
        100 * busy / (seconds * options_["servers"] * options_["workers"]),
        100 * redis_.busy / seconds, 100 * network_.busy / seconds,
        static_cast<double>(writes_) / seconds, bytes_ / seconds / 1e6,
        failures_, moved_);
  }

 private:
  double wait(double rate) { return -std::log(1 - rng_.uniform()) / rate; }

  // Its leases lapse after a time that depends on when they were renewed.
  void fail(double time) {
    const auto server =
        static_cast<size_t>(rng_.below(static_cast<int64_t>(servers_.size())));
    back_at_[server] = time + options_["restart"];
    lapsed_at_[server] = time + options_["lease"] * rng_.uniform(2. / 3, 1);
    for (double& free : servers_[server].free_at)
      free = back_at_[server];
    ++failures_;
  }

  // What is not done yet, in the order of time: stations serve who comes first.
  struct Later {
    double time;
    double arrival;  // of a request that waits for a lease; below 0: a save
    size_t stream;
    bool operator<(const Later& other) const { return time > other.time; }
  };

  void go_on() {
    const Later next = later_.top();
    later_.pop();
    if (next.arrival >= 0) return request(next.time, next.arrival, next.stream);
    ++writes_;
    transfer(redis_.serve(next.time, times_.draw("redis_save", rng_)));
  }

  void request(double time, double arrival, size_t index) {
    Stream& stream = streams_[index];
    auto server = static_cast<size_t>(stream.server);
    double begin = time;
    if (back_at_[server] > time) {
      if (lapsed_at_[server] > time)
        return later_.push({lapsed_at_[server], arrival, index});
      begin = move(stream, time, server);
    }
    const double done =
        servers_[server].serve(begin, times_.draw("answer", rng_));
    latencies_.push_back(static_cast<float>(done - arrival));
    if (++stream.images < options_["window"]) return;
    stream.images = 0;
    const double updated =
        servers_[server].serve(done, times_.draw("update", rng_));
    later_.push({updated, -1, index});
  }

  // To any server that runs.
  double move(Stream& stream, double time, size_t& server) {
    do {
      server = static_cast<size_t>(
          rng_.below(static_cast<int64_t>(servers_.size())));
    } while (back_at_[server] > time && servers_.size() > 1);
    stream.server = static_cast<int32_t>(server);
    stream.images = 0;  // clients send again what was not saved
    ++moved_;
    const double claimed = redis_.serve(time, times_.draw("redis_claim", rng_));
    return transfer(redis_.serve(claimed, times_.draw("redis_load", rng_)));
  }

  double transfer(double time) {
    const double bytes = times_.draw("snapshot_bytes", rng_);
    bytes_ += bytes;
    return network_.serve(time, bytes * 8 / (options_["redis_gbit"] * 1e9));
  }

  const Options& options_;
  const Times& times_;
  Rng rng_;
  std::vector<Stream> streams_;
  std::vector<Station> servers_;
  std::vector<double> back_at_, lapsed_at_;
  Station redis_{1}, network_{1};
  std::priority_queue<Later> later_;
  std::vector<float> latencies_;
  long failures_ = 0, moved_ = 0, writes_ = 0;
  double bytes_ = 0;
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
