#include "libprof/wire/ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "libprof/base/whole.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::wire {
namespace {

// The ledger's layout in the file.
using Words = std::array<std::uint64_t, sizeof(Ledger) / sizeof(std::uint64_t)>;
static_assert(sizeof(Words) == sizeof(Ledger));

constexpr std::size_t magic_word = offsetof(Ledger, magic) / sizeof(std::uint64_t);
constexpr std::size_t ended_word = offsetof(Ledger, ended) / sizeof(std::uint64_t);
constexpr std::size_t first_count = offsetof(Ledger, counted) / sizeof(std::uint64_t);
constexpr std::size_t first_kind = offsetof(Ledger, discarded) / sizeof(std::uint64_t);

// No count of ours comes close: a larger one is forged, and sums must not overflow.
constexpr std::uint64_t largest = std::uint64_t{1} << 56;

LedgerContent content_of(const Words& words) {
  LedgerContent content;
  content.ended = words[ended_word] != 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint64_t value = std::min(words[first_count + i], largest);
    if (value > 0 || counts[i].told_when_zero) {
      content.statistics.push_back({std::string(counts[i].kind), counts[i].name, value});
    }
  }
  std::map<std::string_view, std::uint64_t> discarded;  // by table; without a name: unknown
  for (std::size_t kind = 0; kind < ledger_kinds; ++kind) {
    const schema::KindRef* known = schema::find_kind(static_cast<int>(kind));
    discarded[known ? known->info->table : ""] += std::min(words[first_kind + kind], largest);
  }
  for (const auto& [table, value] : discarded) {
    if (value > 0) content.statistics.push_back({std::string(table), "records_discarded", value});
  }
  return content;
}

}  // namespace

LedgerContent read_ledger(const Ledger& ledger) {
  Words words{};
  words[ended_word] = ledger.ended.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    words[first_count + i] = ledger.counted[i].load(std::memory_order_relaxed);
  }
  for (std::size_t kind = 0; kind < ledger_kinds; ++kind) {
    words[first_kind + kind] = ledger.discarded[kind].load(std::memory_order_relaxed);
  }
  return content_of(words);
}

std::optional<LedgerContent> read_ledger(int arena_file) {
  Words words{};
  // Only memory files have seals.
  if (fcntl(arena_file, F_GET_SEALS) < 0 ||
      !read_whole(arena_file, std::as_writable_bytes(std::span(words)), ledger_offset) ||
      words[magic_word] != ledger_magic) {
    return std::nullopt;
  }
  LedgerContent content = content_of(words);
  struct stat file {};
  if (fstat(arena_file, &file) == 0) {
    constexpr std::uint64_t block = 512;
    const auto blocks = static_cast<std::uint64_t>(std::max<blkcnt_t>(file.st_blocks, 0));
    content.statistics.push_back({"arena", "cost_bytes", std::min(blocks * block, largest)});
  }
  return content;
}

}  // namespace gpuprof::wire
