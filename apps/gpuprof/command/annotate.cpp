// gpuprof annotate: samples and counts, instruction by instruction.
#include <iostream>
#include <set>

#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/terminal/annotate.hpp"
#include "libprof/terminal/disassembly.hpp"

namespace gpuprof::app {
namespace {

struct AnnotateArguments {
  std::string file, kernels, nvdisasm;
  std::size_t top = 5;
  bool disassemble = false;
};

// Disassembles the functions that will be shown.
void disassemble(terminal::Listing& listing, reading::Profile& profile, const std::string& nvdisasm,
                 std::size_t most) {
  std::set<std::int64_t> codes;
  for (std::size_t i = 0; i < listing.functions.size() && i < most; ++i) {
    if (listing.functions[i].code != 0) codes.insert(listing.functions[i].code);
  }
  for (const std::int64_t code : codes) {
    const std::string cubin = terminal::code(profile, code);
    if (cubin.empty()) continue;
    profile.progress("disassembling");
    terminal::add(listing, code, terminal::disassemble(nvdisasm, cubin, &Progress::is_interrupted));
    profile.database().check_watch();
  }
}

int show(AnnotateArguments& arguments) {
  std::string nvdisasm;
  if (arguments.disassemble || !arguments.nvdisasm.empty()) {
    nvdisasm = terminal::find_disassembler(arguments.nvdisasm);
  }
  terminal::Listing listing;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        reading::Profile profile(open.database, {}, reading::NameStyle::modern,
                                 [&](std::string_view what) { open.show(what); });
        listing = terminal::read(profile, arguments.kernels, [&] { open.show("reading"); });
        if (!nvdisasm.empty()) disassemble(listing, profile, nvdisasm, arguments.top);
      },
      [&] {
        if (listing.functions.empty()) {
          throw Error(arguments.kernels.empty()
                          ? "no instruction was sampled or counted"
                          : "no instruction of such a kernel was sampled or counted",
                      "--pc-sampling and --source-level-analysis collect what is shown here",
                      ExitCode::bad_option);
        }
        std::cout << terminal::text(listing, arguments.top);
      });
}

void declare_annotate(Grammar& grammar, AnnotateArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, also one that is being written");
  grammar.take("--kernels", &arguments.kernels,
               "Only functions whose names contain this regular expression", "REGEX");
  grammar.take("--top", number_to(arguments.top, 1), "Number of functions to show; 5 unless given",
               "N");
  grammar.take("--disassemble", &arguments.disassemble,
               "Show the instructions themselves: gives the code in the profile to "
               "NVIDIA's nvdisasm, so not for profiles of strangers");
  grammar.take("--nvdisasm", &arguments.nvdisasm,
               "The same with this program; else the one in PATH or /usr/local/cuda/bin", "PATH");
  grammar.footer(
      "\nFunctions with the most PC samples come first, then those whose warps executed most. "
      "Threads is\nhow many of a warp executed the instruction on average. Without --disassemble "
      "only instructions\nthat were sampled or counted are shown, by their offset.");
}

}  // namespace

extern const Subcommand annotate_command{
    .name = "annotate",
    .usage = "FILE [--disassemble]",
    .help = "Show PC samples and SASS metrics instruction by instruction",
    .declare = command<AnnotateArguments, declare_annotate, show>,
};

}  // namespace gpuprof::app
