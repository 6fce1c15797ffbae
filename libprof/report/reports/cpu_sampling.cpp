// "CPU profiling result": where the CPU spent its time, as a tree of functions.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/cpu_profile.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

// Six significant digits: "62.5323".
std::string significant(double value) {
  std::array<char, 40> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), end.ptr};
}

std::string time_text(double microseconds) {
  if (microseconds >= 1e6) return significant(microseconds / 1e6) + "s";
  if (microseconds >= 1e3) return significant(microseconds / 1e3) + "ms";
  return significant(microseconds) + "us";
}

// Stacks with a common beginning share nodes. Node 0 is the root of all.
class Tree {
 public:
  struct Node {
    std::int64_t instruction = 0;  // one of those it represents
    std::int64_t samples = 0;
    std::map<std::int64_t, std::size_t> children = {};  // by function or instruction
  };

  Tree() : nodes_(1) {}

  const Node& node(std::size_t place) const { return nodes_[place]; }

  // The child of `parent` for `key`.
  std::size_t child(std::size_t parent, std::int64_t key, std::int64_t instruction) {
    const auto [place, is_new] = nodes_[parent].children.try_emplace(key, nodes_.size());
    const std::size_t child = place->second;
    if (is_new) nodes_.push_back({.instruction = instruction});
    return child;
  }
  void add(std::size_t place, std::int64_t samples) {
    nodes_[place].samples = saturating_add(nodes_[place].samples, samples);
  }

 private:
  std::vector<Node> nodes_;
};

class CpuReport {
 public:
  explicit CpuReport(Session& session)
      : session_(session),
        output_(session.output()),
        options_(session.options().cpu),
        by_instruction_(options_.by_instruction || options_.show_ccff),
        profile_(session.database()) {
    profile_.each_stack([this](const CpuProfile::Stack& stack) { add(stack); });
    for (const auto& [thread, tree] : trees_) {
      most_samples_ = std::max(most_samples_, tree.node(0).samples);
    }
  }

  void print() {
    constexpr std::array modes{"flat", "top down", "bottom up"};
    output_.line();
    output_.heading("CPU profiling result (" +
                    std::string(modes[static_cast<std::size_t>(options_.mode)]) + "):");
    output_.line("Time(%)      Time  Name");
    print_trees();
    output_.line();
    output_.heading("Data collected at " + std::to_string(frequency()) + "Hz frequency");
    if (options_.max_depth > 0) {
      output_.heading("Max stack depth: " + std::to_string(options_.max_depth));
    }
    if (options_.threshold > 0) {
      output_.heading("Percentage threshold: " + significant(options_.threshold) + "%");
    }
  }

  bool empty() const { return profile_.empty(); }

 private:
  // nvprof's files do not say it; of gpuprof's samples it is what came of it.
  std::int64_t frequency() const {
    if (CpuProfile::stored(session_.database())) return options_.frequency;
    return std::llround(1e6 / profile_.period_us());
  }

  void add(const CpuProfile::Stack& stack) {
    const std::int64_t thread = options_.by_thread ? stack.thread : 0;
    const auto [place, is_new] = threads_.try_emplace(thread, trees_.size());
    if (is_new) trees_.emplace_back(thread, Tree());
    Tree& tree = trees_[place->second].second;
    const auto& frames = stack.instructions;
    std::size_t depth = frames.size();
    if (options_.mode == CpuMode::flat || options_.innermost_only) depth = 1;
    if (options_.max_depth > 0) {
      depth = std::min(depth, static_cast<std::size_t>(options_.max_depth));
    }
    std::size_t node = 0;
    tree.add(node, stack.samples);
    for (std::size_t i = 0; i < depth; ++i) {
      const bool inwards = options_.mode == CpuMode::top_down && !options_.innermost_only;
      const std::int64_t frame = frames[inwards ? frames.size() - 1 - i : i];
      node = tree.child(node, by_instruction_ ? frame : instruction(frame).function, frame);
      tree.add(node, stack.samples);
    }
  }

  const CpuInstruction& instruction(std::int64_t id) {
    const auto [place, is_new] = instructions_.try_emplace(id);
    if (is_new) {
      place->second = profile_.instruction(id);
      std::string& name = place->second.function_name;
      name = name.empty() ? "???" : session_.names().readable(name);
    }
    return place->second;
  }

  // "compute /home/u/app (/home/u/app.c:22 0x20)"
  std::string label(const CpuInstruction& instruction) const {
    std::string label = instruction.function_name;
    if (options_.show_library) label += " " + instruction.library;
    if (by_instruction_) {
      label += " (";
      if (!instruction.file.empty()) {
        label += instruction.file + ":" + std::to_string(instruction.line);
        if (instruction.offset >= 0) label += " ";
      }
      if (instruction.offset >= 0) label += hexadecimal(instruction.offset);
      label += ")";
    }
    return label;
  }

  std::vector<std::size_t> sorted_children(const Tree& tree, std::size_t node) {
    std::vector<std::size_t> children;
    for (const auto& [key, child] : tree.node(node).children) children.push_back(child);
    std::ranges::sort(children, [&](std::size_t a, std::size_t b) {
      const Tree::Node &left = tree.node(a), &right = tree.node(b);
      if (left.samples != right.samples) return left.samples > right.samples;
      return instruction(left.instruction).function_name <
             instruction(right.instruction).function_name;
    });
    return children;
  }

  void print_trees() {
    const auto number = [](std::string key) {
      return Column{.heading = "", .quantity = Quantity::count, .key = std::move(key)};
    };
    Table table(output_, "cpu_profile",
                {number(options_.by_thread ? "thread_id" : ""),
                 number("depth"),
                 number("time_percent"),
                 number("time_ns"),
                 number("samples"),
                 {.heading = "", .key = "function"},
                 {.heading = "", .key = "library"},
                 {.heading = "", .key = by_instruction_ ? "file" : ""},
                 number(by_instruction_ ? "line" : ""),
                 number(by_instruction_ ? "offset" : "")});
    for (const auto& [thread, tree] : trees_) {
      if (options_.by_thread) output_.heading("Thread " + std::to_string(thread));
      print_tree(table, thread, tree);
    }
  }

  // A line connects each entry that is not its parent's last to the next one.
  void print_tree(Table& table, std::int64_t thread, const Tree& tree) {
    struct Entry {
      std::size_t node;
      std::int64_t depth;
      std::string indent;
      bool last;
    };
    std::vector<Entry> entries;
    const auto push_children = [&](std::size_t node, std::int64_t depth,
                                   const std::string& indent) {
      const auto children = sorted_children(tree, node);
      for (std::size_t i = children.size(); i-- > 0;) {
        entries.push_back({children[i], depth, indent, i + 1 == children.size()});
      }
    };
    push_children(0, 0, "");
    while (!entries.empty()) {
      const Entry entry = std::move(entries.back());
      entries.pop_back();
      const std::int64_t samples = tree.node(entry.node).samples;
      const double percent = 100.0 * static_cast<double>(samples) /
                             static_cast<double>(std::max<std::int64_t>(most_samples_, 1));
      if (percent < options_.threshold) continue;
      const double time = static_cast<double>(samples) * profile_.period_us();
      const CpuInstruction& place = instruction(tree.node(entry.node).instruction);
      if (output_.keyed()) {
        table.row(std::vector<Cell>{thread, entry.depth, percent,
                                    std::isfinite(time) ? Cell(static_cast<std::int64_t>(
                                                              std::clamp(time * 1000, -9e18, 9e18)))
                                                        : Cell(),
                                    samples, place.function_name, place.library, place.file,
                                    place.line, place.offset < 0 ? Cell() : Cell(place.offset)});
      } else {
        print_line(percent, time, entry.indent, place);
      }
      push_children(entry.node, entry.depth + 1, entry.indent + (entry.last ? "  " : "| "));
    }
  }

  void print_line(double percent, double time, const std::string& indent,
                  const CpuInstruction& place) {
    const auto padded = [](std::string text, std::size_t width) {
      return std::string(width - std::min(width, text.size()), ' ') + text;
    };
    output_.line(" " + padded(format_percent(percent), 6) + "  " + padded(time_text(time), 8) +
                 "  " + indent + label(place));
    if (!options_.show_ccff) return;
    for (const std::string& message : place.messages) {
      output_.line(std::string(19, ' ') + indent + "  " + message);
    }
  }

  Session& session_;
  Output& output_;
  const CpuOptions& options_;
  const bool by_instruction_;
  CpuProfile profile_;
  std::map<std::int64_t, CpuInstruction> instructions_;  // with names as printed
  std::vector<std::pair<std::int64_t, Tree>> trees_;     // by thread
  std::map<std::int64_t, std::size_t> threads_;
  std::int64_t most_samples_ = 0;  // of any thread: 100 %
};

void print_cpu_sampling(Session& session) {
  const bool of_nvprof = CpuProfile::stored(session.database());
  if (!of_nvprof && !session.options().cpu.of_host) return;
  CpuReport report(session);
  if (of_nvprof || !report.empty()) return report.print();
  if (!session.database().has_table("RUN")) return;  // nvprof's file, of which nvprof says nothing
  session.output().heading(
      "No CPU samples: a program that uses CUDA is sampled while it is recorded with "
      "--cpu-profiling on, where it uses the processor.");
}

}  // namespace

extern const Report cpu_sampling{
    .phase = Phase::always,
    .order = 2,
    .does = Printer{print_cpu_sampling},
};

}  // namespace gpuprof::report
