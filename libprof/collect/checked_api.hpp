// CUPTI as the collector calls it, with handling of each result.
//
// Calls go through check() if nothing works without them, otherwise through try_(), with the error
// codes that are expected there. Unexpected ones are counted in the ledger and reported by our own
// thread, once per function; the target goes on. Nothing here throws, and try_() takes no lock:
// calls are made on the target's threads.
#pragma once

#include <array>
#include <atomic>
#include <initializer_list>
#include <optional>
#include <string>

#include "libprof/collect/stream.hpp"
#include "libprof/cupti/api.hpp"
#include "libprof/wire/ledger.hpp"

namespace gpuprof::collect {

class CheckedApi : public cupti::Api {
 public:
  // nullopt on success, otherwise the reason to give up with.
  [[nodiscard]] std::optional<std::string> check(const char* function, CUptiResult result) const;
  // Whether it succeeded. Any thread.
  bool try_(const char* function, CUptiResult result,
            std::initializer_list<CUptiResult> expected = {}) {
    return result == CUPTI_SUCCESS || failed(function, result, expected);
  }

  // CUPTI's name for a result.
  std::string text(CUptiResult result) const;

  // Sets the ledger in which unexpected results are counted from now on.
  void count_in(wire::Ledger& ledger) { ledger_.store(&ledger); }
  // Reports new ones. Any thread.
  void tell_unexpected(Stream& stream);

 private:
  bool failed(const char* function, CUptiResult result,
              std::initializer_list<CUptiResult> expected);

  // The first unexpected result of a function.
  struct Unexpected {
    std::atomic<const char*> function{nullptr};
    std::atomic<CUptiResult> result{CUPTI_SUCCESS};  // written second
    std::atomic<bool> told{false};
  };
  std::array<Unexpected, 32> unexpected_;  // any further functions are not reported
  std::atomic<wire::Ledger*> ledger_{nullptr};
};

}  // namespace gpuprof::collect
