// Which contents reveal who created a profile and where.
//
// An allow-list: columns, tables, texts and RUN keys not listed here do not get into an anonymized
// excerpt. Numbers are kept where a number belongs, and words if they are among those that gpuprof
// writes there.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::exporting {

enum class Content {
  plain,   // numbers, and blobs of numbers
  string,  // a StringTable id whose string may stay: names of kernels, NVTX messages, …
  words,   // one of a few words of ours, or rewritten
  text,    // what CUPTI and gpuprof say about metrics etc.; names of kernels and of NVTX
  secret,
};

Content content_of(std::string_view table, std::string_view column);

// SQL for the excerpt's value of a column, evaluated on a row of the original. Lookups use this
// build's documentation tables, which the excerpt already has: STATISTIC_DOC, TABLE_TEXT, DOC_TEXT.
std::string what_stays(std::string_view table, std::string_view column);

// An SQL condition for the rows of the table that may stay; empty: all. For StringTable the caller
// decides, because it knows which strings are still referenced.
std::string rows_that_stay(std::string_view table);

}  // namespace gpuprof::exporting
