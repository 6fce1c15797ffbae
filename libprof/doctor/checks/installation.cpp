// Whether gpuprof is whole, is the one that the user runs, and finds a CUPTI that fits the driver.
#include <unistd.h>

#include <filesystem>

#include "libprof/base/installation.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

constexpr std::size_t libc_bytes = 8 << 20;
constexpr std::size_t script_bytes = 4096;

// Of gpuprof's own, without the root; empty: it has none.
std::string own_copy(const System& system) {
  const std::string path = own_cupti(system.root + own_folder(system)).substr(system.root.size());
  return system.exists(path) ? path : "";
}

// A copy that no program finds unless it is named; empty: none.
std::string copy_of_toolkit(const System& system, std::string_view name) {
  std::vector<std::string> folders{"/usr/local/cuda/extras/CUPTI/lib64",
                                   "/opt/cuda/extras/CUPTI/lib64"};
  for (const std::string& folder : system.entries("/usr/local")) {
    if (folder.starts_with("cuda-")) {
      folders.push_back("/usr/local/" + folder + "/extras/CUPTI/lib64");
    }
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + std::string(name);
    if (system.exists(path)) return path;
  }
  return {};
}

std::string found_copy(const System& system, std::string_view name) {
  const Library library = find_library(system, name);
  return library.path.empty() ? copy_of_toolkit(system, name) : library.path;
}

Findings no_copy(const System& system) {
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
    if (const std::string path = copy_of_toolkit(system, name); !path.empty()) {
      return cannot("gpuprof has no libcupti, and programs do not find the toolkit's on their own",
                    {"export GPUPROF_CUPTI=" + shell_word(path)});
    }
  }
  return cannot(
      "there is no libcupti of CUDA 12.6 or newer; a program that has one is still "
      "recorded",
      {"pip install nvidia-cuda-cupti"});
}

Findings too_new(const System& system, const std::string& path, const std::string& driver) {
  const std::string what = path + " needs driver " + std::to_string(driver_of_cuda_13) +
                           " or newer; this one is " + driver;
  const std::string older = found_copy(system, "libcupti.so.12");
  if (!older.empty()) return cannot(what, {"export GPUPROF_CUPTI=" + shell_word(older)});
  return cannot(what, {"pip install nvidia-cuda-cupti-cu12",
                       "export GPUPROF_CUPTI=\"$(python3 -c 'import nvidia.cuda_cupti as c; "
                       "print(c.__path__[0])')/lib/libcupti.so.12\""});
}

Findings examine_cupti(const System& system) {
  const std::string chosen = system.variable("GPUPROF_CUPTI");
  if (!chosen.empty() && !system.exists(chosen)) {
    return cannot("GPUPROF_CUPTI names " + chosen + ", which does not exist",
                  {"unset GPUPROF_CUPTI"});
  }
  std::string path = chosen.empty() ? own_copy(system) : chosen;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
    if (path.empty()) path = find_library(system, name).path;
  }
  if (path.empty()) return no_copy(system);
  const std::string driver = module_version(system);
  const bool is_13 = system.target(path).find("libcupti.so.13") != std::string::npos ||
                     path.find("libcupti.so.13") != path.npos;
  if (is_13 && !driver.empty() && parts_of(driver)[0] < driver_of_cuda_13) {
    return too_new(system, path, driver);
  }
  return ok(path);
}

bool is_python_package(const System& system) {
  return own_folder(system).find("/gpuprof_cuda/") != std::string::npos;
}

std::string how_to_reinstall(const System& system) {
  const std::string prefix = folder_of(folder_of(own_folder(system)));
  if (is_python_package(system)) return "pip install --force-reinstall gpuprof_cuda-*.whl";
  if (prefix == "/usr") return "sudo apt install --reinstall ./gpuprof_*.deb";
  return "sudo tar xzf gpuprof-*.tar.gz -C " + shell_word(folder_of(prefix));
}

Findings examine_installation(const System& system) {
  const std::string folder = own_folder(system);
  if (folder.empty()) return unknown("this program's own path is not known: is /proc mounted?");
  for (const char* name :
       {"libgpuprof_collector.so", "gpuprof-salvage", "gpuprof-sampler", "gpuprof-probe"}) {
    const std::string path = folder + "/" + name;
    if (!system.exists(path)) {
      return cannot("this installation is not complete: " + path + " is missing",
                    {how_to_reinstall(system)});
    }
    // Libraries are read, also where they are loaded; an installation does not make them
    // executable.
    const int how = path.ends_with(".so") ? R_OK : R_OK | X_OK;
    if (!system.may(path, how)) {
      return cannot("this user may not " + std::string(how == R_OK ? "read " : "execute ") + path,
                    {"sudo chmod a+rx " + shell_word(path)});
    }
  }
  const Mount mount = mount_of(system, folder);
  if (mount.has("noexec")) {
    return cannot(mount.folder + " is mounted noexec, so no program can load the collector from it",
                  {"sudo mount -o remount,exec " + shell_word(mount.folder)});
  }
  Findings whole = ok(folder);
#if defined(__aarch64__)
  whole.push_back({Answer::unknown,
                   "gpuprof for Arm was built and tested under emulation, not on a real Grace",
                   {}});
#endif
  return whole;
}

// About the first gpuprof on PATH.
Findings about_program(const System& system, const std::string& path, const std::string& own) {
  const std::string script = system.text(path, script_bytes).value_or("");
  const bool is_package = script.find("gpuprof_cuda") != script.npos;
  if (is_package || system.is_same(path, own)) return ok(path);
  const std::vector<std::string> type{"export PATH=" + shell_word(folder_of(own)) + ":\"$PATH\""};
  if (script.starts_with("#!") && script.find("from gpuprof") != script.npos) {
    return cannot("gpuprof on PATH is " + path + ", of another Python package of this name", type);
  }
  return unknown("gpuprof on PATH is " + path + ", this one is " + own, type);
}

Findings examine_names(const System& system) {
  for (const std::string& folder : package_folders(system)) {
    if (!folder.starts_with('/')) continue;
    for (const std::string& name : system.entries(folder)) {
      if (!name.starts_with("gpuprof-") || !name.ends_with(".dist-info")) continue;
      return cannot("another Python package is called gpuprof (" + folder + "/" + name +
                        "): import gpuprof and the command may be its own",
                    is_python_package(system) ? std::vector<std::string>{"pip uninstall gpuprof",
                                                                         how_to_reinstall(system)}
                                              : std::vector<std::string>{"pip uninstall gpuprof"});
    }
  }
  const std::string own = own_program(system);
  for (const std::string& folder : split(system.variable("PATH"), ':')) {
    const std::string path = folder + "/gpuprof";
    if (!folder.starts_with('/') || !system.exists(path) || !system.may(path, X_OK)) continue;
    return about_program(system, path, own);
  }
  return ok("no other gpuprof is on PATH");
}

Findings examine_glibc(const System& system) {
  const Library library = find_library(system, "libc.so.6");
  if (library.path.empty()) {
    for (const std::string& name : system.entries("/lib")) {
      if (!name.starts_with("ld-musl-")) continue;
      return cannot(
          "this system has musl (/lib/" + name + "); NVIDIA's driver and the collector need glibc",
          {"docker run --gpus all ubuntu"});
    }
    return unknown("libc.so.6 was not found in the usual folders");
  }
  const std::string text = system.text(library.path, libc_bytes).value_or("");
  constexpr std::string_view before = "stable release version ";
  const std::size_t at = text.find(before);
  if (at == text.npos) return ok(library.path);
  const std::size_t begin = at + before.size();
  const std::string version =
      text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
  const std::string plain =
      version.ends_with('.') ? version.substr(0, version.size() - 1) : version;
  if (const auto parts = parts_of(plain); parts[0] == 2 && parts[1] < 28) {
    return cannot("glibc " + plain + " is older than 2.28, which gpuprof's packages need",
                  {"scripts/setup", "scripts/build"});
  }
  return ok("glibc " + plain);
}

}  // namespace

extern const Check cupti_check{
    .name = "cupti",
    .question = "Is there a libcupti that fits the driver?",
    .examine = examine_cupti,
};

extern const Check installation_check{
    .name = "installation",
    .question = "Is gpuprof whole, and can programs load its collector?",
    .examine = examine_installation,
};

extern const Check names_check{
    .name = "names",
    .question = "Is this the gpuprof that the shell and Python find?",
    .examine = examine_names,
};

extern const Check glibc_check{
    .name = "glibc",
    .question = "Is the C library one that the collector can be loaded with?",
    .examine = examine_glibc,
};

}  // namespace gpuprof::doctor
