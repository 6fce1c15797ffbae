#include "apps/gpuprof/command/window_words.hpp"

#include "libprof/base/error.hpp"

namespace gpuprof::app {
namespace {

reading::Moment parse_time(const char* name, const std::string& value) {
  if (value.empty()) return {};
  const auto moment = reading::parse_moment(value);
  if (moment) return *moment;
  throw Error("--" + std::string(name) + " takes " + std::string(reading::moment_words), "",
              ExitCode::bad_option);
}

}  // namespace

void WindowWords::take(Grammar& grammar, std::string_view from_help, std::string_view to_help) {
  grammar.take({.name = "--from", .to = &from, .help = from_help, .placeholder = "TIME"});
  grammar.take({.name = "--to", .to = &to, .help = to_help, .placeholder = "TIME"});
  grammar.take({.name = "--nvtx",
                .to = &nvtx,
                .help = "The same as --from nvtx:NAME --to nvtx:NAME",
                .placeholder = "NAME"});
}

void WindowWords::parse(reading::Moment& first, reading::Moment& last) {
  if (!nvtx.empty()) from = to = "nvtx:" + nvtx;
  first = parse_time("from", from);
  last = parse_time("to", to);
  if (first.ns && last.ns && *first.ns >= *last.ns) {
    throw Error("--from is not before --to", "", ExitCode::bad_option);
  }
}

}  // namespace gpuprof::app
