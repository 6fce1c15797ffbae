#include "libprof/terminal/disassembly.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/launch/target.hpp"

namespace gpuprof::terminal {
namespace {

constexpr std::chrono::minutes patience{2};
constexpr off_t most_text = off_t{512} << 20;
constexpr const char* usual_place = "/usr/local/cuda/bin/nvdisasm";

class File {
 public:
  explicit File(const std::string& path)
      : number_(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    if (number_ < 0) throw Error(path + " cannot be written");
  }
  ~File() { close(number_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int number() const { return number_; }
  off_t size() const {
    struct stat about {};
    return fstat(number_, &about) == 0 ? about.st_size : 0;
  }

 private:
  const int number_;
};

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error(path + " cannot be written");
}

// "        /*0010*/   @!P0 EXIT ;" -> 16 and "@!P0 EXIT". Nullopt: not an instruction.
std::optional<std::pair<std::int64_t, std::string>> instruction(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("/*")) return {};
  const std::size_t end = line.find("*/");
  if (end == std::string_view::npos) return {};
  std::int64_t offset = 0;
  const char* const last = line.data() + end;
  const auto [stop, error] = std::from_chars(line.data() + 2, last, offset, 16);
  if (error != std::errc() || stop != last || offset < 0) return {};
  std::string_view text = trimmed(line.substr(end + 2));
  if (const std::size_t semicolon = text.find(';'); semicolon != std::string_view::npos) {
    text = trimmed(text.substr(0, semicolon));
  }
  if (text.empty()) return {};
  return std::pair(offset, std::string(text));
}

}  // namespace

std::string find_disassembler(const std::string& given) {
  try {
    return launch::look_up(given.empty() ? "nvdisasm" : given);
  } catch (const Error&) {
    if (given.empty() && access(usual_place, X_OK) == 0) return usual_place;
    throw Error((given.empty() ? "nvdisasm is neither in PATH nor in /usr/local/cuda/bin"
                               : given + " cannot be run"),
                "it comes with the CUDA Toolkit (package cuda-nvdisasm); --nvdisasm PATH names it",
                ExitCode::bad_option);
  }
}

Assembly disassemble(const std::string& nvdisasm, std::string_view cubin,
                     const std::function<bool()>& interrupted) {
  const TemporaryFolder folder;
  write_file(folder / "code.cubin", cubin);
  const File text(folder / "text");
  HelperProcess process(nvdisasm, {"-c", folder / "code.cubin"}, {{text.number(), 1}}, patience);
  while (!process.ended()) {
    if (process.overdue()) throw Error(nvdisasm + " takes more than 2 minutes");
    if (text.size() > most_text) throw Error(nvdisasm + " writes more than 512 MiB");
    if (interrupted()) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!process.succeeded()) {
    throw Error(nvdisasm + " cannot read a cubin of the profile",
                "one of the toolkit that compiled it, or newer, may", ExitCode::import_failed);
  }
  std::ifstream input(folder / "text");
  return parse_assembly(input);
}

Assembly parse_assembly(std::istream& text) {
  constexpr std::string_view section = ".text.";
  Assembly assembly;
  std::map<std::int64_t, std::string>* function = nullptr;
  for (std::string line; std::getline(text, line);) {
    const std::string_view word = trimmed(line);
    if (word.starts_with(section) && word.ends_with(':')) {
      function = &assembly[std::string(word.substr(section.size(), word.size() - 7))];
    } else if (word.starts_with(".section")) {
      function = nullptr;
    } else if (auto found = function ? instruction(word) : std::nullopt) {
      function->insert_or_assign(found->first, std::move(found->second));
    }
  }
  return assembly;
}

}  // namespace gpuprof::terminal
