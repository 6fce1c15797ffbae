#include "libprof/report/memory.hpp"

#include <algorithm>
#include <map>

#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/bars.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

using memory::Account;
using Row = std::vector<memory::Value>;

constexpr std::size_t chart_points = 60;
constexpr std::size_t keyed_points = 1000;
constexpr std::size_t most_lines = 10;
constexpr std::size_t most_points_in_text = 20;

Cell cell_of(const memory::Value& value) {
  return std::visit([](const auto& each) { return Cell(each); }, value);
}

// ---- CSV and JSON

void print_keyed(Output& output, const memory::Table& table) {
  std::vector<Column> columns;
  for (const memory::Column& column : table.columns) {
    Column made{.heading = column.name, .key = column.name};
    // Sizes are in bytes and times are not durations: print plain numbers.
    if (column.type == memory::Type::integer || column.type == memory::Type::bytes) {
      made.quantity = Quantity::count;
    } else if (column.type == memory::Type::real) {
      made.quantity = Quantity::real;
    }
    columns.push_back(std::move(made));
  }
  report::Table printed(output, table.name, std::move(columns));
  printed.heading();  // even for a table without rows
  std::vector<Cell> cells;
  for (const Row& row : table.rows) {
    cells.clear();
    for (const memory::Value& value : row) cells.push_back(cell_of(value));
    printed.row(cells);
  }
}

// ---- Text

// A row, accessed by column names.
class Reading {
 public:
  Reading(const memory::Table& table, const Row& row) : table_(table), row_(row) {}
  const memory::Value& value(std::string_view column) const { return row_[table_.place(column)]; }
  std::int64_t number(std::string_view column) const {
    const auto* number = std::get_if<std::int64_t>(&value(column));
    return number ? *number : 0;
  }
  double real(std::string_view column) const {
    const auto* number = std::get_if<double>(&value(column));
    return number ? *number : 0;
  }
  std::string text(std::string_view column) const {
    const auto* text = std::get_if<std::string>(&value(column));
    return text ? printable(*text) : std::string();
  }

 private:
  const memory::Table& table_;
  const Row& row_;
};

std::string bytes_text(std::int64_t bytes) {
  return format_size(bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
}

std::string difference_text(std::int64_t bytes) {
  return (bytes < 0 ? std::string("-") : std::string())
      .append(bytes_text(bytes < 0 ? -bytes : bytes));
}

std::string bytes_or_none(const Reading& row, std::string_view column) {
  return std::holds_alternative<std::monostate>(row.value(column)) ? "-"
                                                                   : bytes_text(row.number(column));
}

std::string memory_name(const Reading& row) {
  const std::string pool = row.text("pool_type");
  return row.text("memory") + (pool.empty() ? "" : " (" + pool + " pool)");
}

// "process 540, device 0, Device".
std::string place_name(const Reading& row) {
  return "process " + std::to_string(row.number("process_id")) + ", device " +
         std::to_string(row.number("device_id")) + ", " + memory_name(row);
}

class MemoryText {
 public:
  MemoryText(const Account& account, Output& output, const ReportOptions& options)
      : account_(account),
        output_(output),
        blocks_(options.blocks),
        most_(options.top > 0 ? static_cast<std::size_t>(options.top) : most_lines) {}

  void peak() {
    begin("Most memory at a time");
    each(account_.devices, [&](const Reading& row) {
      output_.line("  device " + row.text("device") + ": " + bytes_text(row.number("peak_bytes")) +
                   " (" + count_of(row.number("peak_bytes"), "byte") + ") at " +
                   format_moment(row.number("relative_peak_time_ns")) + ", of all processes");
    });
    heading({"Peak", "Bytes", "At", "Allocations", "Allocated", "In the end"}, "Memory");
    each(account_.peaks, [&](const Reading& row) {
      line({bytes_text(row.number("peak_bytes")), std::to_string(row.number("peak_bytes")),
            format_moment(row.number("relative_peak_time_ns")),
            std::to_string(row.number("allocations")), bytes_text(row.number("allocated_bytes")),
            bytes_text(row.number("end_bytes"))},
           place_name(row));
    });
    std::int64_t unknown = 0, unseen = 0;
    for (const Row& row : account_.peaks.rows) {
      unknown += Reading(account_.peaks, row).number("unknown_releases");
      unseen += Reading(account_.peaks, row).number("unseen_releases");
    }
    if (unknown > 0) {
      output_.line("  " + count_of(unknown, "release") +
                   " of memory that was not there: allocated before collection began, or "
                   "released twice");
    }
    if (unseen > 0) {
      output_.line("  " + count_of(unseen, "allocation") +
                   " at an address that was still allocated: the release has no record");
    }
  }

  void owners() {
    const memory::Table& table = account_.owners;
    const std::string by =
        table.rows.empty() ? "library" : Reading(table, table.rows.front()).text("by");
    begin("Owners at the peak, by " + by);
    heading({"At peak", "Share", "Allocations", "Allocated", "In the end"}, "Owner");
    each(table, [&](const Reading& row) {
      line(
          {bytes_text(row.number("at_peak_bytes")), format_percent(100 * row.real("share_of_peak")),
           std::to_string(row.number("allocations")), bytes_text(row.number("allocated_bytes")),
           bytes_text(row.number("end_bytes"))},
          owner_name(row, by) + "  [" + place_name(row) + "]");
    });
    if (by == "library" && !account_.any_library) {
      output_.line(
          "  The callers are not in the file; gpuprof --trace +allocation-source records them.");
    }
  }

  void leaks() {
    begin("Never released");
    const memory::Table& table = account_.leaks;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> classes;
    for (const Row& each : table.rows) {
      const Reading row(table, each);
      auto& [bytes, count] = classes[row.text("class")];
      bytes += row.number("bytes");
      count += row.number("allocations");
    }
    if (classes.empty()) output_.line("  nothing");
    constexpr std::pair<const char*, const char*> meanings[]{
        {"lost", "allocated after work had settled: a leak"},
        {"kept", "allocated before, and kept until the context ended"},
        {"context ended", "freed by a call that ended a context"},
        {"alive", "no verdict, see below"}};
    for (const auto& [name, meaning] : meanings) {
      const auto found = classes.find(name);
      if (found == classes.end()) continue;
      output_.line("  " + right_aligned(bytes_text(found->second.first), width) + "  " +
                   count_of(found->second.second, "allocation") + ": " + name + " (" + meaning +
                   ")");
    }
    if (!table.rows.empty()) {
      heading({"Bytes", "Allocations", "Of", "First", "Last"}, "Class and owner");
      each(table, [&](const Reading& row) {
        line({bytes_text(row.number("bytes")), std::to_string(row.number("allocations")),
              bytes_text(row.number("allocation_bytes")),
              format_moment(row.number("relative_first_time_ns")),
              format_moment(row.number("relative_last_time_ns"))},
             row.text("class") + ": " + owner_name(row, row.text("by")) + "  [" + place_name(row) +
                 "]");
      });
    }
    std::size_t told = 0;
    for (const Row& each : account_.processes.rows) {
      const Reading row(account_.processes, each);
      if (row.number("leaks_known") != 0) continue;
      if (++told > most_) continue;
      output_.line("  No leaks are claimed of process " + std::to_string(row.number("process_id")) +
                   ": " + row.text("why_not"));
    }
    rest(told);
  }

  void failed_calls() {
    const memory::Table& table = account_.failed_calls;
    if (table.rows.empty()) return;
    begin("Calls that found no memory");
    heading({"Size", "Bytes", "At", "Process had", "Device free"}, "Function");
    each(table, [&](const Reading& row) {
      const bool sized = !std::holds_alternative<std::monostate>(row.value("bytes"));
      line({bytes_or_none(row, "bytes"), sized ? std::to_string(row.number("bytes")) : "-",
            format_moment(row.number("relative_time_ns")), bytes_text(row.number("in_use_bytes")),
            bytes_or_none(row, "device_free_bytes")},
           row.text("function") + "  [process " + std::to_string(row.number("process_id")) + "]");
    });
    const memory::Table& owners = account_.failure_owners;
    if (owners.rows.empty()) return;
    const Reading first(owners, owners.rows.front());
    const std::string by = first.text("by");
    output_.line("  Owners of the memory at the first, by " + by + ":");
    std::size_t told = 0;
    for (const Row& each : owners.rows) {
      const Reading row(owners, each);
      if (row.number("time_ns") != first.number("time_ns") ||
          row.number("process_id") != first.number("process_id") || ++told > most_) {
        continue;
      }
      line({bytes_text(row.number("bytes"))}, owner_name(row, by) + "  [" + place_name(row) + "]");
    }
    rest(told);
  }

  void unaccounted() {
    const memory::Table& table = account_.readings;
    if (table.rows.empty()) return;
    begin("What no record accounts for");
    std::map<std::int64_t, std::size_t> most;  // row by device
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Reading row(table, table.rows[i]);
      const auto [found, is_new] = most.try_emplace(row.number("device_id"), i);
      const Reading before(table, table.rows[found->second]);
      if (row.number("used_bytes") > before.number("used_bytes")) found->second = i;
    }
    heading({"Unaccounted", "Used", "Known", "Of", "At"}, "Device, when most of it was in use");
    for (const auto& [device, place] : most) {
      const Reading row(table, table.rows[place]);
      line({difference_text(row.number("unaccounted_bytes")), bytes_text(row.number("used_bytes")),
            bytes_text(row.number("known_bytes")), bytes_text(row.number("total_bytes")),
            format_moment(row.number("relative_time_ns"))},
           std::to_string(device));
    }
    if (account_.unaccounted.rows.empty()) return;
    heading({"Appeared", "Until", "Of a call of"}, "The longest call meanwhile");
    each(account_.unaccounted, [&](const Reading& row) {
      const std::string function = row.text("function");
      line({bytes_text(row.number("bytes")), format_moment(row.number("relative_time_ns")),
            function.empty() ? "-" : format_moment(row.number("function_ns"))},
           function.empty() ? "(none is recorded)"
                            : function + "  [process " + std::to_string(row.number("process_id")) +
                                  ", device " + std::to_string(row.number("device_id")) + "]");
    });
  }

  void patterns() {
    begin("What stands out");
    bool any = false;
    const auto say = [&](const std::string& text) {
      any = true;
      output_.line("  " + text);
    };
    for (const Row& each : account_.virtual_memory.rows) {
      const Reading row(account_.virtual_memory, each);
      say("process " + std::to_string(row.number("process_id")) + ", device " +
          std::to_string(row.number("device_id")) + ": cuMemCreate made at most " +
          bytes_text(row.number("made_peak_bytes")) + ", mapped " +
          bytes_text(row.number("mapped_peak_bytes")) + ", made and not mapped " +
          bytes_text(row.number("unmapped_peak_bytes")));
    }
    for (const Row& each : account_.failures.rows) {
      if (!account_.failed_calls.rows.empty()) break;  // already printed with their sizes
      const Reading row(account_.failures, each);
      say("process " + std::to_string(row.number("process_id")) + ": " + row.text("function") +
          " found no memory " + count_of(row.number("failures"), "time") + ", first at " +
          format_moment(row.number("relative_first_time_ns")) + ", when the process had " +
          bytes_text(row.number("in_use_bytes")) + " of device memory");
    }
    for (const Row& each : account_.steps.rows) {
      const Reading row(account_.steps, each);
      const std::string process = "process " + std::to_string(row.number("process_id")) + ": ";
      if (row.number("grows") != 0) {
        say(process + "device memory grows by " +
            bytes_text(static_cast<std::int64_t>(row.real("bytes_per_step"))) +
            " a step: " + bytes_text(row.number("second_end_bytes")) + " after the second of " +
            std::to_string(row.number("steps")) + ", " + bytes_text(row.number("last_end_bytes")) +
            " after the last");
      }
      if (row.number("steady_allocations") > 0) {
        say(process + count_of(row.number("steady_allocations"), "allocation") + " (" +
            bytes_text(row.number("steady_bytes")) +
            ") without a pool after the first step: each waits for the device");
      }
    }
    for (const Row& each : account_.pools.rows) {
      const Reading row(account_.pools, each);
      const std::string pool = "process " + std::to_string(row.number("process_id")) + ", pool " +
                               row.text("pool") + ": ";
      say(pool + "at most " + bytes_text(row.number("reserved_peak_bytes")) + " reserved, " +
          bytes_text(row.number("used_peak_bytes")) + " used, " +
          bytes_text(row.number("unused_peak_bytes")) + " reserved and not used; " +
          count_of(row.number("trims"), "trim") + ", reserved memory went back " +
          count_of(row.number("shrinks"), "time") + " and grew again " +
          count_of(row.number("regrowths"), "time") +
          (row.number("destroyed") != 0
               ? std::string("; destroyed")
               : "; " + bytes_text(row.number("end_reserved_bytes")) + " reserved in the end"));
    }
    if (!any) output_.line("  nothing");
  }

  void timeline() {
    begin("Over time, from " + format_moment(account_.first - account_.zero) + " to " +
          format_moment(account_.last - account_.zero));
    const memory::Table& table = account_.timeline;
    std::size_t told = 0;
    for (std::size_t start = 0; start < table.rows.size(); start += chart_points) {
      if (++told > most_) continue;
      print_curve(table, start);
    }
    rest(told);
  }

 private:
  static constexpr std::size_t width = 12;

  void begin(const std::string& title) {
    if (begun_) output_.line();
    begun_ = true;
    output_.line(title);
  }

  std::string owner_name(const Reading& row, const std::string& by) const {
    const std::string name = row.text("owner");
    if (!name.empty()) return name;
    return by == "nvtx" ? "(outside of NVTX ranges)" : by == "pool" ? "(no pool)" : "(not known)";
  }

  void heading(std::initializer_list<const char*> names, const std::string& last) {
    std::string text;
    for (const char* name : names) text += "  " + right_aligned(name, width);
    output_.line(last.empty() ? text : text + "  " + last);
  }

  void line(std::initializer_list<std::string> cells, const std::string& last) {
    std::string text;
    for (const std::string& cell : cells) text += "  " + right_aligned(cell, width);
    output_.line(last.empty() ? text : text + "  " + last);
  }

  template <class Visit>
  void each(const memory::Table& table, Visit visit) {
    for (std::size_t i = 0; i < std::min(most_, table.rows.size()); ++i) {
      visit(Reading(table, table.rows[i]));
    }
    rest(table.rows.size());
  }

  void rest(std::size_t count) {
    if (count > most_) {
      output_.line("  and " + std::to_string(count - most_) + " more: --top N, --csv or --json");
    }
  }

  void print_curve(const memory::Table& table, std::size_t start) {
    std::vector<double> heights;
    double most = 0;
    for (std::size_t i = 0; i < chart_points; ++i) {
      const Reading row(table, table.rows[start + i]);
      heights.push_back(static_cast<double>(row.number("most_bytes")));
      most = std::max(most, heights.back());
    }
    for (double& height : heights) height = most > 0 ? height / most : 0;
    output_.line("  " + place_name(Reading(table, table.rows[start])) + ", up to " +
                 bytes_text(static_cast<std::int64_t>(most)));
    output_.line("  " + chart(heights, blocks_));
    heading({"Until", "In use", "At most"}, "");
    for (std::size_t i = 0; i < chart_points; ++i) {
      if ((i + 1) % (chart_points / most_points_in_text) != 0) continue;
      std::int64_t highest = 0;
      for (std::size_t k = i + 1 - chart_points / most_points_in_text; k <= i; ++k) {
        highest = std::max(highest, Reading(table, table.rows[start + k]).number("most_bytes"));
      }
      const Reading row(table, table.rows[start + i]);
      line({format_moment(row.number("relative_time_ns")), bytes_text(row.number("bytes")),
            bytes_text(highest)},
           "");
    }
  }

  const Account& account_;
  Output& output_;
  bool blocks_;
  std::size_t most_;
  bool begun_ = false;
};

}  // namespace

std::size_t points_of(const MemorySections& sections, Layout layout) {
  if (layout == Layout::text) return sections.timeline ? chart_points : 0;
  return sections.timeline || sections.none() ? keyed_points : 0;
}

std::string out_of_memory_text(const Account& account) {
  constexpr std::size_t most_owners = 3;
  const memory::Table& calls = account.failed_calls;
  if (calls.rows.empty()) return {};
  const Reading call(calls, calls.rows.front());
  std::string text = "out of memory: " + call.text("function") + " in process " +
                     std::to_string(call.number("process_id"));
  if (!std::holds_alternative<std::monostate>(call.value("bytes"))) {
    text += " asked for " + std::to_string(call.number("bytes")) + " bytes";
  }
  text += " when the process had " + bytes_text(call.number("in_use_bytes"));
  const memory::Table& owners = account.failure_owners;
  std::string names;
  std::size_t told = 0;
  for (const Row& each : owners.rows) {
    const Reading row(owners, each);
    if (row.number("time_ns") != call.number("time_ns") || told == most_owners) continue;
    ++told;
    const std::string owner = row.text("owner");
    names += (names.empty() ? " (" : ", ") + bytes_text(row.number("bytes")) + " " +
             (owner.empty() ? row.text("memory") : owner);
  }
  text += names.empty() ? "" : names + ")";
  if (calls.rows.size() > 1) {
    text += "; " + count_of(static_cast<std::int64_t>(calls.rows.size() - 1), "call") +
            " more found none";
  }
  return text;
}

void print_memory(const Account& account, std::ostream& out, const MemorySections& sections,
                  const ReportOptions& options) {
  Output output(out, options);
  print_memory(account, output, sections, options);
  output.finish();
}

void print_memory(const Account& account, Output& output, const MemorySections& sections,
                  const ReportOptions& options) {
  const bool all = sections.none();
  if (output.keyed()) {
    std::vector<const memory::Table*> tables;
    const auto add = [&](bool wanted, std::initializer_list<const memory::Table*> some) {
      if (all || wanted) tables.insert(tables.end(), some);
    };
    add(sections.peak, {&account.devices, &account.peaks});
    add(sections.peak || sections.owners, {&account.owners});
    add(sections.leaks, {&account.leaks, &account.processes});
    add(false,
        {&account.pools, &account.steps, &account.failures, &account.virtual_memory,
         &account.failed_calls, &account.failure_owners, &account.readings, &account.unaccounted});
    add(sections.timeline, {&account.timeline});
    for (const memory::Table* table : tables) print_keyed(output, *table);
  } else if (!account.any) {
    output.line("The program allocated nothing that CUPTI records.");
  } else {
    MemoryText text(account, output, options);
    if (all || sections.peak) text.peak();
    if (all || sections.peak || sections.owners) text.owners();
    if (all || sections.leaks) text.leaks();
    if (all) text.failed_calls();
    if (all) text.unaccounted();
    if (all) text.patterns();
    if (sections.timeline) text.timeline();
  }
}

}  // namespace gpuprof::report
