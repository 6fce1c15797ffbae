// Names of kernels for people: as short as is unique within a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// As a row of StringTable has it.
struct KernelName {
  std::int64_t id = 0;
  std::string value;       // mangled, if it is a name of C++
  std::string demangled;   // empty: value is no mangled name
  std::string short_form;  // the function alone; empty as demangled
};

// None is longer. Where what tells names apart does not fit, their ids do: "#17 …".
inline constexpr std::size_t most_display_bytes = 160;

// By the names' places. A function that has one kernel in the file is its own name. Kernels of one
// template get what tells them apart besides, first of all a functor; long names in C are written
// with the words in which they differ:
//   vectorized_elementwise_kernel<…FillFunctor…>
//   sm80_xmma_gemm…tn_n_tilesize32x32x8…
// No two are the same. They depend on nothing but the texts, and on ids where these do not tell.
std::vector<std::string> display_names(std::span<const KernelName> names);

// Fills StringTable.display for kernels with these ids, inside the caller's transaction.
void write_display_names(store::Database& database, const std::set<std::int32_t>& kernels);

}  // namespace gpuprof::derive
