// The names that reports print for numbers in the database.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libprof/store/sqlite.hpp"
#include "schema/gpu_kind.hpp"

namespace gpuprof::reading {

// How C++ names are written. nvprof: like nvprof 11.8's demangler, which leaves newer C++ mangled;
// modern: unambiguous; compatible: nvprof's way, but in our files modern if that leaves a name
// mangled; mangled: unchanged; display: kernels as short as is unique within the file
// (compute/display_names.hpp), modern in files that lack such names.
enum class NameStyle { nvprof, modern, compatible, mangled, display };

enum class ApiDomain { runtime, driver };

// The domain in which a kind's functions are named: a launch through no public API counts as the
// runtime's.
constexpr ApiDomain domain_of(const schema::ApiKind& kind) {
  return kind.domain == "driver" ? ApiDomain::driver : ApiDomain::runtime;
}

// "[CUDA memcpy HtoD]"; `copy_kind` is CUpti_ActivityMemcpyKind.
std::string memcpy_name(std::int64_t copy_kind);
std::string_view memset_name();
// Whether it is one of these two.
bool is_transfer(std::string_view name);

// "python3 train.py" for "/usr/bin/python3 -u /home/me/train.py --lr 1": the program and, for an
// interpreter, the program it runs, both without their folder. Without a command line, the
// executable's name. Empty: neither is known.
std::string program_name(std::string_view command_line, std::string_view executable);

// The names of CUDA functions in one database, including their version suffixes. Belongs to the
// database's thread and must not outlive it.
class ApiNames {
 public:
  explicit ApiNames(store::Database& database);
  // From the table API_NAME or, if that is missing or CUPTI knew no name, from a list of CUDA
  // 11.8's functions. Empty: neither has it.
  std::string find(ApiDomain domain, std::int64_t cbid);

 private:
  store::Statement names_;  // empty: there is no API_NAME
};

// Looks up names in one database. Belongs to the database's thread and must not outlive it.
// nvprof's files lack the table API_NAME and the column StringTable.demangled: names then come from
// a list of CUDA 11.8's functions and from this compiler's demangler.
class Names {
 public:
  Names(store::Database& database, NameStyle style);

  // Text in StringTable; "" for id 0, which means NULL whatever its row holds, and for a missing
  // id, which is counted.
  std::string text(std::int64_t string_id);
  // A kernel's readable name; "<kernel name 7>" if there is none. Cached, so that lookups are
  // cheap.
  const std::string& kernel(std::int64_t string_id);
  // The name of a row of GPU work; `id` is its column GpuKind::named_by.
  std::string gpu_work(const schema::GpuKind& kind, std::int64_t id);
  // A C++ name from elsewhere than StringTable, in the same style.
  std::string readable(const std::string& mangled) const;
  // Without version suffix unless `full`. "<runtime function 7>" if unknown.
  std::string api(ApiDomain domain, std::int64_t cbid, bool full = false);

  // "Tesla V100-SXM2-16GB (0)", or "main (0)" if the program named it (NVTX); just the number if
  // the file has no such device.
  const std::string& device(std::int64_t device_id);
  // The device's own name without number; "" if there is no such device.
  const std::string& device_model(std::int64_t device_id);
  // The ids of table DEVICE, ascending.
  std::vector<std::int64_t> devices() const;
  // The name given by the program (NVTX), or else the number.
  std::string context(std::int64_t device_id, std::int64_t context_id) const;
  std::string stream(std::int64_t device_id, std::int64_t context_id, std::int64_t stream_id) const;
  // Printed width of the longest such name; 0: there is none.
  std::size_t longest_context() const { return longest_context_; }
  std::size_t longest_stream() const { return longest_stream_; }
  // nullptr: the program did not name it.
  const std::string* thread(std::int64_t thread_id) const;
  // "python3 train.py [2245]" from the table PROCESS, or "process 2245" if it is not there.
  // Printable. If several processes had the same id, the last that used CUDA counts.
  std::string process(std::int64_t process_id) const;

  // Requested string ids that StringTable lacks.
  std::int64_t missing_strings() const { return missing_; }

 private:
  void read_devices(store::Database& database);
  void read_given_names(store::Database& database);
  void read_processes(store::Database& database);

  NameStyle style_;
  bool ours_ = false;        // the file has demangled names
  store::Statement string_;  // empty: there is no StringTable
  ApiNames api_;
  std::int64_t missing_ = 0;
  std::unordered_map<std::int64_t, std::string> kernels_;
  std::map<std::int64_t, std::string> models_;
  std::map<std::int64_t, std::string> devices_;  // as printed
  std::map<std::int64_t, std::string> threads_;
  std::map<std::int64_t, std::string> processes_;
  std::map<std::array<std::int64_t, 2>, std::string> contexts_;  // by device and context
  std::map<std::array<std::int64_t, 3>, std::string> streams_;
  std::size_t longest_context_ = 0, longest_stream_ = 0;
};

}  // namespace gpuprof::reading
