#include "libprof/record/launch/kept_answer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/regular_file.hpp"

namespace gpuprof::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "gpuprof 1\n";
constexpr std::string_view end_of_circumstances = "---\n";
constexpr off_t largest = 64 << 10;

std::string first_line_of(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The process's rights decide whether the driver lets it read counters.
std::string rights() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff")) return line;
  }
  return {};
}

// A container has some of the machine's devices.
std::string device_files() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry("/dev", error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with("nvidia")) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

std::string version_of(const std::string& library) {
  struct stat status {};
  if (stat(library.c_str(), &status) != 0) return library;
  return library + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_mtim.tv_sec);
}

// The kernel's part and the library.
std::string driver() {
  const std::string library = driver_file();
  return library.empty() ? ""
                         : first_line_of("/sys/module/nvidia/version") + " " + version_of(library);
}

// Empty if the boot or the driver cannot be identified.
std::string circumstances_here(const std::vector<std::string>& cuptis) {
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  const std::string its_driver = driver();
  if (boot.empty() || its_driver.empty()) return {};
  std::string text = "boot " + boot + "\ndriver " + its_driver + "\nuser " +
                     std::to_string(geteuid()) + "\n" + rights() + "\ndevices" + device_files() +
                     "\n";
  for (const std::string& cupti : cuptis) text += "cupti " + version_of(cupti) + "\n";
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_PIPE_DIRECTORY",
                           "NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"}) {
    const char* value = std::getenv(name);
    if (value) text += std::string(name) + "=" + value + "\n";
  }
  return text;
}

// Empty: there is none.
std::string cache_folder() {
  const auto absolute = [](const char* path) { return path && path[0] == '/'; };
  const char* folder = std::getenv("XDG_CACHE_HOME");
  if (absolute(folder)) return std::string(folder) + "/gpuprof";
  const char* home = std::getenv("HOME");
  return absolute(home) ? std::string(home) + "/.cache/gpuprof" : "";
}

// nullopt unless it is a small file of this user alone.
std::optional<std::string> private_text(const std::string& path) {
  const Descriptor file = open_regular(path, O_NOFOLLOW);
  struct stat status {};
  const bool ours = *file >= 0 && fstat(*file, &status) == 0 && status.st_uid == geteuid() &&
                    (status.st_mode & 077) == 0 && status.st_size <= largest;
  return ours ? read_up_to(*file, largest) : std::nullopt;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(file, text.data(), text.size());
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

KeptAnswer::KeptAnswer(std::string_view name, const std::vector<std::string>& cuptis)
    : circumstances_(circumstances_here(cuptis)) {
  const std::string folder = cache_folder();
  if (!folder.empty()) file_ = folder + "/" + std::string(name);
}

std::optional<std::string> KeptAnswer::read() const {
  if (file_.empty() || circumstances_.empty()) return std::nullopt;
  const std::optional<std::string> text = private_text(file_);
  if (!text) return std::nullopt;
  const std::string expected =
      std::string(first_line) + circumstances_ + std::string(end_of_circumstances);
  if (!text->starts_with(expected)) return std::nullopt;
  return text->substr(expected.size());
}

void KeptAnswer::keep(std::string_view text) const {
  if (file_.empty() || circumstances_.empty()) return;
  const fs::path folder = fs::path(file_).parent_path();
  std::error_code error;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  std::string made = file_ + ".XXXXXX";
  const int file = mkostemp(made.data(), O_CLOEXEC);  // for this user alone
  if (file < 0) return;
  const bool whole = write_all(file, std::string(first_line) + circumstances_ +
                                         std::string(end_of_circumstances) + std::string(text));
  close(file);
  if (!whole || std::rename(made.c_str(), file_.c_str()) != 0) unlink(made.c_str());
}

void KeptAnswer::forget() const {
  if (!file_.empty()) unlink(file_.c_str());
}

}  // namespace gpuprof::launch
