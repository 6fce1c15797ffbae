#include "libprof/doctor/facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>

#include "libprof/base/path.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::doctor {
namespace {

constexpr int most_included_files = 64;

bool is_version(std::string_view word) {
  return parts_of(word)[0] > 0 && word.find('.') != word.npos;
}

// The folders that a file of /etc/ld.so.conf lists, without its includes.
void add_folders(const System& system, const std::string& file, std::vector<std::string>& to) {
  std::istringstream lines(system.text(file).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::string_view folder = trimmed(std::string_view(line).substr(0, line.find('#')));
    const bool has_32_bits =
        folder.find("i386") != folder.npos || folder.find("lib32") != folder.npos;
    if (folder.starts_with('/') && !has_32_bits) to.emplace_back(folder);
  }
}

// \040 and the like in mountinfo.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const std::string_view digits = text.substr(i, 4);
    if (digits.size() == 4 && digits[0] == '\\' &&
        std::from_chars(digits.data() + 1, digits.data() + 4, code, 8).ptr == digits.data() + 4) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool contains(const std::string& folder, const std::string& path) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

}  // namespace

std::array<int, 3> parts_of(std::string_view version) {
  std::array<int, 3> parts{};
  const std::vector<std::string> words = split(version, '.');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = parse<int>(words[i]);
    if (!number || *number < 0) return {};
    if (i < parts.size()) parts[i] = *number;
  }
  return parts;
}

std::string version_in(const std::string& path) {
  const std::size_t at = path.rfind(".so.");
  if (at == path.npos) return {};
  const std::string version = path.substr(at + 4);
  return is_version(version) ? version : "";
}

std::string module_version(const System& system) {
  for (const std::string& word : split(system.line("/proc/driver/nvidia/version"), ' ')) {
    if (is_version(word)) return word;
  }
  return {};
}

std::string own_program(const System& system) {
  const std::string link = "/proc/self/exe";
  const std::string path = system.target(link);
  return path == link ? "" : path;
}

std::string own_folder(const System& system) {
  const std::string program = own_program(system);
  return program.empty() ? "" : folder_of(folder_of(program)) + "/lib/gpuprof";
}

std::vector<std::string> library_folders(const System& system) {
  std::vector<std::string> folders;
  for (const std::string& folder : split(system.variable("LD_LIBRARY_PATH"), ':')) {
    if (folder.starts_with('/')) folders.push_back(folder);
  }
  add_folders(system, "/etc/ld.so.conf", folders);
  int files = 0;
  for (const std::string& name : system.entries("/etc/ld.so.conf.d")) {
    if (name.ends_with(".conf") && ++files <= most_included_files) {
      add_folders(system, "/etc/ld.so.conf.d/" + name, folders);
    }
  }
  folders.insert(folders.end(),
                 {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                  "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"});
  return folders;
}

Library find_library(const System& system, std::string_view name) {
  for (const std::string& folder : library_folders(system)) {
    const std::string path = folder + "/" + std::string(name);
    if (!system.exists(path)) continue;
    return {path, version_in(system.target(path))};
  }
  return {};
}

std::vector<std::string> package_folders(const System& system) {
  std::vector<std::string> folders = split(system.variable("PYTHONPATH"), ':');
  std::vector<std::string> prefixes{"/usr/lib", "/usr/local/lib"};
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string value = system.variable(name); !value.empty()) {
      prefixes.push_back(value + "/lib");
    }
  }
  if (const std::string home = system.variable("HOME"); !home.empty()) {
    prefixes.push_back(home + "/.local/lib");
  }
  for (const std::string& prefix : prefixes) {
    for (const std::string& name : system.entries(prefix)) {
      if (!name.starts_with("python3")) continue;
      folders.push_back(prefix + "/" + name + "/site-packages");
      folders.push_back(prefix + "/" + name + "/dist-packages");
    }
  }
  return folders;
}

std::string container_of(const System& system) {
  const std::string groups = system.text("/proc/1/cgroup").value_or("");
  if (system.is_set("KUBERNETES_SERVICE_HOST") || groups.find("kubepods") != groups.npos) {
    return "kubernetes";
  }
  if (system.exists("/.dockerenv") || groups.find("/docker") != groups.npos) return "docker";
  if (system.exists("/run/.containerenv")) return "podman";
  if (system.is_set("APPTAINER_CONTAINER") || system.is_set("SINGULARITY_CONTAINER")) {
    return "apptainer";
  }
  const std::string said = system.variable("container");
  if (said.starts_with("lxc") || groups.find("/lxc") != groups.npos) return "lxc";
  return said.empty() ? "" : "a container";
}

bool is_wsl(const System& system) {
  return lower(system.line("/proc/sys/kernel/osrelease")).find("microsoft") != std::string::npos;
}

namespace {

// The value after "NAME:" in /proc/self/status.
std::string status_of(const System& system, std::string_view name) {
  std::istringstream lines(system.text("/proc/self/status").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) return std::string(trimmed(line.substr(name.size())));
  }
  return {};
}

}  // namespace

bool has_capability(const System& system, int capability) {
  const auto all = parse<std::uint64_t>(status_of(system, "CapEff:"), 16);
  return all && (*all >> capability & 1);
}

bool is_root(const System& system) {
  const std::vector<std::string> words = split(status_of(system, "Uid:"), '\t');
  return words.size() > 1 && words[1] == "0";
}

std::vector<Running> running(const System& system, std::initializer_list<std::string_view> names) {
  std::vector<Running> found;
  const std::string self = std::to_string(getpid());
  for (const std::string& process : system.entries("/proc")) {
    if (!parse<int>(process) || (process == self && !system.is_copy())) continue;
    const std::string name = system.line("/proc/" + process + "/comm");
    const bool is_one = std::ranges::any_of(
        names, [&](std::string_view wanted) { return name == wanted.substr(0, 15); });
    if (is_one) found.push_back({process, name});
  }
  return found;
}

std::string words_for(const std::vector<Running>& all) {
  return joined(all, ", ",
                [](const Running& one) { return one.name + " (process " + one.process + ")"; });
}

bool Mount::has(std::string_view option) const {
  const std::vector<std::string> all = split(options, ',');
  return std::ranges::find(all, option) != all.end();
}

Mount mount_of(const System& system, const std::string& path) {
  Mount best;
  std::istringstream lines(system.text("/proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t middle = line.find(" - ");
    if (middle == line.npos) continue;
    const std::vector<std::string> first = split(std::string_view(line).substr(0, middle), ' ');
    const std::vector<std::string> second = split(std::string_view(line).substr(middle + 3), ' ');
    if (first.size() < 6 || second.size() < 3) continue;
    const std::string folder = unescaped(first[4]);
    // Of two at one place, the later one is seen.
    if (contains(folder, path) && folder.size() >= best.folder.size()) {
      best = {folder, second[0], first[5], second[2]};
    }
  }
  return best;
}

std::string distribution(const System& system) {
  std::string words;
  std::istringstream lines(system.text("/etc/os-release").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("ID=") || line.starts_with("ID_LIKE=")) {
      words += " " + replaced_all(line.substr(line.find('=') + 1), "\"", "") + " ";
    }
  }
  const auto is = [&](std::string_view name) {
    return words.find(" " + std::string(name) + " ") != words.npos;
  };
  if (is("ubuntu")) return "ubuntu";
  if (is("debian")) return "debian";
  if (is("fedora") || is("rhel")) return "fedora";
  if (is("suse") || is("sles") || is("opensuse")) return "suse";
  return is("arch") ? "arch" : "";
}

std::vector<std::string> how_to_reload(const System& system) {
  const std::string family = distribution(system);
  if (family == "ubuntu" || family == "debian") return {"sudo update-initramfs -u", "sudo reboot"};
  if (family == "fedora" || family == "suse") return {"sudo dracut --force", "sudo reboot"};
  return {"sudo reboot"};
}

std::vector<std::string> how_to_permit(const System& system) {
  const std::string container = container_of(system);
  if (container == "kubernetes") {
    return {"securityContext: {capabilities: {add: [\"SYS_ADMIN\"]}}"};
  }
  if (container == "podman")
    return {"podman run --cap-add=SYS_ADMIN --device nvidia.com/gpu=all IMAGE"};
  if (!container.empty()) return {"docker run --cap-add=SYS_ADMIN --gpus all IMAGE"};
  std::vector<std::string> type{std::string("echo 'options nvidia ") + unrestricted +
                                "' | sudo tee /etc/modprobe.d/nvidia-profiling.conf"};
  const std::vector<std::string> reload = how_to_reload(system);
  type.insert(type.end(), reload.begin(), reload.end());
  return type;
}

std::string existing_folder(const System& system, const std::string& path) {
  std::string folder = path;
  while (folder.size() > 1 && !system.is_folder(folder)) folder = folder_of(folder);
  return folder.empty() ? "/" : folder;
}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string in_words(unsigned long long bytes) {
  constexpr unsigned long long mib = 1 << 20;
  if (bytes >= 10 * 1024 * mib) return std::to_string(bytes / (1024 * mib)) + " GiB";
  return bytes >= mib ? std::to_string(bytes / mib) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace gpuprof::doctor
