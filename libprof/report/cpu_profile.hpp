// CPU samples: as nvprof stores them, in tables coll* and prof*, or those that gpuprof took: in the
// threads of processes that use CUDA (CPU_SAMPLE), and of threads of Python from outside
// (HOST_SAMPLE), in their child processes and where there are no others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// A sampled address.
struct CpuInstruction {
  std::int64_t function = 0;  // id
  std::string function_name;  // as stored; "" if unknown
  std::string library;
  std::string file;  // "" if unknown
  std::int64_t line = 0;
  std::int64_t offset = 0;            // -1: none, as of a line of Python
  std::vector<std::string> messages;  // the compiler's, on the instruction, its line or function
};

// All CPU samples of a database, in memory except for the samples themselves. Not thread-safe.
class CpuProfile {
 public:
  // nvprof's where the file has them. Missing tables or columns count as empty.
  explicit CpuProfile(store::Database& database);

  // Whether there is a *table* of libraries, which is nvprof's test for CPU sampling.
  static bool stored(store::Database& database);

  bool empty() const { return hits_.empty(); }
  double period_us() const { return period_us_; }
  CpuInstruction instruction(std::int64_t id) const;

  // A stack of a thread and how often it was sampled. Instruction ids are innermost first.
  struct Stack {
    std::int64_t thread;
    std::span<const std::int64_t> instructions;
    std::int64_t samples;
  };
  // Visits each distinct stack of each thread, in order of its first sample.
  void each_stack(const std::function<void(const Stack&)>& use) const;

 private:
  struct Function {
    std::int64_t name, library, source;
  };
  struct Instruction {
    std::int64_t function, offset, source;
  };
  struct Call {
    std::int64_t instruction;
    std::int64_t caller;  // the next call towards the root; -1: none
  };
  struct Hits {
    std::int64_t thread, call, samples;
  };
  struct SourceLine {
    std::int64_t file, line;
  };
  using StackKey = std::pair<std::int64_t, std::int64_t>;  // process, number
  // What gpuprof's stacks are made of, numbered as nvprof's tables do.
  class Places;
  using Messages = std::multimap<std::int64_t, std::int64_t>;  // string ids

  void read_names(store::Database& database);
  void read_calls(store::Database& database);
  void read_hits(store::Database& database);
  void read_own(store::Database& database);
  void read_stacks(store::Database& database, Places& places);
  void read_cpu_samples(store::Database& database, Places& places);
  void read_host_samples(store::Database& database);
  const std::string& text(std::int64_t id) const;

  double period_us_ = 10'000;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::unordered_map<std::int64_t, std::int64_t> libraries_;
  std::unordered_map<std::int64_t, Function> functions_;
  std::unordered_map<std::int64_t, Instruction> instructions_;
  std::unordered_map<std::int64_t, SourceLine> sources_;
  Messages function_messages_, instruction_messages_, source_messages_;
  std::unordered_map<std::int64_t, Call> calls_;
  std::unordered_map<std::int64_t, bool> inverted_;  // roots of graphs that are stored bottom-up
  std::vector<Hits> hits_;
  std::set<std::int64_t> sampled_;           // processes with samples of CPU_SAMPLE
  std::map<StackKey, std::int64_t> stacks_;  // the innermost call of each that is referred to
};

}  // namespace gpuprof::report
