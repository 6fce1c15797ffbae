#include "apps/gpuprof/command/with_profile.hpp"

#include <cstdio>

#include "apps/gpuprof/command/standard_output.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"

namespace gpuprof::app {

int with_profile(const std::string& path, const std::function<void(const OpenProfile&)>& read,
                 const std::function<void()>& print, bool quiet) {
  reading::ProfileFile file(path);
  if (file.problem()) throw Error(*file.problem());
  Progress progress;
  try {
    const int code = print_to_standard_output([&] {
      file.read(
          [&](store::Database& database) {
            database.watch(&Progress::is_interrupted);
            read({file, database, progress});
          },
          [&](std::string_view what) { progress.show(what); });
      progress.clear();
      if (print) print();
    });
    if (code != 0) return code;
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  return tell_notes(file, quiet);
}

void say(const std::string& text) {
  std::fprintf(stderr, "gpuprof: %s\n", printable_lines(text).c_str());
}

int tell_notes(const reading::ProfileFile& file, bool quiet) {
  for (const std::string& note : file.notes()) {
    if (!quiet) say(note);
  }
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
