// lying_python: as a program with Python 3.12 in it, whose memory is not what an interpreter's is:
// thread states, frames, code and texts of random words, which are addresses of each other, of
// nothing, or of places where something ends. It launches after each of its lies; the first thread
// and then another one tell as many. lying_python [SEED [LIES]]: where its random numbers begin,
// and how many lies each thread tells (5000).
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

constexpr std::size_t words = 2048, page_words = 512;
constexpr std::size_t renewed = 8;  // one of that number, in each lie
std::uint64_t* memory = nullptr;    // pages that are there; the next one is not
std::mt19937_64 random_bits;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
unsigned long Py_Version = 0x030c00f0;  // 3.12.0
std::uint64_t PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
std::uint64_t _PyRuntime[64];  // it is not finalizing; for readers from outside
// Asked when something is found to be wrong, it is ending: that is no reason to read nothing any
// more.
int Py_IsFinalizing() { return 1; }
int Py_IsInitialized() { return 1; }
void* PyGILState_GetThisThreadState() { return memory + random_bits() % 8 * 64; }
}
#pragma GCC visibility pop

namespace {

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

std::uint64_t lie() {
  switch (random_bits() % 16) {
    case 0: return random_bits();
    case 1: return random_bits() % 4096;
    case 2: return address_of(memory + words) + random_bits() % 256 - 128;  // the end of the pages
    case 3: return 0xffff800000000000 + random_bits() % 4096 * 8;
    case 4: return address_of(PyCode_Type);
    case 5: return address_of(PyUnicode_Type);
    case 6: return address_of(PyBytes_Type);
    case 7: return random_bits() % 64;
    default: return address_of(memory + random_bits() % words);
  }
}

// For readers from outside: an interpreter, of which the states are threads.
void make_an_interpreter() {
  std::uint64_t* const interpreter = memory + 1024;
  _PyRuntime[40 / 8] = address_of(interpreter);
  interpreter[0] = random_bits() % 4 ? 0 : lie();  // the next one
  interpreter[72 / 8] = address_of(memory);
  interpreter[384 / 8] = address_of(memory + 1200);  // the lock
  for (int i = 0; i < 8; ++i) {
    std::uint64_t* const state = memory + i * 64;
    state[1] = random_bits() % 8 ? address_of(state + 64) : lie();
    state[144 / 8] =
        random_bits() % 2 ? static_cast<std::uint64_t>(syscall(SYS_gettid)) : random_bits() % 70000;
  }
}

// The first half of a lie is an interpreter's memory: a state, a frame, code, texts and lines.
void make_half_a_truth(std::uint64_t thread) {
  std::uint64_t* state = memory;
  for (int i = 0; i < 8; ++i) state[i * 64 + 136 / 8] = thread;
  const auto object = [](std::size_t place, const void* type) {
    memory[place + 1] = address_of(type);
    return memory + place;
  };
  std::uint64_t* const cframe = memory + 600;
  for (int i = 0; i < 8; ++i) state[i * 64 + 56 / 8] = address_of(cframe);
  std::uint64_t* const frame = memory + 640;
  cframe[0] = address_of(frame);
  std::uint64_t* const code = object(700, PyCode_Type);
  frame[0] = address_of(code);
  frame[1] = random_bits() % 4 ? 0 : address_of(frame);  // the caller: none, or itself
  frame[7] = address_of(code) + 192 + random_bits() % 64;
  frame[8] = 0;
  std::uint64_t* const text = object(800, PyUnicode_Type);
  text[2] = random_bits() % 3 ? random_bits() % 64 : lie();  // its length
  text[4] = std::uint64_t{1} << 5 | std::uint64_t{1} << 6 | std::uint64_t{1} << 2;
  code[112 / 8] = code[128 / 8] = address_of(text);
  std::uint64_t* const lines = object(900, PyBytes_Type);
  lines[2] = random_bits() % 3 ? random_bits() % 128 : lie();
  code[136 / 8] = address_of(lines);
}

void lie_and_launch(int times) {
  for (int i = 0; i < times; ++i) {
    // Most words stay the lies that they were, for random numbers take longer than reading them.
    for (std::size_t word = static_cast<std::size_t>(i) % renewed; word < words; word += renewed)
      memory[word] = lie();
    make_half_a_truth(pthread_self());
    make_an_interpreter();
    // Code, texts and lines are read only if the addresses of the code are sound.
    const bool sound = random_bits() % 2;
    constexpr std::size_t of_code[] = {701, 714, 716, 717};
    for (std::uint64_t changes = random_bits() % 8; changes > 0; --changes) {
      const std::size_t place = !sound              ? 600 + random_bits() % 400
                                : random_bits() % 2 ? of_code[random_bits() % 4]
                                                    : 800 + random_bits() % 200;
      memory[place] = lie();
    }
    fake_launch("kernel", 1);
  }
}

}  // namespace

int main(int count, char** arguments) {
  random_bits.seed(count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1);
  constexpr std::size_t bytes = words * sizeof(std::uint64_t);
  void* const pages = mmap(nullptr, bytes + page_words * 8, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 2;
  memory = static_cast<std::uint64_t*>(pages);
  munmap(memory + words, page_words * 8);
  const int lies = count > 2 ? std::atoi(arguments[2]) : 5000;
  lie_and_launch(lies);
  std::thread(lie_and_launch, lies).join();
  return 0;
}
