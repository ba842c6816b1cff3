#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "eval/key_store.h"
#include "eval/tcp_probe.h"

namespace sotta {
namespace {

using Bytes = std::vector<uint8_t>;
using Store = c10::intrusive_ptr<c10d::TCPStore>;

Bytes to_bytes(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

std::string place_of(const RankOptions& options) {
  return options.address + ":" + std::to_string(options.port);
}

constexpr const char* kUnreachable =
    "rank 0 cannot be reached, expected it to run as long as the others do";
constexpr const char* kSilent = "rank 0 cannot be reached, waited for it for ";
constexpr const char* kNoPort =
    "the port cannot be opened, or this machine cannot be reached at that "
    "address; MASTER_PORT and MASTER_ADDR name others";

// Setting a value has no answer. Rank 0 answers in order, so that of a greeting
// means that all before it has arrived.
void greet(c10d::TCPStore& store) {
  store.add("sotta/hello", 1);
}

// Runs errands one after another in the thread that calls work(). Of a machine
// that was switched off nothing is heard, not even the end of a connection: an
// errand may never return, and its thread is then left behind.
class Courier {
 public:
  void post(std::function<void(Store&)> errand) {
    {
      const std::lock_guard lock(mutex_);
      errands_.push_back(std::move(errand));
    }
    wake_.notify_one();
  }

  // Until the errand without a function.
  void work() {
    Store store;
    while (const auto errand = next())
      errand(store);
  }

 private:
  std::function<void(Store&)> next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return !errands_.empty(); });
    auto errand = std::move(errands_.front());
    errands_.pop_front();
    return errand;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void(Store&)>> errands_;
};

class TcpKeyStore : public KeyStore {
 public:
  explicit TcpKeyStore(const RankOptions& options)
      : place_(place_of(options)),
        patience_(options.lost_after),
        courier_(std::make_shared<Courier>()) {
    c10d::TCPStoreOptions settings;
    settings.port = static_cast<uint16_t>(options.port);
    settings.isServer = options.rank == 0 && options.hosts;
    settings.waitWorkers = false;
    settings.timeout = std::chrono::milliseconds(
        std::max<int64_t>(1000, static_cast<int64_t>(patience_ * 1000)));
    check_place(options, settings.isServer);
    std::packaged_task<void()> work([courier = courier_] { courier->work(); });
    ended_ = work.get_future();
    thread_ = std::thread(std::move(work));
    const auto connect = [address = options.address, settings](Store& store) {
      store = c10::make_intrusive<c10d::TCPStore>(address, settings);
      // Its answer means that rank 0 has taken both of our connections in. One
      // still waiting when rank 0 goes is reset, and LibTorch 1.13's watching
      // thread then ends the whole process.
      greet(*store);
      return true;
    };
    try {
      ask(connect, settings.isServer ? kNoPort : kUnreachable);
    } catch (...) {
      leave_courier();
      throw;
    }
  }

  ~TcpKeyStore() override { leave_courier(); }

  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    const Bytes value = ask([=](Store& store) {
      return store->compareSet(key, to_bytes(expected), to_bytes(desired));
    });
    return std::string(value.begin(), value.end());
  }

  void set(const std::string& key, const std::string& value) override {
    ask([=](Store& store) {
      store->set(key, to_bytes(value));
      greet(*store);
      return true;
    });
  }

  int64_t add(const std::string& key, int64_t amount) override {
    return ask([=](Store& store) { return store->add(key, amount); });
  }

 private:
  void check_place(const RankOptions& options, bool is_server) const {
    if (is_server) {
      if (!can_listen(options.address, options.port))
        fail(ErrorKind::kIo, place_, kNoPort);
    } else if (!wait_for_listener(options.address, options.port, patience_)) {
      fail_after_waiting();
    }
  }

  [[noreturn]] void fail_after_waiting() const {
    fail(ErrorKind::kIo, place_,
         kSilent + to_text(patience_) + " seconds (--lost-after)");
  }

  // What `call` gives for the store. The store's own exceptions are of several
  // kinds and speak of sockets.
  template <class Call>
  std::invoke_result_t<Call, Store&> ask(const Call& call,
                                         const char* problem = kUnreachable) {
    using Answer = std::invoke_result_t<Call, Store&>;
    // Shared with the thread, which may outlive this call.
    const auto answer = std::make_shared<std::promise<Answer>>();
    auto awaited = answer->get_future();
    courier_->post([call, answer](Store& store) {
      try {
        answer->set_value(call(store));
      } catch (...) {
        answer->set_exception(std::current_exception());
      }
    });
    if (awaited.wait_for(std::chrono::duration<double>(patience_)) !=
        std::future_status::ready)
      fail_after_waiting();
    try {
      return awaited.get();
    } catch (const std::exception&) {
      fail(ErrorKind::kIo, place_, problem);
    }
  }

  void leave_courier() {
    courier_->post({});
    if (ended_.wait_for(std::chrono::duration<double>(patience_)) ==
        std::future_status::ready)
      thread_.join();
    else
      thread_.detach();
  }

  std::string place_;
  double patience_;  // seconds
  std::shared_ptr<Courier> courier_;
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<KeyStore> connect_key_store(const RankOptions& options) {
  return std::make_unique<TcpKeyStore>(options);
}

}  // namespace sotta
