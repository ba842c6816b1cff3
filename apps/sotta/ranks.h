#pragma once

#include <optional>

#include "sotta/eval/cell_claims.h"

namespace sotta::cli {

// The place of this process among those that were launched together, as the
// environment says it: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
// (torchrun), SLURM_PROCID and SLURM_NTASKS (srun), OMPI_COMM_WORLD_RANK and
// _SIZE (Open MPI's mpirun). Nothing if it is the only one.
//
// Throws Error(kInvalid) for numbers that are none, and if nothing says where
// rank 0 runs.
std::optional<RankOptions> ranks_from_environment();

}  // namespace sotta::cli
