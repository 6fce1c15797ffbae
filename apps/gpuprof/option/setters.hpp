// Shared by options: how values are parsed and stored.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/option/option_table.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {

using Set = std::function<std::optional<Refusal>(Options&, const std::string&)>;

// The options of each group, in help order, without the group.
std::vector<Option> collect_options();
std::vector<Option> output_options();
std::vector<Option> report_options();
std::vector<Option> format_options();
std::vector<Option> filter_options();
std::vector<Option> metric_options();
std::vector<Option> everything_option();
std::vector<Option> sampling_options();
std::vector<Option> pc_sampling_options();
std::vector<Option> cpu_options();
std::vector<Option> program_options();

// Also turns on the tracing that it needs.
void turn_pc_sampling_on(Options& options);
// Selects all metrics, unless some were requested.
void turn_sass_metrics_on(Options& options);

Set text(std::string& (*target)(Options&));

Set flag(void (*set)(Options&));

// For choices: on and off, or one word against the others.
Set equals(std::string_view word, bool& (*target)(Options&));

// "10s", "500ms", "5min", or seconds. nullopt: it is no such time, or none that makes sense.
std::optional<std::chrono::milliseconds> time_of(std::string_view text);
inline constexpr char a_time[] = "a time such as 10s, 500ms or 5min";

// After which work that has not ended is named, ns; also 0.
std::optional<std::int64_t> hang_time(std::string_view text);
inline constexpr char a_hang_time[] = "a time such as 30s, or 0";

// "2GB", "500MiB", or bytes, at least 1 MB.
std::optional<std::uint64_t> size_of(std::string_view text);
inline constexpr char a_size[] = "a size such as 2GB or 500MB";

Set time(std::optional<std::chrono::milliseconds>& (*target)(Options&));

// Without a target the number is only checked.
Set number(int least, int most, int& (*target)(Options&) = nullptr);

// A name with placeholders: those of output files, and with `with_id` also %i.
Set placeholders(std::string& (*target)(Options&), bool with_id);

Set file_name(std::string& (*target)(Options&));

// Returns why the value is not a valid regular expression, or nullopt if it is.
std::optional<Refusal> wrong_expression(const std::string& value);

}  // namespace gpuprof::app
