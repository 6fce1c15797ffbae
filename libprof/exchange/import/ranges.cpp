#include "libprof/exchange/import/ranges.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "schema/activity/all.hpp"
#include "schema/enums.hpp"

namespace gpuprof::importing {
namespace {

constexpr std::size_t most_ranges = std::size_t{1} << 26;
constexpr std::size_t most_text_bytes = std::size_t{512} << 20;

struct Marker {  // indexes of its columns
  enum { flags, timestamp, id, object_kind, object_id, name, domain, thread };
};
const Layout& markers() {
  static const Layout layout = Layout::of<schema::Marker>(
      {"flags", "timestamp", "id", "objectKind", "objectId", "name", "domain", "threadId"});
  return layout;
}

constexpr std::int64_t mark_flag = schema::marker_flag("mark"),
                       start_flag = schema::marker_flag("range start"),
                       end_flag = schema::marker_flag("range end"),
                       process_object = schema::object_kind("process"),
                       thread_object = schema::object_kind("thread");

}  // namespace

std::uint32_t Ranges::number(std::string_view text) {
  text = text.substr(0, FrameWriter::longest_text);
  if (text.empty()) return 0;
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (held_ + text.size() > most_text_bytes || texts_.size() >= (1u << 29)) return 0;
  held_ += text.size();
  texts_.emplace_back(text);
  return numbers_.emplace(texts_.back(), static_cast<std::uint32_t>(texts_.size())).first->second;
}

bool Ranges::add(const Range& range) {
  if (ranges_.size() >= most_ranges) return false;
  ranges_.push_back(range);
  return true;
}

std::uint32_t Ranges::write(Process& process, std::uint32_t number) {
  return number == 0 ? 0 : process.string(texts_[number - 1]);
}

void Ranges::marker(const Range& range, std::uint32_t number, bool end) {
  ImportedRow row = range.process->add(markers());
  const bool is_mark = range.kind == Kind::mark;
  const bool of_thread = range.kind != Kind::start_end;
  const std::uint32_t by = end ? range.end_thread : range.thread;
  row.set(Marker::flags, is_mark ? mark_flag : end ? end_flag : start_flag);
  row.set(Marker::timestamp, end ? range.end : range.start);
  row.set(Marker::id, number);
  row.set(Marker::object_kind, of_thread ? thread_object : process_object);
  const std::array<std::uint32_t, 3> object{static_cast<std::uint32_t>(range.process->id()),
                                            of_thread ? by : 0, 0};
  row.set_blob(Marker::object_id, std::as_bytes(std::span(object)));
  row.set(Marker::thread, by);
  if (end) return;
  row.set(Marker::name, write(*range.process, range.name));
  row.set(Marker::domain, write(*range.process, range.domain));
}

// Markers with the same time are ordered as they were made: ends before starts, the inner range
// before the outer one.
void Ranges::write() {
  const auto place = [](const Range& range) {
    return std::tuple(range.process->id(), range.kind, range.thread, range.domain);
  };
  std::ranges::stable_sort(ranges_, [&](const Range& a, const Range& b) {
    return std::tuple(place(a), a.start, -a.end) < std::tuple(place(b), b.start, -b.end);
  });
  std::map<const Process*, std::uint32_t> ids;
  std::vector<std::pair<const Range*, std::uint32_t>> around;
  const auto close_until = [&](std::int64_t time) {
    while (!around.empty() && around.back().first->end <= time) {
      marker(*around.back().first, around.back().second, true);
      around.pop_back();
    }
  };
  const auto close_all = [&] {
    for (; !around.empty(); around.pop_back()) {
      const auto& [range, number] = around.back();
      if (range->end != open) marker(*range, number, true);
    }
  };
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[i];
    if (i > 0 && place(ranges_[i - 1]) != place(range)) close_all();
    close_until(range.start);
    const std::uint32_t number = ++ids[range.process];
    marker(range, number, false);
    if (range.kind != Kind::mark) around.emplace_back(&range, number);
  }
  close_all();
  ranges_ = {};
}

}  // namespace gpuprof::importing
