#include "libprof/collect/extra/stack_unwinder.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <tuple>
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
  const Addresses unwound_now = unwound(), all = expected();
  Addresses found = unwound_now;
#ifdef __aarch64__
  // There the compiler's leaves out the program's first function, which no rules say how to unwind.
  if (found.size() == all.size() + 1) {
    CHECK(found.back() - getauxval(AT_ENTRY) < 256);
    found.pop_back();
  }
#endif
  // The copy may end before the stack does.
  REQUIRE(found.size() > 4);
  CHECK(found.size() <= all.size());
  CHECK(std::equal(found.begin(), found.end(), all.begin()));
  if (now.bytes < now.stack.size()) CHECK(found == all);
  // The same again, from what is remembered.
  CHECK(unwound() == unwound_now);
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

namespace {

// A module's tables at some addresses, with one function that begins at `code`.
class MadeTables {
 public:
  static constexpr std::uint64_t header = 0x10000, code = 0x20000;

  // `common`: what follows the version of the common entry; `own`: the function's instructions.
  MadeTables(std::vector<unsigned char> common, std::vector<unsigned char> own,
             unsigned char pointers = 0x00) {
    constexpr std::uint32_t common_at = 0x100;
    common.insert(common.begin(), 1);
    const auto function_at = static_cast<std::uint32_t>(common_at + 8 + common.size());
    put(0, {1, 0x1b, 0x03, 0x3b});
    put_word(4, 0);
    put_word(8, 1);
    put_word(12, code - header);
    put_word(16, function_at);
    put_word(common_at, static_cast<std::uint32_t>(4 + common.size()));
    put_word(common_at + 4, 0);
    put(common_at + 8, common);
    std::vector<unsigned char> function;
    const std::uint64_t place = header + function_at + 8;
    for (const std::uint64_t value : {(pointers & 0x10) ? code - place : code, std::uint64_t{64}}) {
      for (int i = 0; i < 8; ++i) function.push_back(static_cast<unsigned char>(value >> 8 * i));
    }
    function.push_back(0);  // the size of what is added
    function.insert(function.end(), own.begin(), own.end());
    put_word(function_at, static_cast<std::uint32_t>(4 + function.size()));
    put_word(function_at + 4, function_at + 4 - common_at);
    put(function_at + 8, function);
  }

  std::optional<FrameRule> rule(std::uint64_t offset = 8) const {
    return rule_at(header, code + offset, [this](std::uint64_t from, void* to, std::size_t bytes) {
      if (from < header || from - header > bytes_.size() ||
          bytes > bytes_.size() - (from - header)) {
        return false;
      }
      std::memcpy(to, bytes_.data() + (from - header), bytes);
      return true;
    });
  }

 private:
  void put(std::size_t at, const std::vector<unsigned char>& bytes) {
    bytes_.resize(std::max(bytes_.size(), at + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void put_word(std::size_t at, std::uint32_t word) {
    put(at, {static_cast<unsigned char>(word), static_cast<unsigned char>(word >> 8),
             static_cast<unsigned char>(word >> 16), static_cast<unsigned char>(word >> 24)});
  }

  std::vector<unsigned char> bytes_;
};

// Letters, units of 1 and -8, return register 16; then what the letters have; the CFA is the stack
// pointer and 8.
std::vector<unsigned char> common_of(std::string_view letters, std::vector<unsigned char> theirs) {
  std::vector<unsigned char> bytes(letters.begin(), letters.end());
  for (const unsigned char byte : {0x00, 0x01, 0x78, 0x10}) bytes.push_back(byte);
  bytes.push_back(static_cast<unsigned char>(theirs.size()));
  bytes.insert(bytes.end(), theirs.begin(), theirs.end());
  for (const unsigned char byte : {0x0c, 0x07, 0x08}) bytes.push_back(byte);
  return bytes;
}

}  // namespace

TEST_CASE("frame rules: what a common entry may have") {
  // The return address is at -1 unit.
  const auto rule = MadeTables(common_of("zR", {0x00}), {0x90, 0x01}).rule();
  REQUIRE(rule);
  CHECK(rule->cfa == FrameRule::Value{FrameRule::How::is_offset, 7, 8});
  CHECK(rule->registers[16] == FrameRule::Value{FrameRule::How::at_offset, 0, -8});
  CHECK_FALSE(MadeTables(common_of("zR", {0x00}), {}).rule(64));
  CHECK(MadeTables(common_of("zR", {0x10}), {}, 0x10).rule());
  // A letter that is not known, and what it has.
  const auto passed_over = MadeTables(common_of("zRX", {0x00, 0x0f, 0xff, 0xff}), {}).rule();
  REQUIRE(passed_over);
  CHECK(passed_over->cfa == rule->cfa);
  // No function for exceptions; one that is somewhere else.
  CHECK(MadeTables(common_of("zPR", {0xff, 0x00}), {}).rule());
  CHECK(MadeTables(common_of("zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x00}), {}).rule());
  // A pointer to the pointer.
  CHECK_FALSE(MadeTables(common_of("zR", {0x80}), {}).rule());
  // A size beyond the entry.
  auto beyond = common_of("zR", {0x00});
  beyond[7] = 0x7f;
  CHECK_FALSE(MadeTables(beyond, {}).rule());
}

TEST_CASE("frame rules: numbers and lengths that no function has") {
  const std::vector<unsigned char> most{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  const auto with = [&](std::vector<unsigned char> code, int numbers = 1) {
    for (int i = 0; i < numbers; ++i) code.insert(code.end(), most.begin(), most.end());
    return MadeTables(common_of("zR", {0x00}), code).rule();
  };
  // Offsets in units; registers.
  CHECK(with({0x90}));
  CHECK(with({0x05, 0x10}));
  CHECK(with({0x14, 0x10}));
  CHECK(with({0x13}));
  CHECK(with({0x12, 0x07}));
  const std::vector<unsigned char> least{0x80, 0x80, 0x80, 0x80, 0x80,
                                         0x80, 0x80, 0x80, 0x80, 0x7f};
  std::vector<unsigned char> code{0x11, 0x10};
  code.insert(code.end(), least.begin(), least.end());
  CHECK(MadeTables(common_of("zR", {0x00}), code).rule());
  CHECK(with({0x05}, 2));
  CHECK_FALSE(with({0x0d}));
  // A block; a place.
  CHECK_FALSE(with({0x0f}));
  CHECK_FALSE(with({0x10, 0x06}));
  CHECK(with({0x04, 0xff, 0xff, 0xff, 0xff}, 0));
  // Expressions that are kept with the rule: as many as a signal's frame has, and far more.
  for (const auto& [count, size, there] :
       {std::tuple(18, 8, true), std::tuple(500, 8, false), std::tuple(1, 2000, false)}) {
    std::vector<unsigned char> many;
    for (int i = 0; i < count; ++i) {
      for (const int byte : {0x10, 0x06, (size & 0x7f) | 0x80, size >> 7}) {
        many.push_back(static_cast<unsigned char>(byte));
      }
      many.insert(many.end(), static_cast<std::size_t>(size), 0x96);
    }
    CHECK(MadeTables(common_of("zR", {0x00}), many).rule().has_value() == there);
  }
  // States that are kept and come back: too many, and one too few.
  CHECK_FALSE(with(std::vector<unsigned char>(1000, 0x0a), 0));
  CHECK_FALSE(with({0x0b}, 0));
}
