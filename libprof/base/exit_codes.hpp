// Exit codes of gpuprof when it does not pass on the target's own. Help, the man page and the
// documentation are generated from this table.
#pragma once

#include <csignal>
#include <string_view>

namespace gpuprof {

// Codes up to 13 are nvprof's.
enum class ExitCode : int {
  ok = 0,
  no_application = 3,
  internal = 4,
  bad_option = 5,
  missing_argument = 6,
  application_not_found = 13,
  import_failed = 20,
  output_failed = 21,
  no_metrics = 22,
  no_driver = 23,
  nothing_recorded = 24,
  doctor_cannot = 25,
  program_failed = 26,
  reader_gone = 128 + SIGPIPE,
};

struct ExitCodeInfo {
  ExitCode code;
  std::string_view meaning;

  constexpr int number() const { return static_cast<int>(code); }
};
inline constexpr ExitCodeInfo exit_codes[] = {
    {ExitCode::ok, "done, and the program ended with 0"},
    {ExitCode::no_application, "no program was named"},
    {ExitCode::internal,
     "internal error, also: a variable of %q{NAME} is not set, the collector is missing"},
    {ExitCode::bad_option, "wrong option, metric or window, or options that exclude one another"},
    {ExitCode::missing_argument, "the last option lacks its value"},
    {ExitCode::application_not_found, "the program was not found, or cannot be run"},
    {ExitCode::import_failed, "the file to read is missing, damaged, or not a profile or capture"},
    {ExitCode::output_failed,
     "a file to write exists, cannot be written or was removed, or the disk is full"},
    {ExitCode::no_metrics, "metrics cannot be collected here, and --require-metrics was given"},
    {ExitCode::no_driver, "there is no CUDA driver"},
    {ExitCode::nothing_recorded, "nothing was recorded, and --fail-if-empty was given"},
    {ExitCode::doctor_cannot, "gpuprof doctor found something that cannot be done here"},
    {ExitCode::program_failed, "a program that gpuprof gate runs failed, or used no GPU"},
    {ExitCode::reader_gone, "the reader of what gpuprof prints has gone"},
};

}  // namespace gpuprof
