// Output names with nvprof's placeholders.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// Whether the name contains %p: each process of the run then has a separate file.
bool names_process(std::string_view pattern);

// %p process id, %h host name, %q{NAME} environment variable, %% a percent sign. Throws
// gpuprof::Error for an unset variable or an unknown placeholder.
std::string expand_name(std::string_view pattern, long process_id);

}  // namespace gpuprof
