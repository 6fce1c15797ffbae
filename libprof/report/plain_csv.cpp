#include "libprof/report/plain_csv.hpp"

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t most_kept_bytes = 64 << 20;

}  // namespace

std::string csv_field(std::string_view text) { return double_quoted(printable(text)); }

std::size_t PlainCsv::place(const std::string& column) {
  const auto [found, made] = places_.emplace(column, names_.size());
  if (made) {
    if (printed_) {
      throw Error("these reports have tables with different columns and too many rows for one CSV",
                  "ask for one report at a time, or for --json", ExitCode::bad_option);
    }
    names_.push_back(column);
  }
  return found->second;
}

void PlainCsv::table(std::string_view name,
                     const std::vector<std::pair<std::string, std::string>>& context,
                     const std::vector<std::string>& columns) {
  template_.assign(1, csv_field(name));
  for (const auto& [column, text] : context) {
    const std::size_t at = place(column);
    if (template_.size() <= at) template_.resize(at + 1);
    template_[at] = csv_field(text);
  }
  order_.clear();
  for (const std::string& column : columns) order_.push_back(place(column));
}

void PlainCsv::row(std::vector<std::string> fields) {
  std::vector<std::string> all = template_;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (all.size() <= order_[i]) all.resize(order_[i] + 1);
    kept_bytes_ += sizeof(std::string) + fields[i].size();
    all[order_[i]] = std::move(fields[i]);
  }
  if (printed_) return print_row(all);
  kept_.push_back(std::move(all));
  if (kept_bytes_ >= most_kept_bytes) print_names();
}

void PlainCsv::print_names() {
  if (std::exchange(printed_, true)) return;
  out_ << joined(names_, ",", csv_field) << '\n';
  for (const auto& fields : kept_) print_row(fields);
  kept_.clear();
}

void PlainCsv::print_row(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i > 0) line += ',';
    if (i < fields.size()) line += fields[i];
  }
  out_ << line << '\n';
}

void PlainCsv::finish() { print_names(); }

}  // namespace gpuprof::report
