// What tells who made a profile and where, and what does not.
//
// An allow-list: a column, table or key of RUN that is not known here does not stay in a part that
// is to be anonymous.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::exporting {

enum class Content {
  plain,   // numbers, and words of CUDA's and ours
  string,  // an id of StringTable whose string may stay: names of kernels, NVTX messages, …
  secret,
};

Content content_of(std::string_view table, std::string_view column);

// What stands in the place of a secret: SQL.
std::string_view blank_of(std::string_view table, std::string_view column);

// Which rows of the table may stay: a condition in SQL; empty: all. Those of StringTable are left
// to the caller, who knows which strings are still referred to.
std::string rows_that_stay(std::string_view table);

}  // namespace gpuprof::exporting
