// Names of kernels for people: as short as is unique within a file.
#pragma once

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

// By the names' places. A function that has one kernel in the file is its own name. Kernels of one
// template get what tells them apart besides, first of all a functor:
//   vectorized_elementwise_kernel<…FillFunctor…>
// No two are the same. They depend on nothing but the texts, and on ids where texts are the same.
std::vector<std::string> display_names(std::span<const KernelName> names);

// Fills StringTable.display for kernels with these ids, inside the caller's transaction.
void write_display_names(store::Database& database, const std::set<std::int32_t>& kernels);

}  // namespace gpuprof::derive
