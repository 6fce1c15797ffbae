// Output names with nvprof's placeholders.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::launch {

// True when the name has %p: each process of the run then has a file of its own.
bool names_process(std::string_view pattern);

// %p process id, %h host name, %q{NAME} environment variable, %% a percent sign. Throws
// gpuprof::Error for a variable that is not set or a placeholder that is none.
std::string expand_name(std::string_view pattern, long process_id);

}  // namespace gpuprof::launch
