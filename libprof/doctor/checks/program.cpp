// A program that is to be profiled, looked at without running it.
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

constexpr std::size_t head_bytes = 1 << 16;
#if defined(__aarch64__)
constexpr int own_machine = EM_AARCH64;
#else
constexpr int own_machine = EM_X86_64;
#endif

// As exec searches it; empty: not found. Relative names mean the working directory of this process.
std::string program_at(const System& system, const std::string& name) {
  if (name.find('/') != name.npos) return system.exists(name) ? name : "";
  for (const std::string& folder : split(system.variable("PATH"), ':')) {
    const std::string path = folder + "/" + name;
    if (!folder.empty() && (system.mode(path) & S_IFMT) == S_IFREG && system.may(path, X_OK)) {
      return path;
    }
  }
  return {};
}

// The words of a script's first line; empty: it is not a script.
std::vector<std::string> interpreter_of(const std::string& head) {
  if (!head.starts_with("#!")) return {};
  std::vector<std::string> words;
  // A carriage return at the end of the line is part of the last word, as it is for the kernel.
  const std::string line = replaced_all(head.substr(2, head.find('\n') - 2), "\t", " ");
  for (const std::string& word : split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

struct Elf {
  bool is_elf = false;
  bool has_64_bits = false;
  int machine = 0;
  std::string loader;  // empty: it is statically linked
};

Elf read_elf(const std::string& head) {
  Elf elf;
  if (head.size() < sizeof(Elf64_Ehdr) || !head.starts_with(ELFMAG)) return elf;
  Elf64_Ehdr header;
  std::memcpy(&header, head.data(), sizeof header);
  elf.is_elf = true;
  elf.has_64_bits = header.e_ident[EI_CLASS] == ELFCLASS64;
  elf.machine = header.e_machine;
  if (!elf.has_64_bits) return elf;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr part;
    if (header.e_phoff > head.size() || at + sizeof part > head.size()) break;
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type != PT_INTERP || part.p_offset >= head.size()) continue;
    elf.loader = head.substr(part.p_offset, std::min<std::size_t>(part.p_filesz, 4096));
    elf.loader = elf.loader.substr(0, elf.loader.find('\0'));
  }
  return elf;
}

Findings about_elf(const System& system, const std::string& path, const Elf& elf) {
  if (!elf.has_64_bits)
    return cannot(path + " has 32 bits, and CUDA has none such", {"nvcc -m64 -o app app.cu"});
  if (elf.machine != own_machine) {
    return cannot(
        path + " is for another processor (ELF machine " + std::to_string(elf.machine) + ")",
        {"uname -m"});
  }
  if (elf.loader.empty()) {
    return cannot(path +
                      " is statically linked, so it can load neither the driver nor the "
                      "collector; only CUDA's runtime may be static",
                  {"nvcc -cudart static -o app app.cu"});
  }
  if (elf.loader.find("ld-musl") != elf.loader.npos) {
    return cannot(path + " uses musl (" + elf.loader + "); the driver and the collector need glibc",
                  {"docker run --gpus all ubuntu"});
  }
  if (!system.exists(elf.loader)) {
    return cannot(path + " needs " + elf.loader + ", which does not exist",
                  {"ldd " + shell_word(path)});
  }
  return ok(path);
}

Findings about_script(const System& system, const std::string& path,
                      std::vector<std::string> words) {
  if (words.empty())
    return cannot(path + " names no interpreter after #!", {"head -1 " + shell_word(path)});
  if (name_in(words[0]) == "env" && words.size() > 1) {
    words.erase(words.begin());
    if (words[0] == "-S" && words.size() > 1) words.erase(words.begin());
  }
  const std::string interpreter = program_at(system, words[0]);
  if (interpreter.empty() && words[0].ends_with('\r')) {
    return cannot(path + " has the line ends of Windows",
                  {"sed -i 's/\\r$//' " + shell_word(path)});
  }
  if (interpreter.empty()) {
    return cannot(path + " needs " + words[0] + ", which was not found",
                  {"head -1 " + shell_word(path)});
  }
  const Elf elf = read_elf(system.text(interpreter, head_bytes).value_or(""));
  if (!elf.is_elf) return ok(path + ", run by " + interpreter);
  Findings found = about_elf(system, interpreter, elf);
  if (found[0].answer == Answer::ok) found[0].text = path + ", run by " + interpreter;
  return found;
}

Findings examine_program(const System& system) {
  const std::string& name = system.program[0];
  const std::string path = program_at(system, name);
  if (path.empty()) {
    if (name.find('/') == name.npos && system.exists(name)) {
      return cannot(name + " is not on PATH, but in this folder", {shell_word("./" + name)});
    }
    return cannot(name + " was not found", {"type -a " + shell_word(name)});
  }
  const unsigned mode = system.mode(path);
  if ((mode & S_IFMT) != S_IFREG)
    return cannot(path + " is not a file", {"ls -ld " + shell_word(path)});
  if (!system.may(path, X_OK)) {
    return cannot(path + " may not be executed", {"chmod +x " + shell_word(path)});
  }
  const auto head = system.text(path, head_bytes);
  if (!head) return unknown(path + " can be executed but not read");
  if (const Elf elf = read_elf(*head); elf.is_elf) return about_elf(system, path, elf);
  if (head->starts_with("#!")) return about_script(system, path, interpreter_of(*head));
  return cannot(path + " is neither a program for Linux nor a script that begins with #!",
                {"file " + shell_word(path)});
}

// Whether the words, before the program that they start, have this one.
bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

Findings examine_its_start(const System& system) {
  const std::vector<std::string>& words = system.program;
  const std::string starter = name_in(words[0]);
  const std::string whole = shell_line(words);
  const std::string rest = shell_line({words.begin() + 1, words.end()});
  constexpr std::array<std::string_view, 4> privileged{"sudo", "doas", "su", "pkexec"};
  constexpr std::array<std::string_view, 6> elsewhere{"docker", "podman",  "kubectl",
                                                      "ssh",    "nerdctl", "systemd-run"};
  if (std::ranges::find(privileged, starter) != privileged.end()) {
    return cannot(starter + " drops the variables that load the collector",
                  {"sudo gpuprof -o run.sqlite " + rest});
  }
  if (std::ranges::find(elsewhere, starter) != elsewhere.end()) {
    return cannot(starter +
                      " starts the program elsewhere, without the variables that load the "
                      "collector: gpuprof belongs there, before the program",
                  {"gpuprof -o run.sqlite ./app"});
  }
  if (starter == "env" &&
      (has_word(words, "-i") || has_word(words, "--ignore-environment") || has_word(words, "-"))) {
    return cannot("env -i drops the variables that load the collector",
                  {"env -i gpuprof -o run.sqlite ./app"});
  }
  if (starter == "srun" && has_word(words, "--export=NONE")) {
    return cannot("--export=NONE drops the variables that load the collector",
                  {replaced_all(whole, "--export=NONE", "--export=ALL")});
  }
  return ok("its environment reaches it");
}

Findings examine_its_privileges(const System& system) {
  const std::string path = program_at(system, system.program[0]);
  if (path.empty()) return {};
  if ((system.mode(path) & (S_ISUID | S_ISGID)) == 0) return ok("it is not setuid");
  return unknown(path +
                     " is setuid or setgid: the loader and CUDA may ignore variables that load "
                     "libraries. A copy is not",
                 {"cp " + shell_word(path) + " ."});
}

}  // namespace

extern const Check program_check{
    .name = "program",
    .question = "Is there such a program, and can it load the collector?",
    .examine = examine_program,
};

extern const Check program_start_check{
    .name = "its-start",
    .question = "Does the environment that loads the collector reach it?",
    .examine = examine_its_start,
};

extern const Check program_privileges_check{
    .name = "its-privileges",
    .question = "Does it start without privileges of its own?",
    .examine = examine_its_privileges,
};

}  // namespace gpuprof::doctor
