#include "apps/gpuprof/run/roll_ups.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/cluster.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/record/rank_choice.hpp"

namespace gpuprof::app {
namespace {

using namespace std::chrono_literals;

constexpr auto start_limit = 120s;  // pyarrow and DuckDB from a file system that is far away
constexpr auto years = std::chrono::hours(24 * 3650);

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw Error("no more files can be opened");
  }
  ~Pipe() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int out() const { return ends_[0]; }
  int in() const { return ends_[1]; }
  int take_in() { return std::exchange(ends_[1], -1); }
  void close_in() { close(take_in()); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// run.sqlite -> run.rollups
std::string folder_for(const std::string& profile) {
  constexpr std::string_view ending = ".sqlite";
  return (profile.ends_with(ending) ? profile.substr(0, profile.size() - ending.size()) : profile) +
         ".rollups";
}

}  // namespace

std::unique_ptr<RollUps> RollUps::begin(Options& options) {
  if (options.ranks.empty()) return nullptr;
  const auto rank = record::rank_of_this_process();
  if (!rank) {
    throw Error("--ranks: this process does not know its rank",
                "start a gpuprof for each rank, such as mpirun gpuprof …, srun gpuprof …, or "
                "torchrun --no-python gpuprof … python train.py",
                ExitCode::bad_option);
  }
  if (record::RankChoice::parsed(options.ranks)->has(*rank)) return nullptr;
  return std::unique_ptr<RollUps>(new RollUps(options, *rank));
}

RollUps::RollUps(Options& options, std::int64_t rank) {
  const std::string output = folder_for(expand_name(options.output, getpid()));
  options.output = folder_ / "run.sqlite";
  options.rolls_up = true;
  // A copy of what is new is made every `roll_up_every`, and may take as long.
  options.keep_time = 3 * options.roll_up_every;
  std::vector<std::string> line = cluster_line(
      {"roll-up", options.output, "--rank", std::to_string(rank), "--every",
       std::to_string(static_cast<double>(options.roll_up_every.count()) / 1000), "-o", output});
  if (options.overwrite) line.emplace_back("-f");
  if (options.quiet) line.emplace_back("-q");
  Pipe recording, ready;
  const std::string program = std::exchange(line.front(), "");
  line.erase(line.begin());
  helper_.emplace(program, line,
                  std::vector<HelperProcess::File>{{recording.out(), STDIN_FILENO},
                                                   {ready.in(), STDOUT_FILENO},
                                                   {STDERR_FILENO, STDERR_FILENO}},
                  years);
  ready.close_in();
  pollfd said{.fd = ready.out(), .events = POLLIN, .revents = 0};
  char byte = 0;
  const int limit = static_cast<int>(std::chrono::milliseconds(start_limit).count());
  if (poll(&said, 1, limit) <= 0 || read(ready.out(), &byte, 1) <= 0) {
    throw Error("the roll-ups of rank " + std::to_string(rank) + " cannot be kept",
                "the line above says why; without --ranks everything is recorded",
                ExitCode::output_failed);
  }
  recording_ = recording.take_in();
}

RollUps::~RollUps() {
  if (recording_ >= 0) close(recording_);
}

bool RollUps::finish() {
  close(std::exchange(recording_, -1));
  while (!helper_->ended()) std::this_thread::sleep_for(10ms);
  return helper_->succeeded();
}

}  // namespace gpuprof::app
