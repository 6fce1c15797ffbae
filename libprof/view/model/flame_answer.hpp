// Kernels by what led to their launches, for a flame graph, as JSON.
#pragma once

#include <cstddef>
#include <functional>

#include <nlohmann/json_fwd.hpp>

#include "libprof/compute/kernel_paths.hpp"
#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

// Of the kernels that begin in the window, with at most `most` rows of kernels:
//
//   ways: ["ranges", "stacks"], those that the file can tell, and `by`: this one
//   nodes: [[parent, words]...]: ranges or functions; the first is the root, a parent comes first
//   kernels: [[node, name, color, ns, launches]...], most time first
//   rest: [ns, launches] of the kernels that are left out
nlohmann::json flame_answer(store::Snapshot& snapshot, compute::PathBy by, const Window& window,
                            std::size_t most, const std::function<void()>& check);

// By ranges, if the file has any with kernels; otherwise by stacks, if it has those.
compute::PathBy usual_paths(store::Database& database);

}  // namespace gpuprof::view
