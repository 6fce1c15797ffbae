#include "libprof/report/output.hpp"

#include <chrono>
#include <cstdio>

#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/report/json_document.hpp"

namespace gpuprof::report {
namespace {

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

Output::Output(std::ostream& stream, const ReportOptions& options)
    : stream_(stream),
      plain_(stream),
      layout_(options.layout),
      unit_(options.unit),
      prefix_(options.prefix),
      terminal_(options.terminal),
      began_(steady_ns()) {}

Output::~Output() {
  try {
    stream();
  } catch (...) {
    // The stream may throw, and has already reported the failure.
  }
}

void Output::progress(std::string_view what) {
  if (!terminal_ || steady_ns() - began_ < 1'000'000'000) return;
  progress_shown_ = true;
  std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(what.size()), what.data());
}

std::ostream& Output::stream() {
  if (progress_shown_) std::fputs("\r\033[K", stderr);
  progress_shown_ = false;
  if (!rows_.empty()) stream_.write(rows_.data(), static_cast<std::streamsize>(rows_.size()));
  rows_.clear();
  return stream_;
}

void Output::row(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  rows_ += text;
  if (rows_.size() >= enough) stream();
}

void Output::line(std::string_view text) {
  if (!keyed()) stream() << printable(text) << '\n';
}

void Output::heading(std::string_view text) {
  if (keyed()) return;
  stream() << (terminal_ ? "\033[1m" : "") << prefix_ << printable(text)
           << (terminal_ ? "\033[0m" : "") << '\n';
}

void Output::warning(std::string_view text, std::string_view more) {
  if (keyed()) {
    warnings_.emplace_back(text).append(more.empty() ? "" : " ").append(more);
    return;
  }
  stream() << (terminal_ ? "\033[33m" : "") << prefix_ << "Warning: " << printable_lines(text)
           << (terminal_ ? "\033[0m" : "") << '\n';
  if (!more.empty()) stream_ << printable_lines(more) << '\n';
}

void Output::error(std::string_view text) {
  if (keyed()) {
    warnings_.emplace_back(text);
  } else {
    stream() << prefix_ << "Error: " << printable_lines(text) << '\n';
  }
}

void Output::context(std::vector<std::pair<std::string, std::string>> members) {
  context_ = std::move(members);
}

void Output::open_json() {
  if (!opened_) stream() << document_begin;
  opened_ = true;
}

void Output::begin_json_table(std::string_view name) {
  open_json();
  stream() << (any_table_ ? ",\n" : "\n") << "{\"table\":" << json_string(name);
  for (const auto& [key, value] : context_) {
    stream_ << ',' << json_string(key) << ':' << json_string(value);
  }
  stream_ << ",\"rows\":[";
  any_table_ = true;
}

void Output::begin_plain_table(std::string_view name, const std::vector<std::string>& columns) {
  plain_.table(name, context_, columns);
}

// Called by a destructor, where an exception from the stream would end the program: the text is
// written with the next output.
void Output::end_json_table() { rows_ += "]}"; }

void Output::finish() {
  stream();
  if (!keyed() || finished_) return;
  finished_ = true;
  if (!json()) {
    plain_.finish();
    for (const std::string& text : warnings_) {
      std::fprintf(stderr, "gpuprof: warning: %s\n", printable_lines(text).c_str());
    }
    return;
  }
  open_json();
  stream_ << "],\n\"warnings\":[";
  for (std::size_t i = 0; i < warnings_.size(); ++i) {
    stream_ << (i ? "," : "") << "\n" << json_string(warnings_[i]);
  }
  stream_ << "]}\n";
}

}  // namespace gpuprof::report
