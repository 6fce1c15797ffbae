#include "tests/fake_cupti/cupti/settings.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fake {
namespace {

struct Failure {
  std::string function;
  long argument;  // -1: any
  int result;
  int from;  // times
  std::atomic<int> times{0};
};

// "function[:argument]=result[@from];…"
std::vector<Failure*> parse_failures() {
  std::vector<Failure*> failures;
  const char* text = std::getenv("FAKE_CUPTI_FAIL");
  std::string rest = text ? text : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string one = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    const std::size_t equals = one.find('=');
    if (equals == one.npos) continue;
    const std::string call = one.substr(0, equals);
    const std::size_t colon = call.find(':');
    const std::size_t at = one.find('@');
    failures.push_back(new Failure{
        call.substr(0, colon),
        colon == call.npos ? -1 : std::atol(call.c_str() + colon + 1),
        std::atoi(one.c_str() + equals + 1),
        at == one.npos ? 1 : std::atoi(one.c_str() + at + 1),
    });
  }
  return failures;
}

std::atomic<std::uint64_t>* map_ledger() {
  const char* name = std::getenv("FAKE_CUPTI_LEDGER");
  if (!name) return nullptr;
  const std::string path = std::string(name) + "." + std::to_string(getpid());
  constexpr std::size_t size = 64 * sizeof(std::uint64_t);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, size) != 0) return nullptr;
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapping == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(mapping);
}

}  // namespace

CUptiResult wanted_failure(const char* function, long argument) {
  static const std::vector<Failure*>* const failures = new std::vector<Failure*>(parse_failures());
  for (Failure* failure : *failures) {
    if (failure->function != function) continue;
    if (failure->argument >= 0 && failure->argument != argument) continue;
    if (++failure->times >= failure->from) return static_cast<CUptiResult>(failure->result);
  }
  return CUPTI_SUCCESS;
}

std::uint32_t first_correlation() {
  const char* text = std::getenv("FAKE_CUPTI_FIRST_CORRELATION");
  return text ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0)) : 1;
}

void hang_if_told(std::string_view name) {
  const char* text = std::getenv("FAKE_CUPTI_HANG");
  if (!text) return;
  const std::string_view wanted = text;
  const std::size_t colon = wanted.rfind(':');
  if (wanted.substr(0, colon) != name) return;
  int left = colon == wanted.npos ? -1 : std::atoi(text + colon + 1);
  for (; left != 0; --left) sleep(1);
}

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

long start_cost_ms(bool started_before) {
  const char* text = std::getenv("FAKE_CUPTI_START_COST_MS");
  if (!text) return 0;
  const char* later = std::strchr(text, ',');
  return std::atol(started_before && later ? later + 1 : text);
}

CUptiResult hardware_tracing_refusal(long kernels) {
  const char* text = std::getenv("FAKE_CUPTI_HES");
  if (!text) return CUPTI_SUCCESS;
  const char* at = std::strchr(text, '@');
  return kernels >= (at ? std::atol(at + 1) : 0) ? static_cast<CUptiResult>(std::atoi(text))
                                                 : CUPTI_SUCCESS;
}

bool name_calls() {
  static const bool it = std::getenv("FAKE_CUPTI_NAME_CALLS") != nullptr;
  return it;
}

bool deliver_in_flush() {
  const char* text = std::getenv("FAKE_CUPTI_DELIVER");
  return text && std::strcmp(text, "flush") == 0;
}

void note_in_ledger(std::uint32_t kind) {
  static std::atomic<std::uint64_t>* const ledger = map_ledger();
  if (ledger && kind < 64) ledger[kind].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fake
