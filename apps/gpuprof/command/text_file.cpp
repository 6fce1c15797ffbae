#include "apps/gpuprof/command/text_file.hpp"

#include <fstream>

#include "libprof/base/error.hpp"

namespace gpuprof::app {

void write_text(record::OutputFile& made, std::string_view text) {
  std::ofstream file(made.path(), std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    throw Error(made.name() + " cannot be written", "is there room?", ExitCode::output_failed);
  }
  made.place();
}

}  // namespace gpuprof::app
