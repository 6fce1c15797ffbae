// Which kernels, ranges, contexts, streams and invocations the user means: answers questions of
// collectors (wire/FORMAT.md), which have neither readable names nor patterns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/pattern.hpp"
#include "libprof/metrics/request.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

// The parts of scopes that collectors evaluate themselves.
std::vector<wire::CollectScope> scopes_of(const std::vector<Request>& requests);

// Any thread.
class Selection {
 public:
  // Patterns; empty: all. Throws gpuprof::Error for an invalid one.
  struct Scope {
    std::string contexts = {};
    std::string streams = {};
    std::string kernels = {};  // searched for in readable names
    std::string invocations = {};
  };
  static std::vector<Scope> patterns_of(const std::vector<Request>& requests);
  // `left_out`: kernels never to be measured; empty: none. `ranges`: pattern for NVTX ranges.
  Selection(const std::vector<Scope>& scopes, const std::string& left_out,
            const std::string& ranges);
  ~Selection();

  // Excludes a kernel, by its readable name, from measuring from now on.
  void leave_out(std::string kernel);
  // Whether a kernel's name makes a difference.
  bool names_matter() const;

  // `reply` is called at most once: immediately, or on the demangler's thread, possibly after the
  // asking process has ended. A malformed question gets no answer.
  using Reply = std::function<void(const wire::Fields&)>;
  static void answer(const std::shared_ptr<const Selection>& selection,
                     const wire::Fields& question, Reply reply);

  // Names in which matching a pattern took too long; they were treated as not matching.
  std::uint64_t gave_up() const;

 private:
  struct Patterns;

  wire::Fields about_kernel(const std::string& readable) const;
  // Empty: there is no such scope or number.
  std::string numbers(std::uint64_t scope, std::string_view what, std::uint64_t block) const;

  std::vector<std::unique_ptr<Patterns>> scopes_;
  std::unique_ptr<Pattern> left_out_;
  std::unique_ptr<Pattern> ranges_;
  mutable std::mutex mutex_;  // guards hung_
  std::set<std::string> hung_;
};

}  // namespace gpuprof::metrics
