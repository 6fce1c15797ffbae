// What tells who made a profile and where, and what does not.
//
// An allow-list: a column, table, text or key of RUN that is not known here does not stay in a part
// that is to be anonymous. Numbers stay where a number belongs, words where they are among those
// that gpuprof writes there.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::exporting {

enum class Content {
  plain,   // numbers, and blobs that hold some
  string,  // an id of StringTable whose string may stay: names of kernels, NVTX messages, …
  words,   // one of a few words of ours, or made anew
  text,    // what CUPTI and gpuprof say of metrics and the like; names of kernels and of NVTX
  secret,
};

Content content_of(std::string_view table, std::string_view column);

// What is put into a column of the part: SQL, over a row of the whole. Where it looks things up,
// the part has this build's own words already: STATISTIC_DOC, TABLE_DOC.
std::string what_stays(std::string_view table, std::string_view column);

// Which rows of the table may stay: a condition in SQL; empty: all. Those of StringTable are left
// to the caller, who knows which strings are still referred to.
std::string rows_that_stay(std::string_view table);

}  // namespace gpuprof::exporting
