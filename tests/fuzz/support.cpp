#include "tests/fuzz/support.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

extern "C" {
// glibc's own functions, which sanitizers do not intercept.
void* __libc_malloc(std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void __libc_free(void* memory);
}

namespace gpuprof::fuzz {
namespace {

// SQLite is third-party code with its own fuzzers. Bypassing the sanitizer for its allocations
// makes a database several times as fast; FUZZ_CHECK_SQLITE keeps them checked. Each block is
// prefixed with its size, which SQLite asks for.
constexpr std::size_t in_front = 16;

void* with_size(void* memory, int size) {
  if (!memory) return nullptr;
  *static_cast<int*>(memory) = size;
  return static_cast<char*>(memory) + in_front;
}
void* whole(void* memory) { return memory ? static_cast<char*>(memory) - in_front : nullptr; }

void* allocate(int size) {
  return with_size(__libc_malloc(static_cast<std::size_t>(size) + in_front), size);
}
void* resize(void* memory, int size) {
  return with_size(__libc_realloc(whole(memory), static_cast<std::size_t>(size) + in_front), size);
}
void release(void* memory) { __libc_free(whole(memory)); }
int size_of(void* memory) { return memory ? *static_cast<int*>(whole(memory)) : 0; }
int rounded(int size) { return (size + 7) & ~7; }
int start(void*) { return SQLITE_OK; }
void stop(void*) {}

[[maybe_unused]] const bool sqlite_is_quick = [] {
  if (std::getenv("FUZZ_CHECK_SQLITE")) return false;
  static sqlite3_mem_methods methods{allocate, release, resize, size_of,
                                     rounded,  start,   stop,   nullptr};
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}();

// Removed by the process that created it, not by its children.
struct Folder {
  Folder() {
    const char* const parents[] = {std::getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (const char* parent : parents) {
      path = std::string(parent ? parent : "") + "/gpuprof-fuzz-XXXXXX";
      if (parent && mkdtemp(path.data())) break;
      path.clear();
    }
    if (path.empty()) finding("no folder for files: set TMPDIR");
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~Folder() {
    std::error_code ignored;
    if (getpid() == maker) std::filesystem::remove_all(path, ignored);
  }
  std::string path;
  pid_t maker = getpid();
};

}  // namespace

void finding(std::string_view what) {
  std::fprintf(stderr, "FINDING: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

const std::string& folder() {
  static const Folder made;
  return made.path;
}

void write_file(const std::string& path, Input bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(as_text(bytes).data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) finding("no room for " + path);
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

const std::size_t ways_at_a_time = [] {
  const char* const ways = std::getenv("FUZZ_WAYS");
  return ways ? std::strtoul(ways, nullptr, 10) : 1;
}();

std::vector<std::uint32_t> ways(Input input) {
  std::uint32_t number = 2166136261u;  // FNV-1a
  for (const std::uint8_t byte : input) number = (number ^ byte) * 16777619u;
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < ways_at_a_time; ++i) {
    numbers.push_back(number ^ number >> 15);
    number = (number ^ 1) * 16777619u;
  }
  return numbers;
}

std::uint64_t Dice::odd_number() {
  const unsigned bit = static_cast<unsigned>(below(64));
  switch (below(6)) {
    case 0: return below(64);
    case 1: return std::uint64_t{1} << bit;
    case 2: return (std::uint64_t{1} << bit) - 1;
    case 3: return ~std::uint64_t{0} - below(4);
    case 4: return ~std::uint64_t{0} >> bit;
    default: return number();
  }
}

void spoil(std::span<std::uint8_t> bytes, Dice& dice) {
  if (bytes.empty()) return;
  for (std::size_t times = 1 + dice.below(4); times > 0; --times) {
    const std::size_t at = dice.below(bytes.size());
    const std::size_t width = std::min(std::size_t{1} << dice.below(4), bytes.size() - at);
    if (dice.one_in(3)) {
      bytes[at] ^= static_cast<std::uint8_t>(1u << dice.below(8));
    } else {
      const std::uint64_t value = dice.odd_number();
      std::memcpy(&bytes[at], &value, width);
    }
  }
}

void mutate(Bytes& bytes, std::size_t more) {
  const std::size_t size = bytes.size();
  bytes.resize(size + more);
  if (!bytes.empty()) bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
}

}  // namespace gpuprof::fuzz
