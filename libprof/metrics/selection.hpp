// Which kernels, ranges, contexts, streams and invocations the user means: the answers to what
// collectors ask (wire/FORMAT.md). They have neither readable names nor patterns.
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

// What collectors know of scopes themselves.
std::vector<wire::CollectScope> scopes_of(const std::vector<Request>& requests);

// Any thread.
class Selection {
 public:
  // Patterns; empty: all. Throws gpuprof::Error for one that is none.
  struct Scope {
    std::string contexts = {};
    std::string streams = {};
    std::string kernels = {};  // searched in readable names
    std::string invocations = {};
  };
  static std::vector<Scope> patterns_of(const std::vector<Request>& requests);
  // `left_out`: kernels never to be measured; empty: none. `ranges`: of NVTX.
  Selection(const std::vector<Scope>& scopes, const std::string& left_out,
            const std::string& ranges);
  ~Selection();

  // A kernel by its readable name, never to be measured from now on.
  void leave_out(std::string kernel);
  // Whether a kernel's name makes a difference.
  bool names_matter() const;

  // `reply` is called at most once: now, or on the demangler's thread, which may be later than the
  // asking process lives. What cannot be understood has no answer.
  using Reply = std::function<void(const wire::Fields&)>;
  static void answer(const std::shared_ptr<const Selection>& selection,
                     const wire::Fields& question, Reply reply);

  // Names that a pattern took too long in; they were taken for others than were meant.
  std::uint64_t gave_up() const;

 private:
  struct Patterns;

  wire::Fields about_kernel(const std::string& readable) const;
  // Empty: there is no such scope or number.
  std::string numbers(std::uint64_t scope, std::string_view what, std::uint64_t block) const;

  std::vector<std::unique_ptr<Patterns>> scopes_;
  std::unique_ptr<Pattern> left_out_;
  std::unique_ptr<Pattern> ranges_;
  mutable std::mutex mutex_;  // guards the next
  std::set<std::string> hung_;
};

}  // namespace gpuprof::metrics
