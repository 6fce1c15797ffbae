#include "apps/gpuprof/option/option_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

std::vector<Option> make_table() {
  using enum OptionGroup;
  std::vector<Option> table;
  using Part = std::pair<OptionGroup, std::vector<Option> (*)()>;
  for (const auto& [group, rows] : {Part{collect, collect_options},
                                    {output, output_options},
                                    {reports, report_options},
                                    {format, format_options},
                                    {filter, filter_options},
                                    {metrics, metric_options},
                                    {collect, everything_option},
                                    {metrics, sampling_options},
                                    {collect, pc_sampling_options},
                                    {cpu, cpu_options},
                                    {program, program_options}}) {
    for (Option& option : rows()) {
      option.group = group;
      table.push_back(std::move(option));
    }
  }
  return table;
}

}  // namespace

std::span<const OptionGroupInfo> option_groups() {
  static constexpr std::array groups{
      OptionGroupInfo{OptionGroup::collect, "collect", "What to collect"},
      OptionGroupInfo{OptionGroup::output, "output", "Where it goes"},
      OptionGroupInfo{OptionGroup::reports, "reports", "Reports"},
      OptionGroupInfo{OptionGroup::format, "format", "How reports look"},
      OptionGroupInfo{OptionGroup::filter, "filter", "What reports look at"},
      OptionGroupInfo{OptionGroup::metrics, "metrics", "Metrics and events"},
      OptionGroupInfo{OptionGroup::cpu, "cpu", "CPU samples"},
      OptionGroupInfo{OptionGroup::program, "program", "About gpuprof"},
  };
  return groups;
}

std::span<const Option> option_table() {
  static const std::vector<Option> table = make_table();
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : option_table()) {
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  }
  return nullptr;
}

const Option* find_option(char letter) {
  const auto found = std::ranges::find(option_table(), letter, &Option::letter);
  return found == option_table().end() ? nullptr : &*found;
}

std::string closest_option(std::string_view name) {
  std::string close;
  // With more edits than half of a short name, it is a different name.
  std::size_t least = std::min<std::size_t>(3, (name.size() + 1) / 2);
  for (const Option& option : option_table()) {
    const std::size_t far = edit_distance(name, option.name);
    if (far < least) close = option.name;
    least = std::min(least, far);
  }
  return close;
}

std::vector<std::string> choices(const Option& option) {
  if (option.argument.find('|') == option.argument.npos) return {};
  return split(option.argument, '|');
}

std::string_view first_line(std::string_view help) { return help.substr(0, help.find('\n')); }

std::string remark(const Option& option) {
  const char* status = option.status == Status::not_yet     ? "not yet in this version: "
                       : option.status == Status::no_effect ? "no effect: "
                                                            : "";
  return status + option.why;
}

std::optional<Refusal> apply(const Option& option, const std::string& value, Options& options) {
  const auto allowed = choices(option);
  if (!allowed.empty() && std::ranges::find(allowed, value) == allowed.end()) {
    return Refusal{.takes = alternatives(allowed)};
  }
  if (option.set) {
    if (auto refused = option.set(options, value)) return refused;
  }
  if (option.status != Status::works && (value.empty() || value != option.harmless)) {
    options.without_effect.push_back(&option);
  }
  return {};
}

}  // namespace gpuprof::app
