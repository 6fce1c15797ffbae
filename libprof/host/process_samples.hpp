// The samples of one process: its threads of Python, each with what it was last seen doing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libprof/attach/process.hpp"
#include "libprof/host/remote_python.hpp"
#include "libprof/host/stack_numbers.hpp"
#include "libprof/host/thread_state.hpp"
#include "libprof/wire/row_sender.hpp"
#include "schema/host_samples.hpp"

namespace gpuprof::host {

using Clock = std::chrono::steady_clock;

// Used by one thread.
class ProcessSamples {
 public:
  // Throws gpuprof::Error if there is no such process. `rows` and `stacks` must outlive this
  // object.
  ProcessSamples(pid_t process, wire::RowSender& rows, StackNumbers& stacks);

  pid_t id() const { return process_.id(); }
  bool alive() const { return process_.alive(); }
  // Looks at each thread. `most`: of them; returns how many there were. Makes rows of what is over.
  std::size_t look(std::size_t most);
  // Makes rows of all that was seen so far.
  void flush();
  // Once: why it is not looked at; empty: there is no reason to give.
  std::string take_message();
  // Processes that it has started.
  std::vector<pid_t> children() const;

 private:
  // What a thread was seen doing, several times in turn.
  struct Seen {
    ThreadState now;
    bool known = false;  // it was seen
    schema::HostSample::Row row = {};
    bool still_there = false;
  };

  bool find_python();
  void look_at(const RemotePython::Thread& thread);
  void end(Seen& seen, std::uint64_t time);
  std::uint64_t stack_of(RemotePython::Thread thread);
  // Of the functions in places_. nullopt: one of them is not what it should be.
  std::optional<std::uint64_t> number_of_places();

  attach::Process process_;
  wire::RowSender& rows_;
  StackNumbers& stacks_;
  RemotePython python_;
  Clock::time_point next_search_ = {};
  Clock::duration search_after_;
  std::string message_;
  bool said_ = false;
  RemotePython::Moment moment_;
  std::vector<RemotePython::Place> places_;  // of the stack that is read
  std::map<pid_t, Seen> threads_;
  std::map<RemotePython::Place, std::uint32_t> frames_;  // numbers of StackNumbers
};

}  // namespace gpuprof::host
