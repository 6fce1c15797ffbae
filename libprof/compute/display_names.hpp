// Display names of kernels: as short as possible while unique within a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// A row of StringTable.
struct KernelName {
  std::int64_t id = 0;
  std::string value;       // mangled if it is a C++ name
  std::string demangled;   // empty: value is not a mangled name
  std::string short_form;  // function name only; empty if demangled is
};

// Upper limit. If the distinguishing part does not fit, the id is used: "#17 …".
inline constexpr std::size_t most_display_bytes = 160;

// Indexed like `names`. A function with a single kernel in the file is shown by its own name.
// Kernels of one template also show what distinguishes them, preferably a functor; long C names
// show the words in which they differ:
//   vectorized_elementwise_kernel<…FillFunctor…>
//   sm80_xmma_gemm…tn_n_tilesize32x32x8…
// No two are the same. They depend only on the texts, and on ids where the texts do not
// distinguish.
std::vector<std::string> display_names(std::span<const KernelName> names);

// Fills StringTable.display for kernels with these ids, inside the caller's transaction.
void write_display_names(store::Database& database, const std::set<std::int32_t>& kernels);

}  // namespace gpuprof::compute
