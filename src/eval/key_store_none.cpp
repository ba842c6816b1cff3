#include "sotta/core/error.h"

#include "eval/key_store.h"

namespace sotta {

std::unique_ptr<KeyStore> connect_key_store(const RankOptions&) {
  fail(ErrorKind::kUnsupported, "ranks",
       "this LibTorch comes without c10d; divide the cells with --shard");
}

}  // namespace sotta
