#include "libprof/doctor/system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "libprof/base/path.hpp"
#include "libprof/base/regular_file.hpp"
#include "libprof/base/text.hpp"

extern char** environ;

namespace gpuprof::doctor {
namespace {

constexpr std::size_t most_entries = 65'536;
constexpr int most_links = 16;

bool is_regular(const struct stat& status) { return S_ISREG(status.st_mode); }

}  // namespace

std::string System::variable(std::string_view name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<std::string> System::text(const std::string& path, std::size_t most) const {
  const std::string name = root + path;
  struct stat status {};
  // Before it is opened too: opening a device may do something.
  if (stat(name.c_str(), &status) != 0 || !is_regular(status)) return std::nullopt;
  return read_beginning(name, most);
}

std::string System::line(const std::string& path) const {
  const std::string whole = text(path, 1 << 16).value_or("");
  return std::string(trimmed(std::string_view(whole).substr(0, whole.find('\n'))));
}

bool System::exists(const std::string& path) const {
  struct stat status {};
  return stat((root + path).c_str(), &status) == 0;
}

bool System::is_folder(const std::string& path) const {
  struct stat status {};
  return stat((root + path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

unsigned System::mode(const std::string& path) const {
  struct stat status {};
  return stat((root + path).c_str(), &status) == 0 ? status.st_mode : 0;
}

bool System::is_same(const std::string& path, const std::string& other) const {
  struct stat one {
  }, two{};
  return stat((root + path).c_str(), &one) == 0 && stat((root + other).c_str(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

bool System::may(const std::string& path, int how) const {
  return faccessat(AT_FDCWD, (root + path).c_str(), how, AT_EACCESS) == 0;
}

std::vector<std::string> System::entries(const std::string& folder) const {
  std::vector<std::string> names;
  if (!is_folder(folder)) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir((root + folder).c_str()), closedir);
  while (const dirent* entry = open ? readdir(open.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    if (names.size() == most_entries) break;
  }
  std::ranges::sort(names);
  return names;
}

std::string System::target(const std::string& path) const {
  std::filesystem::path at = path;
  for (int i = 0; i < most_links; ++i) {
    std::error_code error;
    const auto next = std::filesystem::read_symlink(root + at.string(), error);
    if (error) break;
    at = (at.parent_path() / next).lexically_normal();
  }
  return at;
}

System this_system(const std::string& output) {
  System system;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == text.npos) continue;
    system.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  system.root = system.variable("GPUPROF_DOCTOR_ROOT");
  system.output = system.is_copy() ? output : resolved(output);
  return system;
}

}  // namespace gpuprof::doctor
