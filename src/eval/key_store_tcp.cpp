#include <exception>
#include <mutex>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "sotta/core/error.h"

#include "eval/key_store.h"

namespace sotta {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes to_bytes(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

std::string place_of(const RankOptions& options) {
  return options.address + ":" + std::to_string(options.port);
}

constexpr const char* kUnreachable =
    "rank 0 cannot be reached, expected it to run as long as the others do";
constexpr const char* kNoPort =
    "the port cannot be opened, or this machine cannot be reached at that "
    "address; MASTER_PORT and MASTER_ADDR name others";

class TcpKeyStore : public KeyStore {
 public:
  explicit TcpKeyStore(const RankOptions& options) : place_(place_of(options)) {
    c10d::TCPStoreOptions store;
    store.port = static_cast<uint16_t>(options.port);
    store.isServer = options.rank == 0 && options.hosts;
    store.waitWorkers = false;
    store.timeout = std::chrono::milliseconds(
        static_cast<int64_t>(options.patience * 1000));
    const auto connect = [&] {
      store_ = c10::make_intrusive<c10d::TCPStore>(options.address, store);
      // Its answer means that rank 0 has taken both of our connections in. One
      // still waiting when rank 0 goes is reset, and LibTorch 1.13's watching
      // thread then ends the whole process.
      greet();
    };
    guarded(connect, store.isServer ? kNoPort : kUnreachable);
  }

  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    Bytes value;
    guarded([&] {
      value = store_->compareSet(key, to_bytes(expected), to_bytes(desired));
    });
    return std::string(value.begin(), value.end());
  }

  void set(const std::string& key, const std::string& value) override {
    guarded([&] {
      store_->set(key, to_bytes(value));
      greet();
    });
  }

  int64_t add(const std::string& key, int64_t amount) override {
    int64_t value = 0;
    guarded([&] { value = store_->add(key, amount); });
    return value;
  }

 private:
  // Setting a value has no answer. Rank 0 answers in order, so that of a
  // greeting means that all before it has arrived.
  void greet() { store_->add("sotta/hello", 1); }

  // The store's own exceptions are of several kinds and speak of sockets.
  template <class Call>
  void guarded(const Call& call, const char* problem = kUnreachable) {
    const std::lock_guard lock(mutex_);
    try {
      call();
    } catch (const std::exception&) {
      fail(ErrorKind::kIo, place_, problem);
    }
  }

  std::string place_;
  std::mutex mutex_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

}  // namespace

std::unique_ptr<KeyStore> connect_key_store(const RankOptions& options) {
  return std::make_unique<TcpKeyStore>(options);
}

}  // namespace sotta
