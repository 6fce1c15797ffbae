#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "libprof/collect/extra/module_symbols.hpp"

using gpuprof::collect::places_of;

// Of this file alone: no other file may use it, and yet it has a name, in whichever namespace the
// file is compiled.
static int doubled(int number) asm("_ZL7doubledi");
[[gnu::noinline]] static int doubled(int number) {
  asm volatile("" ::: "memory");
  return 2 * number;
}

template <class Pointer>
static std::uint64_t address_of(Pointer pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

TEST_CASE("functions of this process by address") {
  const auto heap = std::make_unique<int>(doubled(2));
  const std::uint64_t addresses[] = {address_of(heap.get()), address_of(&doubled),
                                     address_of(&doubled) + 1, address_of(&std::getenv), 0};
  const auto places = places_of(addresses);
  REQUIRE(places.size() == 5);

  SECTION("what is no code has itself alone") {
    for (const std::size_t at : {0u, 4u}) {
      CHECK(places[at].module.empty());
      CHECK(places[at].function.empty());
      CHECK(places[at].offset == addresses[at]);
    }
  }
  SECTION("a function that only its file knows") {
    CHECK(places[1].function == "_ZL7doubledi");
    CHECK(places[2].function == "_ZL7doubledi");
    CHECK(places[2].offset == places[1].offset + 1);
    CHECK(places[1].module == places[2].module);
    CHECK(places[1].module.starts_with('/'));
  }
  SECTION("a function of a library") {
    CHECK(places[3].module.find("libc.so") != std::string::npos);
    CHECK(places[3].function == "getenv");
  }
}

TEST_CASE("no addresses, no places") { CHECK(places_of({}).empty()); }
