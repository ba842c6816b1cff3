#pragma once

#include <cstdint>
#include <vector>

#include "sotta/core/rng.h"

namespace sotta {

// The rule of the paper's code for a set of another size than is needed: too
// many, a sample without replacement; too few, as many whole copies as fit and
// a sample for the rest. In random order.
std::vector<int64_t> resample(int64_t size, int64_t count, const Rng& rng);

// A permutation of 0 .. labels.size()-1 that brings images of a class together
// in time: there are as many time slots as classes, a Dirichlet draw per class
// says which part of it falls into each slot, and a slot is shuffled. With a
// high concentration every slot holds all classes alike.
std::vector<int64_t> dirichlet_order(const std::vector<int64_t>& labels,
                                     int64_t classes, double concentration,
                                     const Rng& rng);

// Where the foreign samples of a stream stand (true) between the others: runs
// of `burst` at random places, the last one perhaps shorter.
std::vector<bool> interleave(int64_t others, int64_t foreign, int64_t burst,
                             const Rng& rng);

}  // namespace sotta
