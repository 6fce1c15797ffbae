// gpuprof annotate: samples and counts, instruction by instruction.
#include <iostream>
#include <memory>
#include <set>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/error.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/terminal/annotate.hpp"
#include "libprof/terminal/disassembly.hpp"

namespace gpuprof::app {
namespace {

constexpr std::size_t usual_functions = 5;

struct AnnotateArguments {
  std::string file, kernels, top, nvdisasm;
  bool disassemble = false;
};

// Disassembles the functions that will be shown.
void disassemble(terminal::Listing& listing, reading::Profile& profile, const std::string& nvdisasm,
                 std::size_t most, Progress& progress) {
  std::set<std::int64_t> codes;
  for (std::size_t i = 0; i < listing.functions.size() && i < most; ++i) {
    if (listing.functions[i].code != 0) codes.insert(listing.functions[i].code);
  }
  for (const std::int64_t code : codes) {
    const std::string cubin = terminal::code(profile, code);
    if (cubin.empty()) continue;
    progress.show("disassembling");
    terminal::add(listing, code, terminal::disassemble(nvdisasm, cubin, &Progress::is_interrupted));
    profile.database().check_watch();
  }
}

int show(const AnnotateArguments& arguments) {
  std::size_t most = usual_functions;
  if (!arguments.top.empty()) {
    const auto number = parse<std::size_t>(arguments.top);
    if (!number || *number == 0) {
      throw Error("--top takes a number from 1 on", "", ExitCode::bad_option);
    }
    most = *number;
  }
  std::string nvdisasm;
  if (arguments.disassemble || !arguments.nvdisasm.empty()) {
    nvdisasm = terminal::find_disassembler(arguments.nvdisasm);
  }
  reading::ProfileFile file(arguments.file);
  Progress progress;
  terminal::Listing listing;
  try {
    file.read(
        [&](store::Database& database) {
          database.watch(&Progress::is_interrupted);
          reading::Profile profile(database, {}, reading::NameStyle::modern,
                                   [&](std::string_view what) { progress.show(what); });
          listing = terminal::read(profile, arguments.kernels, [&] {
            progress.show("reading");
            database.check_watch();
          });
          if (!nvdisasm.empty()) disassemble(listing, profile, nvdisasm, most, progress);
        },
        [&](std::string_view what) { progress.show(what); });
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  progress.clear();
  if (listing.functions.empty()) {
    throw Error(arguments.kernels.empty()
                    ? "no instruction was sampled or counted"
                    : "no instruction of such a kernel was sampled or counted",
                "--pc-sampling and --source-level-analysis collect what is shown here",
                ExitCode::bad_option);
  }
  const int code = print_to_standard_output([&] { std::cout << terminal::text(listing, most); });
  if (code != 0) return code;
  return tell_notes(file);
}

std::function<int()> declare_annotate(Grammar& grammar) {
  auto arguments = std::make_shared<AnnotateArguments>();
  grammar.take({.name = "file",
                .to = &arguments->file,
                .help = "A profile, also one that is being written",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "--kernels",
                .to = &arguments->kernels,
                .help = "Only functions whose names contain this regular expression",
                .placeholder = "REGEX"});
  grammar.take({.name = "--top",
                .to = &arguments->top,
                .help = "Number of functions to show; 5 unless given",
                .placeholder = "N"});
  grammar.take({.name = "--disassemble",
                .to = &arguments->disassemble,
                .help =
                    "Show the instructions themselves: gives the code in the profile to NVIDIA's "
                    "nvdisasm, so not for profiles of strangers"});
  grammar.take({.name = "--nvdisasm",
                .to = &arguments->nvdisasm,
                .help = "The same with this program; else the one in PATH or /usr/local/cuda/bin",
                .placeholder = "PATH"});
  grammar.footer(
      "\nFunctions with the most PC samples come first, then those whose warps executed most. "
      "Threads "
      "is\nhow many of a warp executed the instruction on average. Without --disassemble only "
      "instructions\nthat were sampled or counted are shown, by their offset.");
  return [arguments] { return show(*arguments); };
}

}  // namespace

extern const Subcommand annotate_command{
    .name = "annotate",
    .usage = "FILE [--kernels REGEX] [--disassemble]",
    .help = "Show PC samples and SASS metrics instruction by instruction",
    .declare = declare_annotate,
};

}  // namespace gpuprof::app
