#include "apps/gpuprof/run/not_started.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/run_output.hpp"
#include "libprof/base/driver_library.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::app {
namespace {

// A hint for a file of gpuprof's that was named instead of a program; empty if it is not one.
std::string file_for_gpuprof(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  const std::string name = shell_line({path});
  const reading::ProfileFile file(path);
  const bool profile =
      file.format() == reading::Format::gpuprof || file.format() == reading::Format::nvprof;
  if (profile && !file.problem()) {
    return "It is a profile: gpuprof -i " + name + " prints its reports, gpuprof info " + name +
           " says what is in it.";
  }
  return file.is_capture() ? "It is a capture: gpuprof replay " + name + " prints its reports."
                           : "";
}

// The command that a first word that is not a program may have meant; empty if unknown.
std::string command_meant(const std::string& word) {
  struct Other {
    std::string_view word, command;
  };
  constexpr Other others[] = {
      {"version", "gpuprof --version"},
      {"stats", "gpuprof -i FILE"},
      {"report", "gpuprof -i FILE"},
      {"import", "gpuprof -i FILE"},
      {"run", "gpuprof PROGRAM"},
      {"record", "gpuprof -o FILE PROGRAM"},
      {"profile", "gpuprof -o FILE PROGRAM"},
  };
  for (const Other& other : others) {
    if (word == other.word) return "Did you mean \"" + std::string(other.command) + "\"?";
  }
  std::vector<std::string> names;
  for (const Subcommand* command : subcommands()) {
    if (!command->help.empty()) names.emplace_back(command->name);
  }
  std::erase_if(
      names, [&](const std::string& name) { return edit_distance(word, name) * 2 > name.size(); });
  const auto meant = nearest(word, names, 1);
  if (meant.empty()) return {};
  return "Did you mean \"gpuprof " + meant[0] + "\"?";
}

}  // namespace

void throw_not_started(const Error& error, const Options& options) {
  const std::string& program = options.application[0];
  const std::string file = file_for_gpuprof(program);
  const bool missing = std::string_view(error.what()).ends_with(std::strerror(ENOENT));
  const bool has_folder = program.find('/') != program.npos;
  if (file.empty() && (!missing || (has_folder && std::filesystem::exists(program)))) throw error;
  NvprofError not_found{{}, ExitCode::application_not_found};
  if (!options.quiet && file.empty() && !driver_found())
    not_found.lines.emplace_back(no_driver_line);
  not_found.lines.push_back("Error: application not found: " + printable(program));
  if (!file.empty()) {
    not_found.lines.push_back(printable(file));
  } else if (!has_folder && std::filesystem::exists(program)) {
    not_found.lines.push_back("It is in this folder: ./" + printable(program));
  } else if (const std::string meant = command_meant(program); !has_folder && !meant.empty()) {
    not_found.lines.push_back(meant);
  }
  throw not_found;
}

}  // namespace gpuprof::app
