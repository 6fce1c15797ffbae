#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "libprof/collect/process_facts.hpp"
#include "libprof/wire/job.hpp"

using namespace gpuprof;

TEST_CASE(
    "processes are distinguished by the ranks of each launcher of jobs and by their devices") {
  std::string expected;
  for (const wire::JobLauncher& launcher : wire::job_launchers) {
    for (const std::string_view variable : {launcher.rank, launcher.local_rank}) {
      const std::string name(variable), value = std::to_string(expected.size());
      setenv(name.c_str(), value.c_str(), 1);
      expected += name + "=" + value + " ";
    }
    setenv(std::string(launcher.world_size).c_str(), "8", 1);
  }
  setenv("CUDA_VISIBLE_DEVICES", "2,3", 1);
  expected += "CUDA_VISIBLE_DEVICES=2,3 ";
  CHECK(collect::process_facts().find("rank") == expected);
}
