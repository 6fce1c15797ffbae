// What a profile contains: run, processes, devices, records, losses. For gpuprof info.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "libprof/report/stalled_work.hpp"

namespace gpuprof::reading {
class ProfileFile;
}

namespace gpuprof::report {

struct ContentsOptions {
  bool exact = false;  // read large files whole to count records and find times
  std::int64_t hang_after = StalledWork::usual_time;  // see StalledWork
};

// One JSON object, with keys in reading order. `show` is called with the name of each slow step.
// The object also says what is wrong with the file; `file` handles damage inside it.
nlohmann::ordered_json read_contents(reading::ProfileFile& file, const std::string& name,
                                     const ContentsOptions& options,
                                     const std::function<void(std::string_view)>& show);

// The same contents in readable form, to standard output.
void print_contents(const nlohmann::ordered_json& contents);

}  // namespace gpuprof::report
