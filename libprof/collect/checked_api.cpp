#include "libprof/collect/checked_api.hpp"

#include <algorithm>
#include <cstring>

namespace gpuprof::collect {

std::string CheckedApi::text(CUptiResult result) const {
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text) return text;
  return "error " + std::to_string(static_cast<int>(result));
}

std::optional<std::string> CheckedApi::check(const char* function, CUptiResult result) const {
  if (result == CUPTI_SUCCESS) return std::nullopt;
  return std::string(function) + ": " + text(result);
}

bool CheckedApi::failed(const char* function, CUptiResult result,
                        std::initializer_list<CUptiResult> expected) {
  if (std::ranges::find(expected, result) != expected.end()) return false;
  if (wire::Ledger* const ledger = ledger_.load()) ledger->add(wire::Count::cupti_errors);
  for (Unexpected& one : unexpected_) {
    const char* known = nullptr;
    if (one.function.compare_exchange_strong(known, function)) {
      one.result.store(result);
      break;
    }
    if (std::strcmp(known, function) == 0) break;
  }
  return false;
}

void CheckedApi::tell_unexpected(Stream& stream) {
  for (Unexpected& one : unexpected_) {
    const CUptiResult result = one.result.load();
    if (result == CUPTI_SUCCESS || one.told.exchange(true)) continue;
    stream.tell("warning", std::string(one.function.load()) + ": " + text(result));
  }
}

}  // namespace gpuprof::collect
