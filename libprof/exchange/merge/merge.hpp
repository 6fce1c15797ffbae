// Makes one profile of those of several processes, such as the ranks of a job.
//
// Rows are copied with other numbers where two files use the same one: processes, correlation ids,
// devices, strings, and numbered rows of tables, such as metrics. Times of all files are on the
// clock of the first. What a run computes at its end is computed again. Rows pass through one at a
// time, so memory does not grow with them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::merging {

struct Job {
  std::vector<std::string> files;  // at least two; complete profiles of gpuprof
  std::string path;                // of the new file
  std::string shown_as;            // its name in messages
  std::string command;             // recorded in RUN
  std::function<void(std::string_view what)> progress;  // called now and then
  std::function<bool()> stop;  // true: ends with a DatabaseError (interrupted)
};

struct Merged {
  std::int64_t records = 0;
  std::vector<std::string> notes;  // what differs from the files, one sentence each
};

// Throws Error for a file that is no complete and undamaged profile of gpuprof, or cannot be
// merged; the new file is then useless. This process must not have any of the files open.
Merged merge(const Job& job);

}  // namespace gpuprof::merging
