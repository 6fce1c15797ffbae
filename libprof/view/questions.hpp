// What the user asks the file in SQL.
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
  std::size_t cell = 2000;      // bytes of a text, the middle of a longer one goes
};

// Why there is no answer.
constexpr const char* ended_for_another = "it was ended: something else was asked";
std::string too_long(const QuestionLimits& limits);

// As JSON: `columns`, `rows`, `zero` (of the run, as text), and as `ends_by` "rows" or "bytes"
// where there are more. A cell is null, a number, a text, or an object: `exact`, a number that
// JSON's readers do not hold exactly; `cut`, a text, and `of`, how many bytes it had; `blob`, its
// bytes. Throws Error in SQLite's words, and where it takes too long or is over.
std::string rows_answer(store::Database& database, std::int64_t zero, std::string_view sql,
                        const std::function<bool()>& is_over, const QuestionLimits& limits = {});

}  // namespace gpuprof::view
