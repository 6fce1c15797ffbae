// What is in a profile: run, processes, devices, records, losses. For gpuprof info.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace gpuprof::reading {
class ProfileFile;
}

namespace gpuprof::report {

struct ContentsOptions {
  bool exact = false;  // read all of a large file, to count records and find times
};

// One JSON object, its keys in the order in which they are read. `show` is told what takes its
// time. What is wrong with the file is in there too; damage in the middle of it is dealt with by
// the file.
nlohmann::ordered_json read_contents(reading::ProfileFile& file, const std::string& name,
                                     const ContentsOptions& options,
                                     const std::function<void(std::string_view)>& show);

// The same for people, to standard output.
void print_contents(const nlohmann::ordered_json& contents);

}  // namespace gpuprof::report
