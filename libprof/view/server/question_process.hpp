// Runs the user's SQL in a separate process: while SQLite sorts or is inside a function it polls
// nothing, and only killing the process ends it. This also separates its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::view {

struct QuestionFile {
  std::string path;
  std::string copy = {};  // a copy of the readable parts; empty: none
};

// rows_answer() in another process, from any thread. Throws the same Error, and ends reliably on
// timeout.
std::string ask_in_process(const QuestionFile& file, std::int64_t zero, std::string_view sql,
                           const std::function<bool()>& is_over);

// The child's side, "gpuprof view-question": reads SQL from standard input. Throws Error.
std::string answer_in_process(const QuestionFile& file, std::int64_t zero, std::string_view sql);

}  // namespace gpuprof::view
