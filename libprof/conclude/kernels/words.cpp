#include "libprof/conclude/kernels/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::kernels {
namespace {

constexpr std::size_t most_stalls = 6, most_lines = 5, most_metrics = 12;
// Text has the lines with at least this share, and the first.
constexpr double least_of_line = 0.01;
// Percent of a roof from which on a kernel is near it.
constexpr double near = 60;

std::string time_text(std::int64_t ns) {
  return report::format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
}

std::string percent(double value) { return report::format_fixed(value, 1) + "%"; }

std::string part_of(std::int64_t part, std::int64_t all) {
  return percent(100 * static_cast<double>(part) / static_cast<double>(all));
}

// "1.53 T", for a unit that follows.
std::string with_prefix(double value) {
  constexpr std::string_view prefixes = " kMGTPE";
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < prefixes.size(); ++prefix) value /= 1000;
  char text[64];
  std::snprintf(text, sizeof text, "%.3g ", value);
  return prefix == 0 ? text : text + std::string(1, prefixes[prefix]);
}

std::string short_number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string text_of(const Dimensions& sizes) { return "(" + joined(sizes, ",") + ")"; }

std::string text_of(const Share& share, std::string_view of) {
  return percent(share.percent) + " " + std::string(of) + " (" + printable(share.metric) + ")";
}

std::string time_of(const Shape& shape) {
  std::string text = count_of(shape.launches, "launch");
  if (shape.launches != 1) text.replace(text.size() - 1, 1, "es");
  if (shape.timed == 0) return text + ", without times";
  if (shape.timed < shape.launches) {
    text = std::to_string(shape.timed) + " of " + text + " (the others have no times)";
  }
  text = time_text(shape.total) + " in " + text;
  if (shape.timed == 1) return text;
  return text + "; median " + time_text(shape.median) + ", from " + time_text(shape.shortest) +
         " to " + time_text(shape.longest) + ", 90% within " + time_text(shape.p90);
}

std::string launch_of(const Shape& shape) {
  std::string text = count_of(product(shape.grid), "block") + " " + text_of(shape.grid) + " of " +
                     count_of(product(shape.block), "thread") + " " + text_of(shape.block) + "; " +
                     count_of(shape.registers, "register") + " a thread";
  const auto add = [&](std::int64_t bytes, const char* what) {
    if (bytes > 0) text += ", " + count_of(bytes, "byte") + " of " + what;
  };
  add(shape.static_shared_memory, "static shared memory");
  add(shape.dynamic_shared_memory, "dynamic shared memory");
  if (shape.carveout >= 0) text += ", carveout " + std::to_string(shape.carveout) + "%";
  add(shape.local_memory, "local memory a thread (spilled registers or arrays)");
  return text + (shape.local_memory == 0 ? ", nothing spilled" : "");
}

std::string occupancy_of(const Kernel& kernel) {
  std::string text;
  if (kernel.occupancy) {
    text = percent(100 * kernel.occupancy->theoretical) +
           " at most: " + count_of(kernel.occupancy->blocks_per_multiprocessor, "block") +
           " fit on a multiprocessor, limited by " + printable(kernel.occupancy->limiter);
  }
  if (const auto achieved = achieved_occupancy(kernel.metrics)) {
    text += (text.empty() ? "" : "; ") + text_of(*achieved, "achieved");
  }
  return text;
}

std::string waves_of(const Occupancy& occupancy) {
  const double waves = occupancy.waves, all = std::ceil(waves);
  const std::string empty = percent(100 * occupancy.tail_share);
  std::string text = short_number(waves);
  if (all <= 1) return text + ": one wave, which leaves " + empty + " of the room empty";
  if (waves == all) return text + ": all are full";
  return text + ": the last of " + report::format_fixed(all, 0) + " is " +
         percent(100 * (waves - all + 1)) + " full; if all take equally long, it has " +
         percent(100 / all) + " of the time, and " + empty + " of the room is empty";
}

std::vector<std::string> roofline_of(const Kernel& kernel) {
  const auto found = roofline(kernel.metrics);
  if (!found) return {};
  const auto intensity = found->intensity();
  std::string text = intensity ? short_number(*intensity) + " operations per byte"
                               : std::string("no byte of device memory was moved");
  if (found->duration && *found->duration > 0) {
    text += ", " + with_prefix(1e9 * found->operations / *found->duration) + "operations/s, " +
            with_prefix(1e9 * found->bytes / *found->duration) + "bytes/s";
  }
  if (const auto by_memory = found->is_bound_by_memory()) {
    const auto& [nearer, other] = *by_memory ? std::pair(*found->memory, *found->compute)
                                             : std::pair(*found->compute, *found->memory);
    text += std::string("; ") + (*by_memory ? "memory" : "computing") + " is the nearer roof, at " +
            text_of(nearer, "of it") + ", the other at " + text_of(other, "of it");
    if (nearer.percent < near) text += "; both are far, so warps rather wait";
  }
  const auto names = [](const std::vector<std::string>& metrics) {
    return joined(metrics, ", ", [](const std::string& name) { return printable(name); });
  };
  return {text, "Operations are " + names(found->operation_metrics) + "; bytes are " +
                    names(found->byte_metrics) + "."};
}

std::string metrics_of(const Kernel& kernel) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernel.metrics.size(), most_metrics); ++i) {
    const Metric& metric = kernel.metrics[i];
    text += (i > 0 ? ", " : "") + printable(metric.name) + " " + short_number(metric.mean) +
            (metric.unit.empty() ? "" : " " + printable(metric.unit));
  }
  if (kernel.metrics.size() > most_metrics) {
    text += " and " + std::to_string(kernel.metrics.size() - most_metrics) + " more (--json)";
  }
  if (!text.empty() && !kernel.shape.is_alone) {
    text += "; of all launches with this grid and block, which are of several shapes";
  }
  return text;
}

std::string stalls_of(const Code& code) {
  std::string text;
  for (std::size_t i = 0; i < std::min(code.stalls.size(), most_stalls); ++i) {
    text += (i > 0 ? ", " : "") + printable(code.stalls[i].reason) + " " +
            part_of(code.stalls[i].samples, code.samples);
  }
  if (!text.empty()) {
    text += "; of " + count_of(code.samples, "sample") + " of all launches of the function";
  }
  return text;
}

std::vector<std::string> lines_of(const Code& code) {
  std::vector<std::string> lines;
  if (code.all() <= 0) return lines;
  for (std::size_t i = 0; i < std::min(code.lines.size(), most_lines); ++i) {
    const Line& line = code.lines[i];
    if (i > 0 && static_cast<double>(line.count) < least_of_line * static_cast<double>(code.all()))
      break;
    lines.push_back(part_of(line.count, code.all()) + " at " + printable(line.place) +
                    (line.mostly.empty() ? "" : ", mostly " + printable(line.mostly)));
  }
  if (code.samples == 0) lines.push_back("Shares are of instructions that warps executed.");
  return lines;
}

std::string change(double before, double now) {
  if (!(before > 0)) return "";
  char text[64];
  std::snprintf(text, sizeof text, " (%+.1f%%)", 100 * (now - before) / before);
  return text;
}

std::string baseline_of(const Kernel& kernel) {
  const Baseline& baseline = *kernel.baseline;
  if (!baseline.shape) {
    if (baseline.launches == 0) return "has no such kernel";
    return "has no launch with this grid and block, and " + std::to_string(baseline.launches) +
           " with others";
  }
  const Shape &before = *baseline.shape, &now = kernel.shape;
  const auto median = [](const Shape& shape) {
    return shape.timed > 0 ? time_text(shape.median) : std::string("not known");
  };
  return time_text(before.total) + ", now " + time_text(now.total) + "; median " + median(before) +
         ", now " + median(now) +
         (now.timed > 0
              ? change(static_cast<double>(before.median), static_cast<double>(now.median))
              : "") +
         "; " + std::to_string(before.launches) + " launches, now " + std::to_string(now.launches) +
         "; " + percent(100 * baseline.share) + " of the time in kernels, now " +
         percent(100 * kernel.share);
}

}  // namespace

std::string headline(const Kernels& kernels) {
  std::string text = kernels.devices.empty() ? "" : joined(kernels.devices, ", ", printable) + ": ";
  text += std::to_string(kernels.launches) + " launches of kernels take " +
          time_text(kernels.total) + ". ";
  text += "Shares are of that time.";
  return text;
}

std::vector<Fact> facts_of(const Kernel& kernel) {
  std::vector<Fact> facts;
  const auto add = [&](std::string label, std::vector<std::string> lines) {
    std::erase(lines, "");
    if (!lines.empty()) facts.push_back({std::move(label), std::move(lines)});
  };
  add("Time", {time_of(kernel.shape)});
  add("Launch", {launch_of(kernel.shape)});
  add("Occupancy", {occupancy_of(kernel)});
  if (kernel.occupancy) add("Waves", {waves_of(*kernel.occupancy)});
  if (const auto share = compute_share(kernel.metrics)) {
    add("Compute", {text_of(*share, "of the peak")});
  }
  if (const auto share = memory_share(kernel.metrics)) {
    add("Memory", {text_of(*share, "of the peak")});
  }
  add("Roofline", roofline_of(kernel));
  add("Metrics", {metrics_of(kernel)});
  add("Stalls", {stalls_of(kernel.code)});
  add("Lines", lines_of(kernel.code));
  if (kernel.baseline) add("Baseline", {baseline_of(kernel)});
  return facts;
}

std::vector<std::string> remarks(const Kernels& kernels) {
  std::vector<std::string> sentences;
  if (kernels.shapes > kernels.kernels.size()) {
    sentences.push_back(
        "Not shown: " + count_of(kernels.shapes - kernels.kernels.size(), "more shape") +
        " (--top N, --kernels REGEX).");
  }
  if (kernels.left_out > 0) {
    sentences.push_back(std::to_string(kernels.left_out) +
                        " launches are in more shapes than are kept apart.");
  }
  if (kernels.patched) {
    sentences.emplace_back(patched_words);
  }
  for (const std::string& missing : kernels.missing) sentences.push_back("Not known: " + missing);
  return sentences;
}

}  // namespace gpuprof::kernels
