// Where the profile and temporary files go.
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "libprof/base/path.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

// A profile fills less in seconds.
constexpr unsigned long long least_output = 256 << 20;
constexpr unsigned long long least_temporary = 64 << 20;
constexpr std::size_t socket_name_bytes = sizeof "/gpuprof-XXXXXX/socket";

// Readers on one of these do not share memory with the writer, or locks do not work.
bool is_remote(const std::string& type) {
  constexpr std::array<std::string_view, 14> types{
      "nfs",  "nfs4",   "cifs",       "smb3",      "smbfs",          "afs",  "ceph", "lustre",
      "gpfs", "beegfs", "fuse.sshfs", "fuse.ceph", "fuse.glusterfs", "ocfs2"};
  return std::ranges::find(types, type) != types.end();
}

bool is_unclear(const std::string& type) {
  return type == "9p" || type == "virtiofs" || type.starts_with("fuse");
}

// Why files cannot be made in the folder; empty: they can.
Findings unusable(const System& system, const std::string& folder, unsigned long long least,
                  const std::string& type) {
  const Mount mount = mount_of(system, folder);
  if (mount.has("ro")) {
    return cannot(folder + " is on a file system that is mounted read-only (" + mount.folder + ")",
                  {type});
  }
  if (!system.may(folder, W_OK | X_OK)) {
    return cannot("this user may not create files in " + folder, {type});
  }
  struct statvfs room {};
  if (statvfs((system.root + folder).c_str(), &room) != 0) return {};
  const unsigned long long bytes = room.f_bavail * 1ULL * room.f_frsize;
  if (room.f_blocks > 0 && bytes < least) {
    return cannot(folder + " has room for " + in_words(bytes), {type});
  }
  return {};
}

Findings examine_output(const System& system) {
  const std::string folder = existing_folder(system, folder_of(system.output));
  const std::string type = "gpuprof -o /tmp/run.sqlite ./app";
  if (folder != folder_of(system.output)) {
    return cannot("the folder of " + system.output + " does not exist",
                  {"mkdir -p " + shell_word(folder_of(system.output))});
  }
  if (Findings why = unusable(system, folder, least_output, type); !why.empty()) return why;
  const Mount mount = mount_of(system, folder);
  if (is_remote(mount.type)) {
    return cannot(folder + " is on " + mount.type + " (" + mount.folder +
                      "); while it is being recorded, a profile belongs on a local file system",
                  {type});
  }
  if (is_unclear(mount.type)) {
    return unknown(folder + " is on " + mount.type +
                       "; a profile that is being recorded needs memory shared by its readers",
                   {type});
  }
  return ok(folder + (mount.type.empty() ? "" : ", on " + mount.type));
}

Findings examine_temporary(const System& system) {
  const std::string set = system.variable("TMPDIR");
  const std::string folder = set.empty() ? "/tmp" : set;
  const std::string type = set.empty() ? "export TMPDIR=\"$HOME\"" : "unset TMPDIR";
  if (!folder.starts_with('/')) return unknown("TMPDIR is " + folder + ", a relative path", {type});
  if (!system.is_folder(folder)) return cannot(folder + " is not a folder (TMPDIR)", {type});
  if (folder.size() + socket_name_bytes > sizeof sockaddr_un{}.sun_path) {
    return cannot("TMPDIR is so long that a socket in it has no name: " + folder, {type});
  }
  if (Findings why = unusable(system, folder, least_temporary, type); !why.empty()) return why;
  return ok(folder);
}

}  // namespace

extern const Check output_check{
    .name = "output",
    .question = "Can a profile be written there while others read it?",
    .examine = examine_output,
};

extern const Check temporary_check{
    .name = "temporary",
    .question = "Can sockets and temporary files be made?",
    .examine = examine_temporary,
};

}  // namespace gpuprof::doctor
