#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sotta/eval/cell_claims.h"

#include "eval/key_store.h"

namespace sotta {

// Claims in a key-value store. A cell's key is absent (nobody's), "free" (given
// back), "run RANK NONCE", "done" or "failed START", where START counts the
// starts of the rank that tried: a process of a later start tries again. A rank
// shows that it lives by counting up a key of its own; whoever sees it stand
// still for too long may take over its cells.
class StoreClaims : public CellClaims {
 public:
  // `now` gives seconds of a clock that never goes back; `nonce` tells this
  // process from an earlier one of the same rank.
  StoreClaims(std::shared_ptr<KeyStore> store, const RankOptions& options,
              std::string nonce, std::function<double()> now);

  Answer claim(const std::string& identity) override;
  void finish(const std::string& identity) override;
  void mark_failed(const std::string& identity) override;
  void release(const std::string& identity) override;

  void beat();   // a sign of life
  void leave();  // the last one
  bool alone();  // have all others left or died?

 private:
  struct Pulse {
    int64_t count = -1;
    double since = 0;
  };

  bool lost(int64_t rank);
  bool abandoned(const std::string& owner);
  bool left(int64_t rank);

  std::shared_ptr<KeyStore> store_;
  RankOptions options_;
  std::string mine_;  // the value of a cell that this process runs
  int64_t start_;     // how many processes of this rank there were, with this
  std::function<double()> now_;
  std::mutex mutex_;
  std::map<int64_t, Pulse> pulses_;
};

}  // namespace sotta
