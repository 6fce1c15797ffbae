// What the user asks the file in SQL, answered by a process of its own: SQLite asks nobody while it
// sorts or is inside a function, and nothing else ends it then. Memory is that process's too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuprof::view {

struct QuestionFile {
  std::string path;
  std::string copy = {};  // of what can be read of it; empty: there is none
};

// rows_answer(), on any thread. Throws Error as that does, and where the time is over all the same.
std::string ask_in_process(const QuestionFile& file, std::int64_t zero, std::string_view sql,
                           const std::function<bool()>& is_over);

// The other side, "gpuprof view-question": reads SQL from standard input. Throws Error.
std::string answer_in_process(const QuestionFile& file, std::int64_t zero, std::string_view sql);

}  // namespace gpuprof::view
