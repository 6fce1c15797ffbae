#include "libprof/record/native_lines.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/elf_file.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/code_lines.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/record/launch/target.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/stack_lines.hpp"

namespace gpuprof::record {
namespace {

constexpr std::chrono::seconds tool_patience{20};  // for one run of the program
constexpr std::size_t most_addresses = 200;        // of one run: its output is limited
constexpr std::size_t most_native_frames = std::size_t{1} << 16;

struct NativeFrame {
  std::int64_t row = 0, process = 0, frame = 0;
  std::uint64_t address = 0;
  std::string function;
};
using FramesOfModules = std::map<std::string, std::vector<NativeFrame>>;

FramesOfModules read_native_frames(store::Database& database) {
  FramesOfModules modules;
  auto row = database.prepare(
      "SELECT module, processId, frame, offset, function, rowid FROM main.STACK_FRAME "
      "WHERE offset IS NOT NULL AND module IS NOT NULL LIMIT ?1");
  row.bind(1, static_cast<std::int64_t>(most_native_frames));
  while (row.step()) {
    modules[std::string(row.text(0))].push_back({row.integer(5), row.integer(1), row.integer(2),
                                                 static_cast<std::uint64_t>(row.integer(3)),
                                                 std::string(row.text(4))});
  }
  for (auto& [path, frames] : modules) std::ranges::sort(frames, {}, &NativeFrame::address);
  return modules;
}

// The first in PATH of programs that understand the same words.
std::string find_line_tool() {
  for (const char* name : {"llvm-addr2line", "addr2line", "eu-addr2line"}) {
    try {
      const std::string program = launch::look_up(name);
      if (program.starts_with('/')) return program;
    } catch (const Error&) {  // it is not there
    }
  }
  return {};
}

struct SourceLine {
  std::string file;
  std::int64_t line = 0;
};

// "FILE:LINE", also with " (discriminator 2)" at the end; nullopt: it is not known.
std::optional<SourceLine> parse_place(std::string_view text) {
  text = text.substr(0, text.find(" (discriminator"));
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.starts_with('?')) return std::nullopt;
  SourceLine place{std::string(text.substr(0, colon))};
  const std::string_view number = text.substr(colon + 1);
  std::from_chars(number.data(), number.data() + number.size(), place.line);
  return place.line > 0 ? std::optional(place) : std::nullopt;
}

// The innermost place in the program's own files, of functions that are inlined there; else of all.
void choose_place(std::optional<SourceLine>& chosen, std::optional<SourceLine> next) {
  const auto is_library = [](const SourceLine& place) {
    return compute::is_native_library(place.file);
  };
  if (next && (!chosen || (is_library(*chosen) && !is_library(*next)))) chosen = std::move(next);
}

// By frame. Empty: the program did not answer.
std::vector<std::optional<SourceLine>> ask_for_places(const std::string& program,
                                                      const std::string& module,
                                                      std::span<const NativeFrame> frames,
                                                      const std::function<bool()>& stop) {
  std::vector<std::string> arguments{"-a", "-i", "-e", module};
  for (const NativeFrame& frame : frames) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, frame.address, 16).ptr;
    arguments.push_back("0x" + std::string(text, end));
  }
  HelperOutput output;
  try {
    output = run_helper(program, arguments, tool_patience, stop);
  } catch (const Error&) {
    return {};  // it cannot be started
  }
  if (output.end != HelperOutput::End::by_itself || output.status != 0) return {};
  // Of each address a line with it, and one for each function that is inlined there.
  std::vector<std::optional<SourceLine>> lines;
  for (const std::string& line : split(output.out, '\n')) {
    if (line.starts_with("0x")) {
      lines.emplace_back();
    } else if (!lines.empty() && !line.empty()) {
      choose_place(lines.back(), parse_place(line));
    }
  }
  return lines.size() == frames.size() ? lines : std::vector<std::optional<SourceLine>>();
}

// Lines of CUDA's own libraries are nobody's.
bool is_of_cuda(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('/') + 1);
  return name.starts_with("libcuda.so") || name.starts_with("libcudart.so");
}

bool has_debug_lines(const ElfFile& elf) {
  return elf.has_section(".debug_line") || elf.has_section(".gnu_debuglink");
}

}  // namespace

std::string name_native_frames(store::Database& database, const std::function<bool()>& stop) {
  FramesOfModules modules = read_native_frames(database);
  if (modules.empty()) return {};
  const std::string program = find_line_tool();
  std::size_t without_program = 0;
  database.execute("BEGIN");
  store::add_native_lines(database);
  auto name = database.prepare("UPDATE STACK_FRAME SET function = ?1 WHERE rowid = ?2");
  auto insert = database.prepare("INSERT OR REPLACE INTO NATIVE_LINE VALUES(?1, ?2, ?3, ?4, ?5)");
  for (auto& [path, frames] : modules) {
    if (stop && stop()) break;
    if (!path.starts_with('/')) continue;
    const ElfFile elf(path);
    std::vector<std::uint64_t> addresses;
    for (const NativeFrame& frame : frames) addresses.push_back(frame.address);
    const std::vector<std::string> functions = elf.functions_of(addresses);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      NativeFrame& frame = frames[i];
      if (!frame.function.empty() || functions[i].empty()) continue;
      frame.function = functions[i];
      name.bind(1, frame.function).bind(2, frame.row).run();
    }
    if (is_of_cuda(path) || !has_debug_lines(elf)) continue;
    if (program.empty()) {
      ++without_program;
      continue;
    }
    for (std::size_t at = 0; at < frames.size(); at += most_addresses) {
      const auto part = std::span(frames).subspan(at, std::min(most_addresses, frames.size() - at));
      const auto lines = ask_for_places(program, path, part, stop);
      if (lines.empty()) break;
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (!lines[i]) continue;
        insert.bind(1, part[i].process).bind(2, part[i].frame).bind(3, lines[i]->file);
        insert.bind(4, lines[i]->line).bind(5, demangled(part[i].function)).run();
      }
    }
  }
  database.execute("COMMIT");
  if (without_program == 0) return {};
  return "native functions have no lines: none of llvm-addr2line, addr2line and eu-addr2line is in "
         "PATH. Debian's package binutils has addr2line";
}

}  // namespace gpuprof::record
