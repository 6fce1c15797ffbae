// gpuprof serve: numbers of a recording for Prometheus, and profiles for OpenTelemetry.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/exchange/export/otlp.hpp"
#include "libprof/record/launch/control_socket.hpp"
#include "libprof/report/latest_window.hpp"
#include "libprof/report/prometheus.hpp"
#include "libprof/view/server/metrics_page.hpp"
#include "libprof/view/server/server.hpp"

namespace gpuprof::app {
namespace {

// gRPC's limit; OpenTelemetry's collector takes 20 MiB over HTTP.
constexpr exporting::OtlpLimits most_of_profiles{.stacks = 10'000, .bytes = 4 << 20};

struct ServeArguments {
  std::string recording;
  view::Endpoint endpoint{.port = 9400};
  std::string token_file;
  std::optional<std::chrono::milliseconds> last;
};

// Of a number, the file that its recording writes.
std::string file_of(const std::string& recording) {
  if (!parse<std::int64_t>(recording)) return recording;
  wire::Fields request;
  request.set("do", "status");
  const wire::Fields answer = launch::ask_recording(recording, request);
  const std::vector<std::string> files = split(answer.text("files"), '\n');
  if (files.size() == 1 && !files[0].empty()) return files[0];
  throw Error(files.size() == 1 ? "nothing is recorded yet"
                                : "it records into " + std::to_string(files.size()) + " files",
              files.size() == 1 ? "" : "name one of them: " + printable(joined(files, ", ")),
              ExitCode::bad_option);
}

std::string token_in(const std::string& file) {
  constexpr std::size_t least = 16, most = 512;
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) {
    throw Error(file + " cannot be read", "--token-file names a file with a token",
                ExitCode::bad_option);
  }
  if ((facts.st_mode & 077) != 0) {
    throw Error("others may read " + file, "chmod 600 " + file, ExitCode::bad_option);
  }
  std::ifstream stream(file);
  std::string text(most + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  if (text.size() < least || text.size() > most || !std::ranges::all_of(text, is_plain)) {
    throw Error(file + " has no token of 16 to 512 characters without blanks",
                "head -c 24 /dev/urandom | base64 > FILE", ExitCode::bad_option);
  }
  return text;
}

int serve_numbers(ServeArguments& arguments) {
  const std::string file = file_of(arguments.recording);
  const std::string token =
      arguments.token_file.empty() ? std::string() : token_in(arguments.token_file);
  Progress progress;
  // Says what is wrong with the file now, and not only to Prometheus.
  reading::ProfileFile(file).database();
  view::Listener listener(arguments.endpoint, token);
  report::LatestWindow latest(arguments.last.value_or(std::chrono::seconds(60)));
  report::LatestWindow::Times window;
  report::Prometheus numbers;
  using Check = std::function<void()>;
  view::MetricsPages pages(
      file, [&](store::Database& database) { window = latest.find(database); },
      {{.path = "metrics",
        .type = "text/plain; version=0.0.4",
        .read = [&](store::Database& database,
                    const Check& check) { return numbers.text(database, window, check); }},
       {.path = "v1development/profiles",
        .type = view::protobuf_type,
        .read = [&](store::Database& database, const Check& check) {
          return exporting::otlp_of_window(database, window.from, window.to, most_of_profiles,
                                           check);
        }}});
  std::cout << listener.address() << "metrics\nCtrl-C ends it." << std::endl;
  listener.serve([&](const view::Request& request) { return pages(request); },
                 &Progress::is_interrupted);
  return 0;
}

void declare_serve(Grammar& grammar, ServeArguments& arguments) {
  grammar.take({.name = "recording",
                .to = &arguments.recording,
                .help = "A profile, also one that is being written, or a process that is recorded",
                .placeholder = "FILE|PID",
                .required = true});
  grammar.take(
      "--listen",
      [&arguments](const std::string& value) -> std::string {
        const auto endpoint = view::Endpoint::parsed(value);
        if (!endpoint) return "an address of IPv4 and a port, such as 127.0.0.1:9400";
        arguments.endpoint = *endpoint;
        return "";
      },
      "Where (127.0.0.1:9400); other addresses than those of this machine need a token",
      "ADDRESS:PORT");
  grammar.take("--token-file", &arguments.token_file,
               "Answer only requests with \"Authorization: Bearer\" and what this file has",
               "FILE");
  grammar.take("--last", time_to(arguments.last), "Of how much time, up to the latest record (60s)",
               "TIME");
  grammar.footer(
      "\nPrometheus text at /metrics: the account of each GPU, kernels, copies, steps, NCCL's "
      "operations,\n"
      "losses and records, in at most 500 series. OpenTelemetry's profiles of the same time at\n"
      "/v1development/profiles: GPU time by stack, in at most 4 MiB. docs/serve.md describes "
      "both.");
}

}  // namespace

extern const Subcommand serve_command{
    .name = "serve",
    .usage = "FILE|PID [--listen ADDRESS:PORT]",
    .help = "Answer Prometheus and OpenTelemetry while a recording goes on",
    .rare = true,
    .declare = command<ServeArguments, declare_serve, serve_numbers>,
};

}  // namespace gpuprof::app
