// gpuprof doctor: what gpuprof can do on this machine, and what to type where it cannot.
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/print.hpp"

namespace gpuprof::app {
namespace {

// Of the 3 s that the command takes at most.
constexpr std::chrono::milliseconds patience{2700};

struct DoctorArguments {
  int process = 0;  // 0: none
  std::string output = "run.sqlite";
  bool json = false;
  std::vector<std::string> program;
};

int examine(DoctorArguments& arguments) {
  auto system = std::make_shared<doctor::System>(doctor::this_system(arguments.output));
  if (arguments.process > 0) system->process = std::to_string(arguments.process);
  system->program = arguments.program;
  const auto results = doctor::examine(system, doctor::checks_for(*system), patience);
  const int code = print_to_standard_output([&] {
    if (arguments.json) {
      std::cout << json_text(doctor::document(results), 2, true) << '\n';
    } else {
      doctor::print(results, std::cout);
    }
  });
  if (code != 0) return code;
  const bool can = doctor::count(results, doctor::Answer::cannot) == 0;
  return can ? 0 : static_cast<int>(ExitCode::doctor_cannot);
}

void declare_doctor(Grammar& grammar, DoctorArguments& arguments) {
  grammar.take("--pid", number_to(arguments.process, 1), "Also look at this running process", "N");
  grammar.take("--output", &arguments.output, "The profile that a run would write (run.sqlite)",
               "FILE");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take_after_dashes(arguments.program);
  grammar.footer(
      "\n"
      "  gpuprof doctor\n"
      "  gpuprof doctor -- python3 train.py\n"
      "\n"
      "Where there is a GPU, a kernel is recorded and a metric is collected. A program after -- "
      "is\n"
      "looked at and not run. It takes 3 s at most. Each line is ok, cannot or unknown; the exit\n"
      "code is 25 if one is cannot, otherwise 0.");
}

}  // namespace

extern const Subcommand doctor_command{
    .name = "doctor",
    .usage = "[--pid N] [-- PROGRAM]",
    .help = "Say what gpuprof can do here, and what to type where it cannot",
    .declare = command<DoctorArguments, declare_doctor, examine>,
};

}  // namespace gpuprof::app
