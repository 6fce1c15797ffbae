// Which launchers on this host record the ranks of one job, so that an incident of one has
// snapshots of all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::record {

// A launcher's place in a job: what its job launcher's variables say (libprof/wire/job.hpp), if
// they tell this job from every other on the host, or the user's name for it.
struct JobGroup {
  std::string id;
  std::optional<std::int64_t> rank;
  bool is_named = false;  // by the user

  // nullopt: this process is in no job that is known to be one.
  static std::optional<JobGroup> of_environment();

  // Whether a launcher with this place is another of the same job. Variables that a shell hands to
  // everything in it have one rank, so two launchers of the same rank are not of one job.
  bool is_with(const JobGroup& other) const;
};

}  // namespace gpuprof::record
