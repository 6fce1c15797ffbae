// The user's SQL queries of the file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::view {

struct QuestionLimits {
  std::chrono::milliseconds time{5000};
  std::size_t rows = 10'000;
  std::size_t bytes = 8 << 20;  // of the answer
  std::size_t cell = 2000;      // bytes of a text; the middle of a longer one is cut out
};

// Reasons why there is no answer.
constexpr const char* ended_for_another = "it was ended: something else was asked";
std::string too_long(const QuestionLimits& limits);

// JSON with `columns`, `rows`, `zero` (of the run, as text), and `ends_by` "rows" or "bytes" if
// there are more. A cell is null, a number, a text, or an object: `exact` has a number that JSON
// readers cannot represent exactly; `cut` has a shortened text and `of` its size in bytes; `blob`
// has its bytes. Throws Error with SQLite's message, and if it takes too long or is_over() is true.
std::string rows_answer(store::Database& database, std::int64_t zero, std::string_view sql,
                        const std::function<bool()>& is_over, const QuestionLimits& limits = {});

}  // namespace gpuprof::view
