#include "libprof/attach/memory_map.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "libprof/base/text.hpp"

namespace gpuprof::attach {
namespace {

// The text up to the next blank, which is removed from `line`.
std::string_view take_word(std::string_view& line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(std::min(line.find_first_not_of(' ', blank), line.size()));
  return word;
}

// "7f0000000000-7f0000001000 r-xp 00000000 fe:00 1234   /lib/libc.so.6"
std::optional<Mapping> parse_line(std::string_view line) {
  constexpr std::string_view deleted = " (deleted)";
  std::array<std::string_view, 5> words;
  for (std::string_view& word : words) word = take_word(line);
  const std::size_t dash = words[0].find('-');
  if (dash == words[0].npos || words[1].size() != 4) return std::nullopt;
  const auto begin = parse<std::uint64_t>(words[0].substr(0, dash), 16);
  const auto end = parse<std::uint64_t>(words[0].substr(dash + 1), 16);
  const auto offset = parse<std::uint64_t>(words[2], 16);
  if (!begin || !end || !offset || *begin >= *end) return std::nullopt;
  if (line.ends_with(deleted)) line.remove_suffix(deleted.size());
  return Mapping{.begin = *begin,
                 .end = *end,
                 .executable = words[1][2] == 'x',
                 .offset = *offset,
                 .path = std::string(line)};
}

}  // namespace

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> maps;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto mapping = parse_line(text.substr(0, end))) maps.push_back(std::move(*mapping));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return maps;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string_view file_name(const Mapping& mapping) { return file_name(mapping.path); }

const Mapping* mapping_of(const std::vector<Mapping>& maps, std::uint64_t address) {
  const auto found = std::ranges::find_if(
      maps, [&](const Mapping& each) { return each.begin <= address && address < each.end; });
  return found == maps.end() ? nullptr : &*found;
}

}  // namespace gpuprof::attach
