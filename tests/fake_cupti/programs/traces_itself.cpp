// Records itself, again and again, as gpuprof.trace() of the Python package does, while two threads
// launch: traces_itself GPUPROF CUPTI ROUNDS [OPTION…]. The files are 0.sqlite, 1.sqlite, … What is
// recorded in each is marked as a range, for those who measure some.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(1);
}

struct Helper {
  pid_t process;
  FILE* answers;
  FILE* words;
};

Helper start(const char* gpuprof, const char* cupti, const std::string& output, char** options) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) fail("no pipe");
  const std::string own = std::to_string(getpid());
  std::vector<const char*> words{gpuprof, "listen", "-o", output.c_str(), "--cupti", cupti};
  for (; *options; ++options) words.push_back(*options);
  words.push_back(own.c_str());
  words.push_back(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    execv(gpuprof, const_cast<char**>(words.data()));
    std::_Exit(127);
  }
  close(to[0]);
  close(from[1]);
  return {process, fdopen(from[0], "r"), fdopen(to[1], "w")};
}

// Of a line of JSON whose texts have nothing to be unescaped.
std::string text_of(const std::string& line, const std::string& name) {
  std::string before = "\"";
  before.append(name).append("\":\"");
  const std::size_t at = line.find(before);
  if (at == line.npos) fail("the helper says: " + line);
  const std::size_t begin = at + before.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

template <class Function>
Function* function(void* library, const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(library, name));
  if (!found) fail(std::string(name) + " is missing");
  return found;
}

void record(const char* gpuprof, const char* cupti, const std::string& output, char** options) {
  const Helper helper = start(gpuprof, cupti, output, options);
  char line[4096] = "";
  if (!std::fgets(line, sizeof line, helper.answers)) fail("the helper says nothing");
  void* library = dlopen(text_of(line, "collector").c_str(), RTLD_NOW);
  if (!library) fail(dlerror());
  const char* why = function<const char*(const char*)>(
      library, "gpuprof_collector_begin")(text_of(line, "socket").c_str());
  if (why) fail(why);
  std::fputs("connected\n", helper.words);
  std::fflush(helper.words);
  function<std::uint64_t(const char*)>(library, "gpuprof_collector_begin_range")("range");
  fake_launch("measured", 20);
  fake_synchronize();
  function<void()>(library, "gpuprof_collector_end_range")();
  function<void()>(library, "gpuprof_collector_end")();
  std::fclose(helper.words);
  std::fclose(helper.answers);
  int status = 0;
  if (waitpid(helper.process, &status, 0) != helper.process || status != 0) {
    fail("the helper ended with " + std::to_string(status));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  fake_kernel_time(10);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&done] {
      while (!done.load()) {
        fake_launch("beside", 1);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  for (int i = 0; i < std::atoi(words[3]); ++i) {
    record(words[1], words[2], std::to_string(i) + ".sqlite", words + 4);
    void* context = fake_context_create();
    fake_context_destroy(context);
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
}
