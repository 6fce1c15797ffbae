// Reads the input of the dependency analysis: calls, work, streams and events of each process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/report/dependency.hpp"
#include "libprof/report/session.hpp"

namespace gpuprof::report {

// A row of the summary. nvprof breaks ties by `key`, a kernel's mangled name.
struct DependencyLabel {
  std::string key, name;
};

struct DependencyProcess {
  dependency::Timeline timeline;
  std::map<std::int64_t, std::int32_t> threads, contexts;
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> streams;
  std::int32_t listed_streams = 0;  // streams with a row; others are numbered after them
};

// Reads the records of all processes. Not thread-safe.
class DependencyReader {
 public:
  explicit DependencyReader(Session& session);

  std::map<std::int64_t, DependencyProcess> processes;
  std::vector<DependencyLabel> labels;
  std::vector<dependency::Role> roles;  // by label
  // Whether gpuprof wrote the file: each record then has its process, and streams may lack rows.
  const bool ours;

 private:
  DependencyProcess& process(std::int64_t id) { return processes[ours ? id : 0]; }
  static std::int32_t number(std::map<std::int64_t, std::int32_t>& numbers, std::int64_t id,
                             std::int32_t& count);
  std::int32_t context(DependencyProcess& process, std::int64_t id);
  std::int32_t stream(DependencyProcess& process, std::int64_t context_id, std::int64_t id);
  std::uint32_t label(std::string key, std::string name);
  std::uint32_t call_label(std::string name);
  std::uint32_t kernel_label(std::int64_t string_id);
  void add(const store::Statement& row, std::uint32_t label, dependency::Returns returns);

  void read_streams();
  void read_calls(std::string_view kind, ApiDomain domain);
  void read_kernels(std::string_view kind);
  void read_nested_kernels();
  void read_copies(std::string_view kind);
  void read_sets();
  void read_synchronizations();
  void read_events();

  Session& session_;
  const std::string window_;  // WHERE clause: the time window, with all devices and kernels
  std::unordered_map<std::int64_t, std::uint32_t> kernel_labels_;
  std::unordered_map<std::string, std::uint32_t> call_labels_;
  struct Grid {
    std::int64_t process, correlation;
    std::int32_t stream;
  };
  std::unordered_map<std::int64_t, Grid> grids_;  // only if there are nested kernels
  const bool nested_;
};

}  // namespace gpuprof::report
