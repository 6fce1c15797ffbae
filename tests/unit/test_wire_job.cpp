// Which part of a parallel job a process is.
#include <catch2/catch.hpp>

#include "libprof/wire/job.hpp"

using namespace gpuprof;

namespace {

wire::Fields hello(std::initializer_list<std::pair<std::string_view, std::string_view>> variables) {
  wire::Fields fields;
  for (const auto& [name, value] : variables) fields.set("env." + std::string(name), value);
  return fields;
}

}  // namespace

TEST_CASE("a rank of torchrun under Slurm is torchrun's") {
  const auto job = wire::job_of(hello({{"SLURM_PROCID", "0"},
                                       {"SLURM_NTASKS", "2"},
                                       {"SLURM_JOB_ID", "77"},
                                       {"RANK", "9"},
                                       {"WORLD_SIZE", "16"},
                                       {"LOCAL_RANK", "1"},
                                       {"MASTER_PORT", "29500"},
                                       {"MASTER_ADDR", "node1"}}));
  REQUIRE(job);
  CHECK(job->launcher == "torch");
  CHECK(job->rank == 9);
  CHECK(job->world_size == 16);
  CHECK(job->local_rank == 1);
  CHECK(job->id == "MASTER_ADDR=node1 MASTER_PORT=29500");
  CHECK(job->is_distinct);
}

TEST_CASE("jobs of one host are told apart by the whole id alone") {
  const auto is_distinct = [](auto... variables) {
    return wire::job_of(hello({variables...}))->is_distinct;
  };
  using Variable = std::pair<std::string_view, std::string_view>;
  const Variable torch{"RANK", "0"}, port{"MASTER_PORT", "29500"}, host{"MASTER_ADDR", "a"};
  const Variable slurm{"SLURM_PROCID", "0"}, job{"SLURM_JOB_ID", "7"}, step{"SLURM_STEP_ID", "0"};
  const Variable open_mpi{"OMPI_COMM_WORLD_RANK", "0"}, mpich{"PMI_RANK", "0"};
  CHECK(is_distinct(torch, host, port));
  CHECK_FALSE(is_distinct(torch, port));
  CHECK_FALSE(is_distinct(torch, host, Variable{"TORCHELASTIC_RUN_ID", "none"}));
  CHECK(is_distinct(slurm, job, step));
  CHECK_FALSE(is_distinct(slurm, job));  // a batch script
  CHECK(is_distinct(open_mpi, Variable{"PMIX_NAMESPACE", "prterun-host-7@1"}));
  CHECK_FALSE(is_distinct(open_mpi, Variable{"PMIX_NAMESPACE", ""}));
  CHECK(is_distinct(mpich, Variable{"PMI_JOBID", "kvs_7_0"}));
  CHECK_FALSE(is_distinct(mpich));
  CHECK_FALSE(is_distinct(Variable{"MV2_COMM_WORLD_RANK", "0"}));
}

TEST_CASE("each launcher of jobs is known by its rank alone") {
  for (const wire::JobLauncher& launcher : wire::job_launchers) {
    const auto job = wire::job_of(hello({{launcher.rank, "3"}}));
    REQUIRE(job);
    CHECK(job->launcher == launcher.name);
    CHECK(job->rank == 3);
    CHECK_FALSE(job->world_size);
    CHECK_FALSE(job->local_rank);
    CHECK(job->id.empty());
  }
}

TEST_CASE("what is no rank makes no job") {
  CHECK_FALSE(wire::job_of({}));
  CHECK_FALSE(wire::job_of(hello({{"WORLD_SIZE", "2"}})));
  for (const char* rank : {"", "x", "-1", "3x", " 3", "99999999999999999999"}) {
    CHECK_FALSE(wire::job_of(hello({{"RANK", rank}})));
  }
  // The next one that has a rank speaks.
  const auto job = wire::job_of(hello({{"RANK", "leader"}, {"PMI_RANK", "4"}}));
  REQUIRE(job);
  CHECK(job->launcher == "pmi");
}
