#include "libprof/terminal/short_names.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::terminal {
namespace {

// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues_character(text[at]) && count-- == 0) break;
  }
  return at;
}

std::string_view first(std::string_view text, std::size_t count) {
  return text.substr(0, bytes_of(text, count));
}

std::string_view last(std::string_view text, std::size_t count) {
  const std::size_t all = characters(text);
  return text.substr(bytes_of(text, all - std::min(all, count)));
}

class Cut {
 public:
  Cut(std::size_t most, bool blocks) : most_(most), gap_(blocks ? "…" : "...") {}

  std::string whole(std::string_view name) const {
    std::string text = printable(name);
    return gap_ == "…" ? text : replaced_all(std::move(text), "…", gap_);
  }

  std::string middle(std::string_view text) const {
    const std::size_t room = room_for_text();
    if (characters(text) <= most_ || room == 0) return std::string(first(text, most_));
    const std::size_t head = (room * 3 + 2) / 5;
    return std::string(first(text, head)) + gap_ + std::string(last(text, room - head));
  }

  // The beginning, and what follows the first `same` bytes.
  std::string after(std::string_view text, std::size_t same) const {
    while (same > 0 && same < text.size() && continues_character(text[same])) --same;
    const std::size_t room = room_for_text();
    const std::size_t rest = std::min(characters(text.substr(same)), room - room / 4);
    return std::string(first(text.substr(0, same), room - rest)) + gap_ +
           std::string(first(text.substr(same), rest));
  }

  std::string numbered(std::string_view text, std::size_t number) const {
    const std::string end = "~" + std::to_string(number);
    return std::string(first(text, most_ - std::min(most_, end.size()))) + end;
  }

 private:
  std::size_t room_for_text() const { return most_ - std::min(most_, characters(gap_)); }

  std::size_t most_;
  std::string gap_;
};

// The places of texts that others are equal to.
std::vector<std::vector<std::size_t>> look_alikes(const std::vector<std::string>& texts) {
  std::map<std::string_view, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < texts.size(); ++i) places[texts[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [text, group] : places) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

std::size_t same_bytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::vector<std::string> short_names(std::span<const std::string> names, std::size_t most,
                                     bool blocks) {
  const Cut cut(most, blocks);
  std::vector<std::string> whole, result;
  for (const std::string& name : names) {
    whole.push_back(cut.whole(name));
    result.push_back(cut.middle(whole.back()));
  }
  for (const auto& group : look_alikes(result)) {
    std::size_t same = whole[group[0]].size();
    for (const std::size_t i : group) same = std::min(same, same_bytes(whole[group[0]], whole[i]));
    for (const std::size_t i : group) result[i] = cut.after(whole[i], same);
  }
  for (const auto& group : look_alikes(result)) {
    std::size_t number = 0;
    for (const std::size_t i : group) result[i] = cut.numbered(result[i], ++number);
  }
  return result;
}

}  // namespace gpuprof::terminal
