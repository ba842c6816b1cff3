#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace sotta {

// Who runs which cell when several processes work on one grid. Cells are named
// by their identity (record/run_identity.h).
//
// All methods may run at once. They throw Error(kIo) when the others can no
// longer be reached.
class CellClaims {
 public:
  enum class Answer {
    kMine,    // run it
    kTaken,   // another process is at it; ask again later
    kDone,    // another process has recorded it
    kFailed,  // another process could not run it
  };

  virtual ~CellClaims() = default;

  virtual Answer claim(const std::string& identity) = 0;

  // A claimed cell is recorded, has failed, or is given back.
  virtual void finish(const std::string& identity) = 0;
  virtual void mark_failed(const std::string& identity) = 0;
  virtual void release(const std::string& identity) = 0;
};

// One process: every cell is its own.
std::unique_ptr<CellClaims> make_local_claims();

// The place of this process among several, as torchrun, Slurm and MPI say it.
struct RankOptions {
  int64_t rank = 0;
  int64_t world = 1;  // how many there are

  // Where the processes meet. Rank 0 opens the port there unless something else
  // (torchrun's agent) has done so.
  std::string address = "127.0.0.1";
  int64_t port = 29500;
  bool hosts = true;

  // A process that shows no sign of life for so many seconds has died; its
  // cells are taken over. So long the others wait for rank 0 at the start.
  double lost_after = 30;

  // How often the launcher has started all processes anew, if it says so: cells
  // that failed before are tried again.
  int64_t restarts = 0;
};

// Several processes that meet in LibTorch's key-value store (c10d's TCPStore).
// A cell has one owner at a time; the cell of a process that died is taken over
// by the next to ask. A cell that failed is tried once more by a process that
// was started again since (as torchrun does it, where the store outlives them).
// Destroying rank 0's waits for the others to leave.
//
// Throws Error(kInvalid) for a rank outside the world, Error(kIo) if the store
// cannot be reached, Error(kUnsupported) where LibTorch has none.
std::unique_ptr<CellClaims> make_store_claims(const RankOptions& options);

}  // namespace sotta
