// What the program creates with NVTX and refers to afterwards: domains, registered strings, layouts
// of payloads. Handles are pointers to them, so they are kept until the process ends.
//
// Any thread. A thread that only records takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

struct NvtxDomain {
  NvtxDomain(std::string_view its_name, std::uint32_t its_number)
      : name(its_name), number(its_number) {}

  const std::string name;            // empty: the default domain
  const std::uint32_t number;        // MARKER_DATA.cuptiDomainId
  std::atomic<bool> recorded{true};  // false: its marks and ranges have no records
};

class NvtxObjects {
 public:
  NvtxDomain& default_domain() { return default_domain_; }
  // The domain of this name; the same one each time.
  NvtxDomain& domain(std::string_view name);
  // Records only these domains, or all but these; the name "default" means the default domain.
  // Empty: all.
  void choose_domains(std::set<std::string> included, std::set<std::string> excluded);

  // A copy of the text; the same one each time.
  const char* text(std::string_view text);

  // Keeps a layout, under an id of ours if it has none. Returns the id.
  std::uint64_t add(wire::PayloadSchema schema);
  std::optional<wire::PayloadSchema> schema(std::uint32_t domain, std::uint64_t id) const;

 private:
  bool is_chosen(std::string_view name) const;  // under mutex_

  NvtxDomain default_domain_{"", 1};
  mutable std::mutex mutex_;  // guards the members below
  std::deque<NvtxDomain> domains_;
  std::set<std::string> included_;
  std::set<std::string> excluded_;
  std::set<std::string, std::less<>> texts_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, wire::PayloadSchema> schemas_;
  std::uint64_t last_schema_ = 0;
};

}  // namespace gpuprof::collect
