// Facts about the system that several checks use, read from its files.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/doctor/system.hpp"

namespace gpuprof::doctor {

// The oldest driver that CUPTI 13 works with: that of CUDA 13.
inline constexpr int driver_of_cuda_13 = 580;

// A driver's version, "580.159.03": its parts. {0, 0, 0}: not one.
std::array<int, 3> parts_of(std::string_view version);

// What follows ".so." in a library's name, if it is a version; otherwise empty.
std::string version_in(const std::string& path);

// Of the loaded kernel module; empty: none is loaded.
std::string module_version(const System& system);

// PREFIX/bin/gpuprof, this program, and PREFIX/lib/gpuprof; empty: its path is not known.
std::string own_program(const System& system);
std::string own_folder(const System& system);

struct Library {
  std::string path;     // empty: not found
  std::string version;  // from the name of the file that it is a link to; empty: it does not say
};

// Where the loader looks for libraries: LD_LIBRARY_PATH, /etc/ld.so.conf and the system's folders.
std::vector<std::string> library_folders(const System& system);
// The one that a program would load by this name, such as libcuda.so.1.
Library find_library(const System& system, std::string_view name);

// Where Python packages may be: in the folders that Python searches and in those next to it.
std::vector<std::string> package_folders(const System& system);

// "docker", "podman", "kubernetes", "lxc", "apptainer" or "a container"; empty: not in one.
std::string container_of(const System& system);
// Whether it is Linux in Windows.
bool is_wsl(const System& system);

// Linux's capabilities by number, of this process.
inline constexpr int cap_sys_ptrace = 19;
inline constexpr int cap_sys_admin = 21;
inline constexpr int cap_perfmon = 38;
bool has_capability(const System& system, int capability);
bool is_root(const System& system);

struct Running {
  std::string process;  // its number
  std::string name;     // as far as the kernel keeps it, 15 characters
};
// The processes, other than this one, whose names begin so. What another user's container runs is
// not visible.
std::vector<Running> running(const System& system, std::initializer_list<std::string_view> names);
std::string words_for(const std::vector<Running>& all);  // "ncu (process 12), nsys (process 14)"

struct Mount {
  std::string folder;  // where it is mounted; empty: unknown
  std::string type;    // "ext4"
  std::string options;
  std::string super_options;
  bool has(std::string_view option) const;  // one of options
};
// That of a path.
Mount mount_of(const System& system, const std::string& path);

// The distribution's family: "debian", "ubuntu", "fedora", "suse", "arch"; empty: another.
std::string distribution(const System& system);

// The option of the nvidia module that lets every user read counters.
inline constexpr char unrestricted[] = "NVreg_RestrictProfilingToAdminUsers=0";
// What makes the driver let every user read counters, or lets this container do so.
std::vector<std::string> how_to_permit(const System& system);
// What puts an option of the nvidia module into effect.
std::vector<std::string> how_to_reload(const System& system);

// A folder of the path that exists, at least "/".
std::string existing_folder(const System& system, const std::string& path);

// What follows the last slash.
std::string name_in(const std::string& path);

// In words: "64 MiB".
std::string in_words(unsigned long long bytes);

}  // namespace gpuprof::doctor
