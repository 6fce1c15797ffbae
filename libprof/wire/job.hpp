// A process's place in a parallel job: what the job launcher put into its environment. The
// collector sends these variables in hello, each as the field "env.NAME"; the loader reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

// The environment variables of one job launcher. Empty: it has no such variable.
struct JobLauncher {
  std::string_view name;
  std::string_view rank;
  std::string_view world_size;
  std::string_view local_rank;
  // Shared by all ranks of a job, and different between jobs.
  std::array<std::string_view, 3> job;
  // How many of these, from the first on, are needed to tell jobs on one host apart; 0: they do
  // not.
  std::size_t needed;
};

// The innermost first: Slurm may have started mpirun, which may have started torchrun.
inline constexpr std::array job_launchers{
    JobLauncher{"torch",
                "RANK",
                "WORLD_SIZE",
                "LOCAL_RANK",
                {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"},
                2},  // one process listens to the port; the id is often "none"
    JobLauncher{"openmpi",
                "OMPI_COMM_WORLD_RANK",
                "OMPI_COMM_WORLD_SIZE",
                "OMPI_COMM_WORLD_LOCAL_RANK",
                {"PMIX_NAMESPACE"},
                1},
    JobLauncher{"mvapich",
                "MV2_COMM_WORLD_RANK",
                "MV2_COMM_WORLD_SIZE",
                "MV2_COMM_WORLD_LOCAL_RANK",
                {},
                0},
    JobLauncher{"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", {"PMI_JOBID"}, 1},
    JobLauncher{"slurm",
                "SLURM_PROCID",
                "SLURM_NTASKS",
                "SLURM_LOCALID",
                {"SLURM_JOB_ID", "SLURM_STEP_ID"},
                2},
};

inline constexpr std::string_view environment_prefix = "env.";
// Longer values are not sent.
inline constexpr std::size_t max_job_value = 256;

// Calls `what` once with the name of each variable above.
template <typename What>
void for_each_job_variable(What&& what) {
  for (const JobLauncher& launcher : job_launchers) {
    for (const std::string_view name : {launcher.rank, launcher.world_size, launcher.local_rank,
                                        launcher.job[0], launcher.job[1], launcher.job[2]}) {
      if (!name.empty()) what(name);
    }
  }
}

struct Job {
  std::string_view launcher;  // JobLauncher::name
  std::int64_t rank = 0;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_rank;
  std::string id;            // "NAME=value NAME=value"; may be empty
  bool is_distinct = false;  // no other job on the host has this id
};

// nullopt: the process belongs to no known kind of job.
std::optional<Job> job_of(const Fields& hello);

}  // namespace gpuprof::wire
