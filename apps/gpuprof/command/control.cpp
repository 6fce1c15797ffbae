// Commands for a recording that goes on: what it does, and what it should do.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/launch/control_socket.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::app {
namespace {

struct ControlArguments {
  std::string recording;
  bool json = false;
};

struct SnapshotJob : ExcerptJob {
  bool as_it_is = false;
};

wire::Fields ask(const std::string& recording, std::string_view what) {
  wire::Fields request;
  request.set("do", what);
  return launch::ask_recording(recording, request);
}

std::vector<std::string> files_of(const wire::Fields& answer) {
  const std::string_view files = answer.text("files");
  return files.empty() ? std::vector<std::string>() : split(files, '\n');
}

std::string records_of(const wire::Fields& answer) {
  const std::vector<std::string> files = files_of(answer);
  return count_of(answer.integer("records"), "record") + " in " +
         (files.empty() ? "no file yet" : printable(joined(files, ", ")));
}

// What did not work, for the user.
void print_trouble(const wire::Fields& answer) {
  if (const std::int64_t silent = answer.integer("silent")) {
    std::cout << "gpuprof: " << count_of(silent, "process") << " of " << answer.integer("processes")
              << " did not answer\n";
  }
  if (const auto late = answer.find("late")) {
    std::cout << "gpuprof: not everything is in the file: " << printable(*late) << '\n';
  }
}

bool in_full(const wire::Fields& answer) {
  return answer.integer("silent") == 0 && !answer.find("late");
}

int print_answer(const wire::Fields& answer, std::string_view done) {
  const int code = print_to_standard_output([&] {
    std::cout << "gpuprof: " << done << records_of(answer) << '\n';
    print_trouble(answer);
  });
  return code != 0 || in_full(answer) ? code : static_cast<int>(ExitCode::output_failed);
}

int start_again(ControlArguments& arguments) {
  return print_answer(ask(arguments.recording, "start"), "recording; so far ");
}

int stop_for_now(ControlArguments& arguments) {
  return print_answer(ask(arguments.recording, "stop"), "stopped; ");
}

int flush_all(ControlArguments& arguments) {
  return print_answer(ask(arguments.recording, "flush"), "");
}

nlohmann::ordered_json json_of(const wire::Fields& status) {
  nlohmann::ordered_json document;
  for (const auto& [name, value] : status) {
    const auto number = parse<std::int64_t>(value);
    if (name == "files") {
      document[name] = files_of(status);
    } else if (name == "processes") {
      document[name] = status.numbers(name);
    } else if (number) {
      document[name] = *number;
    } else {
      document[name] = value;
    }
  }
  return document;
}

void print_status(const wire::Fields& status) {
  const std::string_view state = status.text("state");
  const std::string seconds =
      report::format_time(static_cast<std::uint64_t>(status.integer("state_ms")) * 1'000'000,
                          {.width = 1, .exponent_from = 1000});
  const auto line = [](std::string_view name, std::string_view text) {
    std::cout << name << std::string(12 - name.size(), ' ') << printable(text) << '\n';
  };
  line("state", state == "records"   ? "recording for " + seconds
                : state == "waits"   ? "waiting to begin, " + seconds + " so far"
                : state == "stopped" ? "stopped for " + seconds
                                     : "the file can no longer be written");
  line("trace", status.text("trace"));
  line("processes",
       status.text("processes").empty() ? "none uses CUDA yet" : status.text("processes"));
  line("gpuprof", status.text("gpuprof"));
  if (const auto job = status.find("job")) {
    const auto rank = status.find("rank");
    line("job", std::string(*job) + (rank ? ", rank " + std::string(*rank) : ""));
  }
  line("records", records_of(status));
  if (const std::int64_t let_go = status.integer("let_go")) {
    line("let go", std::to_string(let_go) + " older ones");
  }
  line("size", report::binary_size(static_cast<double>(status.integer("bytes"))));
  const std::int64_t missing = status.integer("missing");
  const std::int64_t untimed = status.integer("without_times");
  std::string lost = missing > 0 ? count_of(missing, "record") + " missing" : "";
  if (untimed > 0) lost += (lost.empty() ? "" : ", ") + std::to_string(untimed) + " without times";
  if (status.integer("uncounted") > 0)
    lost += (lost.empty() ? "" : ", ") + std::string("some uncounted");
  line("losses", lost.empty() ? "none" : lost);
}

int show_status(ControlArguments& arguments) {
  const wire::Fields status = ask(arguments.recording, "status");
  return print_to_standard_output([&] {
    arguments.json ? void(std::cout << json_text(json_of(status), 2) << '\n')
                   : print_status(status);
  });
}

// Of the files of a recording, the one that was named.
std::string chosen_file(const std::string& named, const std::vector<std::string>& files) {
  if (files.empty()) {
    throw Error("nothing is recorded yet", "", ExitCode::nothing_recorded);
  }
  if (files.size() == 1) return files.front();
  std::error_code ignored;
  const std::string path = std::filesystem::weakly_canonical(named, ignored).string();
  const auto found = std::ranges::find(files, path);
  if (found != files.end()) return *found;
  throw Error("it records into " + std::to_string(files.size()) + " files",
              "name one of them: " + printable(joined(files, ", ")), ExitCode::bad_option);
}

int take_snapshot(SnapshotJob& job) {
  job.options.finish = true;
  if (job.as_it_is) return write_excerpt(job);
  const wire::Fields answer = ask(job.input, "flush");
  job.input = chosen_file(job.input, files_of(answer));
  const int code = write_excerpt(job);
  if (!job.file.quiet) print_trouble(answer);
  return code;
}

void take_recording(Grammar& grammar, std::string& to) {
  grammar.take({.name = "recording",
                .to = &to,
                .help = "A process that is recorded, its gpuprof, or the file that is written",
                .placeholder = "PID|FILE",
                .required = true});
}

void declare_control(Grammar& grammar, ControlArguments& arguments) {
  take_recording(grammar, arguments.recording);
}

void declare_status(Grammar& grammar, ControlArguments& arguments) {
  take_recording(grammar, arguments.recording);
  grammar.take("--json", &arguments.json, "One JSON document");
}

void declare_snapshot(Grammar& grammar, SnapshotJob& job) {
  take_recording(grammar, job.input);
  grammar.take("--as-it-is", &job.as_it_is,
               "Of a FILE: what is in it already, without asking the processes for more");
  grammar.take(
      "--until",
      [&job](const std::string& value) -> std::string {
        job.options.until = parse<std::int64_t>(value);
        return job.options.until ? "" : "a time of day, in ns since 1970";
      },
      "Only what began before this time of day, so that copies of several recordings end together",
      "NS");
  grammar.take("--why", &job.options.why, "What gpuprof info should say about it", "TEXT");
  take_file_options(grammar, job);
  grammar.require("export-profile");
}

}  // namespace

extern const Subcommand status_command{
    .name = "status",
    .usage = "PID|FILE",
    .help = "Say what a recording does: state, records, size, losses",
    .rare = true,
    .declare = command<ControlArguments, declare_status, show_status>,
};

extern const Subcommand start_command{
    .name = "start",
    .usage = "PID|FILE",
    .help = "Record again, in a run that is recorded",
    .rare = true,
    .declare = command<ControlArguments, declare_control, start_again>,
};

extern const Subcommand stop_command{
    .name = "stop",
    .usage = "PID|FILE",
    .help = "Record nothing until gpuprof start; the program runs on",
    .rare = true,
    .declare = command<ControlArguments, declare_control, stop_for_now>,
};

extern const Subcommand flush_command{
    .name = "flush",
    .usage = "PID|FILE",
    .help = "Write everything that is recorded so far to the file",
    .rare = true,
    .declare = command<ControlArguments, declare_control, flush_all>,
};

extern const Subcommand snapshot_command{
    .name = "snapshot",
    .usage = "PID|FILE -o FILE",
    .help = "Copy what is recorded so far into a file of its own",
    .rare = true,
    .declare = command<SnapshotJob, declare_snapshot, take_snapshot>,
};

}  // namespace gpuprof::app
