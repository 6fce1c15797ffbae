#include <algorithm>
#include <catch2/catch.hpp>

#include "libprof/record/launch/environment.hpp"

using namespace gpuprof::launch;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("only variables of exactly these names are recorded") {
  const char* const environment[] = {"CUDA_VISIBLE_DEVICES=0,1",
                                     "CUDA_VISIBLE_DEVICES_OF_MINE=2",
                                     "NVIDIA_API_KEY=secret",
                                     "SLURM_JWT=secret",
                                     "SLURM_JOB_ID=7",
                                     "AWS_SECRET_ACCESS_KEY=secret",
                                     "NCCL_OF_LATER=1",
                                     "RANK=a=b",
                                     "WORLD_SIZE",
                                     "HOME=/home/me",
                                     nullptr};
  CHECK(recorded(environment) ==
        Variables{{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_JOB_ID", "7"}, {"RANK", "a=b"}});
}

TEST_CASE("a secret is not recorded though the list has it") {
  const std::string_view names[] = {"MY_KEY",         "MY_TOKEN", "SECRETS", "a_jwt", "PASSWORD",
                                    "MY_CREDENTIALS", "Auth",     "KEYS",    "PLAIN"};
  const char* const environment[] = {
      "MY_KEY=1",         "MY_TOKEN=1", "SECRETS=1", "a_jwt=1", "PASSWORD=1",
      "MY_CREDENTIALS=1", "Auth=1",     "KEYS=1",    "PLAIN=1", nullptr};
  CHECK(recorded(environment, names) == Variables{{"PLAIN", "1"}});
}

TEST_CASE("no listed variable is taken for a secret, and none is listed twice") {
  std::vector<std::string_view> names(recorded_variables().begin(), recorded_variables().end());
  for (const std::string_view name : names) {
    INFO(name);
    CHECK_FALSE(names_secret(name));
  }
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
}
