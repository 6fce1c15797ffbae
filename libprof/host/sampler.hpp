// --host-samples: what the threads of Python did, in the processes of a run that use CUDA and in
// those that they start, which prepare data, say.
//
// A thread of its own looks at them at random moments. It reads their memory through the kernel and
// files in /proc, stops nobody, and takes at most a twentieth of a processor: the more there is to
// look at, the less often it looks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libprof/host/process_samples.hpp"
#include "libprof/host/stack_numbers.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::host {

class Sampler {
 public:
  struct Options {
    std::chrono::nanoseconds interval;  // on average
    // Takes rows for a stream. Called on the sampler's thread.
    std::function<void(wire::Frame frame)> push;
    // Says something about a process to the user. Called on the sampler's thread.
    std::function<void(pid_t process, const std::string& text)> say;
  };

  explicit Sampler(Options options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // A process whose collector has this stream. Any thread.
  void add(std::uint32_t stream, pid_t process);
  // Pushes what was seen and ends the thread. Nothing is pushed afterwards.
  void stop();

 private:
  // A process that uses CUDA, and those that it started.
  struct Family {
    explicit Family(std::uint32_t its_stream) : stream(its_stream) {}
    std::uint32_t stream;
    wire::RowSender rows;
    StackNumbers stacks{rows};
    std::vector<std::unique_ptr<ProcessSamples>> processes;
  };

  void run();
  void take_new();
  void turn();
  void find_children();
  void find_children(Family& family);
  void add_process(Family& family, pid_t process);
  bool is_known(pid_t process) const;
  void flush();
  // false: stop() was called.
  bool wait(std::chrono::nanoseconds time);

  const Options options_;
  std::mutex mutex_;  // guards the next two
  std::vector<std::pair<std::uint32_t, pid_t>> new_;
  bool stopping_ = false;
  std::condition_variable changed_;
  // The thread's:
  std::vector<std::unique_ptr<Family>> families_;
  std::minstd_rand random_;
  std::thread thread_;
};

}  // namespace gpuprof::host
