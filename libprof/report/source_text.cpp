#include "libprof/report/source_text.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "libprof/base/regular_file.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = std::size_t{16} << 20;
constexpr std::size_t largest_sum = std::size_t{64} << 20;
constexpr std::size_t longest_line = 160;  // bytes
constexpr std::size_t longest_name = 4096;

constexpr std::array<std::string_view, 26> endings{
    ".cu", ".cuh", ".cuf", ".c",   ".cc",  ".cpp", ".cxx",  ".c++", ".h",
    ".hh", ".hpp", ".hxx", ".h++", ".inl", ".inc", ".ipp",  ".tpp", ".tcc",
    ".py", ".pyx", ".f90", ".f",   ".jl",  ".rs",  ".mojo", ".cl"};

bool called_as_source(const std::string& file) {
  return std::ranges::any_of(endings,
                             [&](std::string_view ending) { return file.ends_with(ending); });
}

bool is_regular(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Both paths must be free of links and dots.
bool is_beneath(const fs::path& path, const fs::path& folder) {
  const auto [rest, end] = std::mismatch(path.begin(), path.end(), folder.begin(), folder.end());
  return end == folder.end() && rest != path.end();
}

}  // namespace

SourceText::SourceText(const std::string& root, std::int64_t since)
    : has_root_(!root.empty()), since_(since), left_(largest_sum) {
  if (!has_root_) return;
  std::error_code error;
  root_ = fs::canonical(root, error);
  if (error) root_.clear();
}

std::optional<fs::path> SourceText::find(const std::string& file) const {
  if (file.size() > longest_name || file.find('\0') != file.npos || !called_as_source(file)) {
    return {};
  }
  if (!has_root_) {
    if (file.front() != '/' || !is_regular(file)) return {};
    return fs::path(file);
  }
  if (root_.empty()) return {};
  std::vector<fs::path> parts;
  for (const fs::path& part : fs::path(file)) {
    if (part != "/" && part != "." && part != ".." && !part.empty()) parts.push_back(part);
  }
  for (std::size_t first = 0; first < parts.size(); ++first) {
    fs::path candidate = root_;
    for (std::size_t i = first; i < parts.size(); ++i) candidate /= parts[i];
    std::error_code error;
    const fs::path found = fs::canonical(candidate, error);
    if (!error && is_beneath(found, root_) && called_as_source(found) && is_regular(found)) {
      return found;
    }
  }
  return {};
}

SourceText::Text SourceText::read(const std::string& file) {
  const auto path = find(file);
  if (!path) return {};
  const Descriptor opened = open_regular(*path);  // in case it has become something else
  struct stat status {};
  if (*opened < 0 || fstat(*opened, &status) != 0 || status.st_size < 0 ||
      static_cast<std::size_t>(status.st_size) > largest_file) {
    return {};
  }
  Text text;
  text.bytes = read_up_to(*opened, std::min(largest_file, left_)).value_or("");
  left_ -= text.bytes.size();
  for (std::size_t at = 0; at < text.bytes.size(); ++at) {
    if (at == 0 || text.bytes[at - 1] == '\n') text.begins.push_back(at);
  }
  const std::int64_t changed =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (since_ > 0 && changed > since_) changed_.push_back(file);
  return text;
}

std::optional<std::string> SourceText::line(const std::string& file, std::int64_t number) {
  auto known = files_.find(file);
  if (known == files_.end()) known = files_.emplace(file, read(file)).first;
  const Text& text = known->second;
  if (number < 1 || static_cast<std::uint64_t>(number) > text.begins.size()) return {};
  const std::size_t begin = text.begins[static_cast<std::size_t>(number - 1)];
  std::string line = text.bytes.substr(begin, text.bytes.find('\n', begin) - begin);
  std::ranges::replace(line, '\t', ' ');
  const std::size_t first = line.find_first_not_of(" \r");
  if (first == line.npos) return std::string();
  line = line.substr(first, line.find_last_not_of(" \r") + 1 - first);
  if (line.size() > longest_line) {
    line.resize(beginning_of(line, longest_line).size());
    line += " ...";
  }
  return line;
}

}  // namespace gpuprof::report
