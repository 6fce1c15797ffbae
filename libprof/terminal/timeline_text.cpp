#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/report/bars.hpp"
#include "libprof/report/number.hpp"
#include "libprof/terminal/timeline.hpp"

namespace gpuprof::terminal {
namespace {

constexpr std::size_t share_width = 8;  // "  100 % "

// Of names, in lines of `width` characters.
std::size_t label_width(std::size_t width) { return width >= 80 ? 24 : width / 4; }

// Exactly `width` characters of a text, cut or padded with spaces.
std::string fitted(std::string_view text, std::size_t width) {
  std::string result;
  std::size_t characters = 0;
  while (!text.empty() && characters < width) {
    const std::size_t bytes = std::max<std::size_t>(first_character(text).bytes, 1);
    result += text.substr(0, bytes);
    text.remove_prefix(bytes);
    ++characters;
  }
  return result + std::string(width - characters, ' ');
}

std::string share(double value) {
  char text[32];
  // What is not zero is not shown as 0, and what is not all is not shown as 100.
  const double percent = value > 0 && value < 0.01   ? 1
                         : value > 0.99 && value < 1 ? 99
                                                     : value * 100;
  std::snprintf(text, sizeof text, "%5.0f %% ", percent);
  return value > 0 && value < 0.01 ? "   <1 % " : text;
}

// Labels the start and up to three more times.
std::string axis(const Timeline& timeline, std::size_t columns, std::size_t label) {
  std::string line(label + share_width, ' ');
  const std::size_t marks = columns >= 60 ? 4 : columns >= 30 ? 2 : 1;
  std::string times;
  for (std::size_t mark = 0; mark < marks; ++mark) {
    const std::size_t column = columns * mark / marks;
    if (times.size() < column) times.resize(column, ' ');
    times += "|" +
             report::format_moment(saturating_add(
                 timeline.begin,
                 saturating_multiply(static_cast<std::int64_t>(column), timeline.column))) +
             " ";
  }
  return line + times;
}

std::string line_of(std::string_view name, std::size_t indent, const TimelineRow& row,
                    std::size_t label, bool blocks) {
  std::vector<double> heights = row.busy;
  // Zero is drawn as a space, a small value is not.
  for (double& height : heights) height = height > 0 ? height : std::nan("");
  return std::string(indent, ' ') + fitted(printable(name), label - indent) + share(row.share) +
         report::chart(heights, blocks);
}

std::string line_of(const Ranges& ranges, std::size_t label, bool blocks) {
  std::string line =
      fitted(ranges.depth == 0 ? printable("NVTX " + ranges.thread) : "", label + share_width);
  const std::vector<std::size_t>& columns = ranges.columns;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t next = i + 1;
    while (next < columns.size() && columns[next] == columns[i]) ++next;
    if (columns[i] == Ranges::none) {
      line += std::string(next - i, ' ');
    } else if (next - i == 1) {
      line += blocks ? "·" : ".";
    } else {
      line += (blocks ? "▏" : "|") + fitted(printable(ranges.names[columns[i]]), next - i - 1);
    }
    i = next;
  }
  return line;
}

void add_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

std::size_t margin(std::size_t width) { return label_width(width) + share_width; }

std::string text(const Timeline& timeline, std::size_t width, bool blocks) {
  const std::size_t label = label_width(width);
  if (timeline.gpus.empty()) return "No GPU work has times here.\n";
  std::string text;
  add_line(text, report::format_moment(saturating_subtract(timeline.end, timeline.begin)) +
                     " from " + report::format_moment(timeline.begin) +
                     " after the run's first record on, " + report::format_moment(timeline.column) +
                     " a character");
  add_line(text, axis(timeline, timeline.gpus[0].all.busy.size(), label));
  for (const Gpu& gpu : timeline.gpus) {
    add_line(text, line_of(gpu.name, 0, gpu.all, label, blocks));
    for (const TimelineRow& stream : gpu.streams)
      add_line(text, line_of(stream.name, 2, stream, label, blocks));
    if (gpu.more_streams > 0) {
      add_line(text, "  and " + std::to_string(gpu.more_streams) +
                         (gpu.more_streams == 1 ? " stream more" : " streams more"));
    }
    if (!gpu.copies.busy.empty())
      add_line(text, line_of("copies and sets", 2, gpu.copies, label, blocks));
  }
  for (const Ranges& ranges : timeline.ranges) add_line(text, line_of(ranges, label, blocks));
  if (!timeline.part.empty()) add_line(text, "Shown: " + timeline.part + ". All: --from 0");
  return text;
}

}  // namespace gpuprof::terminal
