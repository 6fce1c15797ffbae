#include "libprof/base/process_stat.hpp"

#include <iterator>
#include <sstream>

#include "libprof/base/regular_file.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof {
namespace {

constexpr std::size_t most_stat_bytes = 4096;  // 52 numbers, and a name of 64 bytes at most
constexpr std::size_t most_status_bytes = 64 << 10;

}  // namespace

std::vector<std::string> process_stat(pid_t process) {
  const std::string text =
      read_beginning("/proc/" + std::to_string(process) + "/stat", most_stat_bytes).value_or("");
  // The name may contain anything.
  const std::size_t name = text.rfind(") ");
  if (name == text.npos) return {};
  std::istringstream rest(text.substr(name + 2));
  return {std::istream_iterator<std::string>(rest), {}};
}

std::string process_status(const std::string& folder, std::string_view name) {
  const auto text = read_beginning(folder + "/status", most_status_bytes);
  for (const std::string& line : split(text.value_or(""), '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return std::string(trimmed(std::string_view(line).substr(name.size() + 1)));
    }
  }
  return {};
}

std::vector<pid_t> process_numbers(const std::string& folder) {
  std::istringstream numbers(process_status(folder, "NSpid"));
  return {std::istream_iterator<pid_t>(numbers), {}};
}

}  // namespace gpuprof
