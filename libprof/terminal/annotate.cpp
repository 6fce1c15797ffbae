#include "libprof/terminal/annotate.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "libprof/base/pattern.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/report/code_places.hpp"
#include "libprof/report/number.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::terminal {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

class Reader {
 public:
  Reader(reading::Profile& profile, const std::string& kernels, const std::function<void()>& check)
      : profile_(profile), check_(check) {
    if (!kernels.empty()) pattern_.emplace(kernels);
    std::map<Pair, std::int64_t> codes;  // by process and module
    auto modules = profile_.select("MODULE", {"processId", "id", "cubinCrc"});
    while (modules.step()) codes[{modules.integer(0), modules.integer(1)}] = modules.integer(2);
    auto functions = profile_.select("FUNCTION", {"processId", "id", "moduleId", "name"});
    while (functions.step()) {
      const auto code = codes.find({functions.integer(0), functions.integer(2)});
      functions_[{functions.integer(0), functions.integer(1)}] = {
          functions.integer(3), code == codes.end() ? 0 : code->second};
    }
    auto lines = profile_.select("SOURCE_LOCATOR", {"id", "fileName", "lineNumber"});
    while (lines.step()) {
      if (lines.integer(2) > 0) lines_[lines.integer(0)] = {lines.integer(1), lines.integer(2)};
    }
  }

  Listing take() {
    each("PC_SAMPLING", "samples", "latencySamples",
         [](Function& function, Instruction& at, std::int64_t samples, std::int64_t not_issued) {
           add_to(function.samples, samples);
           add_to(at.samples, samples);
           add_to(at.not_issued, not_issued);
         });
    each("INSTRUCTION_EXECUTION", "executed", "threadsExecuted",
         [](Function& function, Instruction& at, std::int64_t executed, std::int64_t threads) {
           add_to(function.executed, executed);
           add_to(at.executed, executed);
           add_to(at.threads, threads);
         });
    Listing listing;
    for (auto& [key, function] : found_) {
      add_to(listing.samples, function.samples);
      add_to(listing.executed, function.executed);
      listing.functions.push_back(std::move(function));
    }
    std::ranges::stable_sort(listing.functions, std::ranges::greater(), [](const Function& each) {
      return Pair(each.samples, each.executed);
    });
    return listing;
  }

 private:
  static void add_to(std::int64_t& sum, std::int64_t more) {
    sum = saturating_add(sum, std::max<std::int64_t>(more, 0));
  }

  template <class Add>
  void each(std::string_view kind, std::string_view first, std::string_view second, Add add) {
    auto rows = profile_.select(
        kind, {"processId", "functionId", "pcOffset", "sourceLocatorId", first, second});
    for (std::uint64_t count = 0; rows.step(); ++count) {
      if (count % 4096 == 0) check_();
      Function* const function = find({rows.integer(0), rows.integer(1)});
      if (!function) continue;
      Instruction& at = function->instructions[rows.integer(2)];
      if (at.place.empty()) at.place = place(rows.integer(3));
      add(*function, at, rows.integer(4), rows.integer(5));
    }
  }

  // By process and function. Null: not wanted.
  Function* find(const Pair& id) {
    const auto known = functions_.find(id);
    const Pair name_and_code = known == functions_.end() ? Pair() : known->second;
    const std::string& name = profile_.names().kernel(name_and_code.first);
    const auto [wanted, fresh] = wanted_.try_emplace(name_and_code.first);
    if (fresh) wanted->second = !pattern_ || pattern_->found_in(name);
    if (!wanted->second) return nullptr;
    Function& function = found_[name_and_code];
    if (function.name.empty()) {
      function.name = name;
      function.mangled = profile_.names().text(name_and_code.first);
      function.code = name_and_code.second;
    }
    return &function;
  }

  std::string place(std::int64_t locator) {
    const auto found = lines_.find(locator);
    if (found == lines_.end()) return "";
    const auto [file, line] = found->second;
    return (file > 0 ? profile_.names().text(file) + ":" : "line ") + std::to_string(line);
  }

  reading::Profile& profile_;
  const std::function<void()>& check_;
  std::optional<Pattern> pattern_;       // nullopt: all are wanted
  std::map<Pair, Pair> functions_;       // name and code, by process and id
  std::map<std::int64_t, Pair> lines_;   // file and line
  std::map<std::int64_t, bool> wanted_;  // by name
  std::map<Pair, Function> found_;       // by name and code
};

// What the functions have, and so which columns are shown.
struct Shown {
  bool samples = false;
  bool counts = false;
};

std::string numbers(const Shown& shown, const std::array<std::string, 5>& cells) {
  using report::right_aligned;
  std::string line;
  if (shown.samples) line += right_aligned(cells[0], 10) + right_aligned(cells[1], 11);
  if (shown.counts) line += right_aligned(cells[2], 13) + right_aligned(cells[3], 9);
  return line + right_aligned(cells[4], 9);
}

std::string hexadecimal(std::int64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%04llx", static_cast<unsigned long long>(number));
  return text;
}

void add_line(std::string& text, std::string_view line) {
  append_printable(text, line);
  text += '\n';
}

void append(std::string& text, const Listing& listing, const Function& function) {
  add_line(text, function.name);
  if (function.samples > 0) {
    std::int64_t not_issued = 0;
    for (const auto& [offset, each] : function.instructions) {
      not_issued = saturating_add(not_issued, each.not_issued);
    }
    add_line(text, "  " + std::to_string(function.samples) + " samples, " +
                       report::format_percent(report::percent(function.samples, listing.samples)) +
                       " of all; in " +
                       report::format_percent(report::percent(not_issued, function.samples)) +
                       " the scheduler issued nothing");
  }
  if (function.executed > 0) {
    add_line(text, "  " + std::to_string(function.executed) + " instructions executed by warps");
  }
  const Shown shown{.samples = function.samples > 0, .counts = function.executed > 0};
  const std::string heads = numbers(shown, {"Samples%", "Samples", "Executed", "Threads", "PC"});
  add_line(text, heads + "  Instruction");
  const std::string* place = nullptr;
  for (const auto& [offset, each] : function.instructions) {
    // A source line is printed where it begins.
    if (!each.place.empty() && (!place || *place != each.place)) {
      place = &each.place;
      add_line(text, std::string(heads.size() + 2, ' ') + "; " + each.place);
    }
    std::array<std::string, 5> cells;
    if (each.samples > 0) {
      cells[0] = report::format_percent(report::percent(each.samples, function.samples));
      cells[1] = std::to_string(each.samples);
    }
    if (each.executed > 0) {
      char threads[32];
      std::snprintf(threads, sizeof threads, "%.2f",
                    static_cast<double>(each.threads) / static_cast<double>(each.executed));
      cells[2] = std::to_string(each.executed);
      cells[3] = threads;
    }
    cells[4] = hexadecimal(offset);
    add_line(text, numbers(shown, cells) + (each.text.empty() ? "" : "  " + each.text));
  }
}

}  // namespace

Listing read(reading::Profile& profile, const std::string& kernels,
             const std::function<void()>& check) {
  return Reader(profile, kernels, check).take();
}

std::string code(reading::Profile& profile, std::int64_t code) {
  auto rows = profile.select("MODULE", {"cubin"},
                             "WHERE cubinCrc = " + std::to_string(code) +
                                 " AND typeof(cubin) = 'blob' AND length(cubin) > 0 LIMIT 1");
  if (!rows.step()) return "";
  const auto bytes = rows.blob(0);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void add(Listing& listing, std::int64_t code, const Assembly& assembly) {
  for (Function& function : listing.functions) {
    if (function.code != code) continue;
    const auto found = assembly.find(function.mangled);
    if (found == assembly.end()) continue;
    for (const auto& [offset, text] : found->second) function.instructions[offset].text = text;
  }
}

std::string text(const Listing& listing, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < listing.functions.size() && i < most; ++i) {
    if (i > 0) text += '\n';
    append(text, listing, listing.functions[i]);
  }
  if (listing.functions.size() > most) {
    text += "\nand " + std::to_string(listing.functions.size() - most) +
            " more functions (--top N, --kernels REGEX)\n";
  }
  return text;
}

}  // namespace gpuprof::terminal
