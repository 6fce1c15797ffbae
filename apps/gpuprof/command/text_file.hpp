// A new file of text.
#pragma once

#include <string_view>

#include "libprof/record/output_file.hpp"

namespace gpuprof::app {

// Writes the file and gives it its name. Throws Error.
void write_text(record::OutputFile& file, std::string_view text);

}  // namespace gpuprof::app
