#include "libprof/collect/extra/stack_unwinder.hpp"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "libprof/collect/extra/own_memory.hpp"

using namespace gpuprof::collect;

namespace {

using Addresses = std::vector<std::uint64_t>;

// What a signal handler copied, and what the compiler's own unwinder says of the same moment.
struct Interruption {
  Registers registers;
  std::vector<std::byte> stack = std::vector<std::byte>(32 << 10);
  std::size_t bytes = 0;
  std::uint64_t stack_end = 0;
  std::array<std::uint64_t, 256> expected{};
  std::size_t count = 0;
  bool beyond_handler = false;
};
Interruption* taken = nullptr;

_Unwind_Reason_Code take_address(_Unwind_Context* context, void*) {
  int before = 0;
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIPInfo(context, &before));
  // The first frame beyond the handler's is the interrupted one.
  taken->beyond_handler |= before != 0 && address == taken->registers.instruction;
  if (address == 0 || taken->count == taken->expected.size()) return _URC_END_OF_STACK;
  if (taken->beyond_handler) taken->expected[taken->count++] = address - (before ? 0 : 1);
  return _URC_NO_REASON;
}

// Of any frames, which a sanitizer would not expect.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address", "thread")))
#endif
void copy_bytes(std::uint64_t from, void* to, std::size_t bytes) {
  const auto* const source = reinterpret_cast<const volatile unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile unsigned char*>(to)[i] = source[i];
}

std::uint64_t end_of_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uint64_t>(begin) + size;
}

bool read_directly(std::uint64_t from, void* to, std::size_t bytes) {
  copy_bytes(from, to, bytes);
  return true;
}

void interrupt(int, siginfo_t*, void* argument) {
  const auto& context = *static_cast<const ucontext_t*>(argument);
  Registers& registers = taken->registers;
#if defined(__x86_64__)
  constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                           REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                           REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (std::size_t i = 0; i < Registers::count; ++i) {
    registers.values[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[order[i]]);
  }
  registers.instruction = registers.values[16];
#else
  for (std::size_t i = 0; i < 31; ++i) registers.values[i] = context.uc_mcontext.regs[i];
  registers.values[Registers::stack] = context.uc_mcontext.sp;
  registers.instruction = context.uc_mcontext.pc;
#endif
  const std::uint64_t begin = registers.values[Registers::stack];
  taken->bytes = std::min<std::size_t>(taken->stack.size(), taken->stack_end - begin);
  copy_bytes(begin, taken->stack.data(), taken->bytes);
  _Unwind_Backtrace(&take_address, nullptr);
}

[[gnu::noinline]] void raise_deep(int depth) {
  volatile char room[48] = {};
  if (depth > 0) {
    raise_deep(depth - 1);
  } else {
    raise(SIGUSR1);
  }
  room[0] = room[1];
}

[[gnu::noinline]] void raise_aligned() {
  alignas(256) volatile char room[512] = {};
  raise_deep(2);
  room[0] = room[1];
}

int compare_and_raise(const void* a, const void* b) {
  if (taken->count == 0) raise_deep(1);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

class UnwinderTest {
 protected:
  UnwinderTest() {
    modules.look();
    struct sigaction action = {};
    action.sa_sigaction = &interrupt;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, &before);
    taken = &now;
    now.stack_end = end_of_stack();
  }
  ~UnwinderTest() { sigaction(SIGUSR1, &before, nullptr); }

  Addresses unwound() {
    Addresses addresses;
    unwinder.unwind(now.registers, stack(), 0, 0, addresses);
    return addresses;
  }
  StackUnwinder::Stack stack() const {
    return {now.registers.values[Registers::stack], std::span(now.stack).first(now.bytes)};
  }
  Addresses expected() const {
    return {now.expected.begin(), now.expected.begin() + static_cast<std::ptrdiff_t>(now.count)};
  }

  struct sigaction before = {};
  CodeModules modules;
  StackUnwinder unwinder{modules, &read_directly};
  Interruption now;
};

}  // namespace

TEST_CASE_METHOD(UnwinderTest,
                 "a copied stack has the functions that the compiler's unwinder finds", "[tsan]") {
  const int how = GENERATE(0, 1, 2, 3);
  if (how == 0) raise_deep(0);
  if (how == 1) raise_deep(40);
  if (how == 2) raise_aligned();
  if (how == 3) {  // through a function of libc
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(int), &compare_and_raise);
  }
  REQUIRE(now.count > 4);
  const Addresses found = unwound(), all = expected();
  // The copy may end before the stack does.
  REQUIRE(found.size() > 4);
  CHECK(found.size() <= all.size());
  CHECK(std::equal(found.begin(), found.end(), all.begin()));
  if (now.bytes < now.stack.size()) CHECK(found == all);
  // The same again, from what is remembered.
  CHECK(unwound() == found);
}

TEST_CASE_METHOD(UnwinderTest, "unwinding ends where it should") {
  raise_deep(5);
  const Addresses all = unwound();
  Addresses part;
  // At the first address of a range.
  CHECK(unwinder.unwind(now.registers, stack(), all[3], all[3] + 1, part));
  CHECK(part == Addresses(all.begin(), all.begin() + 3));
  CHECK(unwinder.unwind(now.registers, stack(), all[0], all[0] + 1, part));
  CHECK(part.empty());
  // A copy that is cut off.
  std::size_t longest = 0;
  for (std::size_t bytes = 0; bytes < now.bytes; bytes += 40) {
    CHECK_FALSE(
        unwinder.unwind(now.registers, {stack().begin, stack().bytes.first(bytes)}, 0, 0, part));
    CHECK(std::equal(part.begin(), part.end(), all.begin()));
    longest = std::max(longest, part.size());
  }
  CHECK(longest > 5);
}

TEST_CASE_METHOD(UnwinderTest, "stacks and registers that are anything do no harm") {
  raise_deep(5);
  const Addresses all = unwound();
  std::minstd_rand random(7);
  const Registers registers = now.registers;
  const std::vector<std::byte> bytes = now.stack;
  Addresses addresses;
  for (int i = 0; i < 3000; ++i) {
    now.registers = registers;
    now.stack = bytes;
    for (int j = 0; j < 40; ++j) {
      now.stack[random() % 2048] = static_cast<std::byte>(random());
      if (i % 3 == 0) now.registers.values[random() % Registers::count] = random();
    }
    if (i % 5 == 0) now.registers.instruction = all[random() % all.size()] + random() % 8;
    if (i % 7 == 0) now.registers.values[Registers::frame] = stack().begin + random() % 4096;
    unwinder.unwind(now.registers, stack(), 0, 0, addresses);
    REQUIRE(addresses.size() <= StackUnwinder::most_frames);
  }
}

TEST_CASE_METHOD(UnwinderTest, "damaged tables have rules or none", "[kernel_reads]") {
  raise_deep(1);
  const Addresses all = unwound();
  const CodeModule* const module = modules.at(all[1]);
  REQUIRE(module);
  REQUIRE(module->frame_header != 0);
  // What is read for each address, to be damaged.
  std::minstd_rand random(5);
  int damage = 0, found = 0;
  const ReadBytes read = [&](std::uint64_t from, void* to, std::size_t bytes) {
    if (!read_own_memory(getpid(), from, to, bytes)) return false;
    auto* const at = static_cast<unsigned char*>(to);
    for (std::size_t i = 0; i < bytes; ++i) {
      if (damage != 0 && random() % static_cast<unsigned>(damage) == 0)
        at[i] = static_cast<unsigned char>(random());
    }
    return true;
  };
  for (const std::uint64_t address : all) {
    const CodeModule* const its = modules.at(address);
    if (!its || its->frame_header == 0) continue;
    damage = 0;
    REQUIRE(rule_at(its->frame_header, address, read));
    for (damage = 8; damage < 400; ++damage) {
      const auto rule = rule_at(its->frame_header, address, read);
      if (!rule) continue;
      ++found;
      Registers registers = now.registers;
      step_out(*rule, registers, [](std::uint64_t, std::uint64_t& word) {
        word = 7;
        return true;
      });
    }
  }
  CHECK(found > 0);
}

TEST_CASE("frame rules: expressions") {
  // As gcc has them for functions that align their stack, and for the linker's table of procedures.
  FrameRule rule;
  rule.cfa = {FrameRule::How::is_expression, 0, 0};
#if defined(__x86_64__)
  // The address is at -8 of the frame pointer.
  rule.expressions = {{std::byte{0x76}, std::byte{0x78}, std::byte{0x06}}};
  rule.return_register = 16;
  rule.registers[16] = {FrameRule::How::at_offset, 0, -8};
  Registers registers;
  registers.values[6] = 0x1008;
  const std::map<std::uint64_t, std::uint64_t> stack{{0x1000, 0x2000}, {0x1ff8, 0x400123}};
  const ReadWord read = [&](std::uint64_t from, std::uint64_t& word) {
    const auto known = stack.find(from);
    if (known != stack.end()) word = known->second;
    return known != stack.end();
  };
  REQUIRE(step_out(rule, registers, read));
  CHECK(registers.instruction == 0x400123);
  CHECK(registers.values[Registers::stack] == 0x2000);
  // The stack pointer, and 8 more where the last four bits of the address are at least 11.
  rule.expressions = {{std::byte{0x77}, std::byte{0x08}, std::byte{0x80}, std::byte{0x00},
                       std::byte{0x3f}, std::byte{0x1a}, std::byte{0x3b}, std::byte{0x2a},
                       std::byte{0x33}, std::byte{0x24}, std::byte{0x22}}};
  for (const std::uint64_t last : {10, 11}) {
    registers = {};
    registers.values[7] = last == 11 ? 0x1ff0 : 0x1ff8;
    registers.values[16] = 0x400020 + last;
    REQUIRE(step_out(rule, registers, read));
    CHECK(registers.values[Registers::stack] == 0x2000);
  }
#endif
  Registers none;
  rule.expressions = {{std::byte{0x22}}};  // nothing to add
  CHECK_FALSE(step_out(rule, none, [](std::uint64_t, std::uint64_t&) { return true; }));
}
