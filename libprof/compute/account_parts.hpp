// Parts of an account, and their sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "libprof/compute/host_calls.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

struct AccountPart {
  static constexpr std::array<std::string_view, 12> classes{
      "before", "compute", "communication", "copy",    "set",       "queued",
      "launch", "call",    "no call",       "unknown", "short gap", "after"};

  std::string_view what;  // one of `classes`
  // Of a copy its direction, CUpti_ActivityMemcpyKind; of a call and a launch the function, as in
  // HostCall, and 0 for those that are not distinguished and between launches; 1 for work that was
  // queued for an event; otherwise 0.
  std::int64_t cause = 0;
  std::int64_t duration = 0;  // ns
  std::int64_t intervals = 0;
  std::string place = {};  // of no call: what the host did, in words; empty: not known

  // Whether the cause is a function.
  bool is_of_function() const { return cause != 0 && (what == "call" || what == "launch"); }

  // As the columns class, domain, cause, duration and intervals. Nullopt: no class of ours, or
  // negative.
  void bind(store::Statement& insert, int first) const;
  static std::optional<AccountPart> read(const store::Statement& row, int first);
};

// Of several accounts that do not overlap.
class AccountSum {
 public:
  void add(const AccountPart& part);
  void add(std::span<const AccountPart> parts) {
    for (const AccountPart& part : parts) add(part);
  }
  // One for each class, cause and place.
  std::vector<AccountPart> parts() const;

 private:
  std::map<std::tuple<std::size_t, std::int64_t, std::string>, AccountPart> parts_;
};

}  // namespace gpuprof::compute
