#include "libprof/record/job_group.hpp"

#include <cstdlib>

#include "libprof/wire/job.hpp"

namespace gpuprof::record {

std::optional<JobGroup> JobGroup::of_environment() {
  wire::Fields variables;
  wire::for_each_job_variable([&](std::string_view name) {
    const char* const value = std::getenv(std::string(name).c_str());
    if (!value || std::string_view(value).size() > wire::max_job_value) return;
    variables.set(std::string(wire::environment_prefix) + std::string(name), value);
  });
  const auto job = wire::job_of(variables);
  if (!job || !job->is_distinct) return std::nullopt;
  return JobGroup{.id = std::string(job->launcher) + " " + job->id, .rank = job->rank};
}

bool JobGroup::is_with(const JobGroup& other) const {
  if (is_named != other.is_named || id != other.id) return false;
  return is_named || (rank && other.rank && *rank != *other.rank);
}

}  // namespace gpuprof::record
