#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sotta/eval/cell_claims.h"

namespace sotta {

// Named values that several processes see. Every call is atomic and may come
// from any thread; it throws Error(kIo) if the store cannot be reached.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  // Sets `key` to `desired` if it is `expected`; "" expects that there is none.
  // Returns what it is then.
  virtual std::string compare_set(const std::string& key,
                                  const std::string& expected,
                                  const std::string& desired) = 0;

  // Sets it whatever it was.
  virtual void set(const std::string& key, const std::string& value) = 0;

  // Adds to a counter, which begins at 0, and returns it.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
};

// c10d's TCPStore; where LibTorch comes without it, throws Error(kUnsupported).
std::unique_ptr<KeyStore> connect_key_store(const RankOptions& options);

}  // namespace sotta
