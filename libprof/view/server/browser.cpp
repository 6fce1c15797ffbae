#include "libprof/view/server/browser.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "libprof/base/error.hpp"

extern char** environ;

namespace gpuprof::view {
namespace {

// Sandboxed browsers (snap, flatpak) have their own /tmp and cannot see hidden files in the home
// folder.
std::unique_ptr<TemporaryFolder> make_folder() {
  const char* home = std::getenv("HOME");
  struct stat facts {};
  if (home && *home == '/' && stat(home, &facts) == 0 && facts.st_uid == geteuid()) {
    try {
      return std::make_unique<TemporaryFolder>(home, "gpuprof-", "");
    } catch (const Error&) {
      // The home folder may be read-only.
    }
  }
  return std::make_unique<TemporaryFolder>();
}

bool write_file(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

}  // namespace

Browser::Browser(const std::string& address) {
  try {
    folder_ = make_folder();
  } catch (const Error&) {
    return;
  }
  std::string program = "xdg-open", page = *folder_ / "open.html";
  if (!write_file(page,
                  "<!doctype html><meta charset=\"utf-8\"><title>gpuprof view</title>"
                  "<meta http-equiv=\"refresh\" content=\"0; url=" +
                      address +
                      "\">"
                      "<a href=\"" +
                      address + "\">gpuprof view</a>\n")) {
    return;
  }
  char* const words[] = {program.data(), page.data(), nullptr};
  if (posix_spawnp(&process_, "xdg-open", nullptr, nullptr, words, environ) != 0) process_ = 0;
}

Browser::~Browser() {
  if (process_ > 0) waitpid(process_, nullptr, WNOHANG);
}

}  // namespace gpuprof::view
