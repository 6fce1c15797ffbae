#include "libprof/wire/job.hpp"

#include <charconv>

namespace gpuprof::wire {
namespace {

std::optional<std::string_view> variable(const Fields& hello, std::string_view name) {
  if (name.empty()) return std::nullopt;
  return hello.find(std::string(environment_prefix) + std::string(name));
}

std::optional<std::int64_t> number(const Fields& hello, std::string_view name) {
  const auto text = variable(hello, name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Job> job_of(const Fields& hello) {
  for (const JobLauncher& launcher : job_launchers) {
    const auto rank = number(hello, launcher.rank);
    if (!rank) continue;
    Job job{.launcher = launcher.name,
            .rank = *rank,
            .world_size = number(hello, launcher.world_size),
            .local_rank = number(hello, launcher.local_rank),
            .id = {},
            .is_distinct = launcher.needed > 0};
    for (std::size_t i = 0; i < launcher.job.size(); ++i) {
      const std::string_view name = launcher.job[i];
      const auto value = variable(hello, name);
      if (i < launcher.needed && value.value_or("").empty()) job.is_distinct = false;
      if (!value) continue;
      job.id += (job.id.empty() ? "" : " ") + std::string(name) + "=" + std::string(*value);
    }
    return job;
  }
  return std::nullopt;
}

}  // namespace gpuprof::wire
