// CUPTI as the collector calls it: with what becomes of each result.
//
// A call stands in check() when nothing works without it, and in try_() otherwise, with the codes
// that are expected there. What else comes is counted in the ledger, and our own thread tells it,
// once for each function; the target goes on. Nothing here throws, and try_() takes no lock: calls
// are made on the target's threads.
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
  // Nothing: it worked; else what to give up with.
  [[nodiscard]] std::optional<std::string> check(const char* function, CUptiResult result) const;
  // Whether it worked. Any thread.
  bool try_(const char* function, CUptiResult result,
            std::initializer_list<CUptiResult> expected = {}) {
    return result == CUPTI_SUCCESS || failed(function, result, expected);
  }

  // CUPTI's name of a result.
  std::string text(CUptiResult result) const;

  // Where unexpected results are counted from now on.
  void count_in(wire::Ledger& ledger) { ledger_.store(&ledger); }
  // Tells what is new. Any thread.
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
  std::array<Unexpected, 32> unexpected_;  // of more functions than these nothing is told
  std::atomic<wire::Ledger*> ledger_{nullptr};
};

}  // namespace gpuprof::collect
