#include <catch2/catch.hpp>

#include "libprof/names/demangle.hpp"

using gpuprof::demangled;
using gpuprof::short_name;

TEST_CASE("mangled names become readable, others stay") {
  CHECK(demangled("_Z10vector_addPKfS0_Pfi") ==
        "vector_add(float const*, float const*, float*, int)");
  CHECK(demangled("_ZN2at6native6reduceILi4EEEvi") == "void at::native::reduce<4>(int)");
  CHECK(demangled("f") == "f");  // not float
  CHECK(demangled("main") == "main");
  CHECK(demangled("").empty());
  CHECK(demangled("_Z") == "_Z");
  CHECK(demangled("_Z9short") == "_Z9short");
  CHECK(demangled("ampere_sgemm_128x64_tn") == "ampere_sgemm_128x64_tn");
  CHECK(demangled(std::string(100'000, '_')) == std::string(100'000, '_'));
  CHECK(demangled("_Z" + std::string(100'000, 'P')) == "_Z" + std::string(100'000, 'P'));
}

TEST_CASE("the function's own name") {
  CHECK(short_name("vector_add(float const*, float const*, float*, int)") == "vector_add");
  CHECK(short_name("void at::native::reduce<4>(int)") == "reduce");
  CHECK(short_name("kernel") == "kernel");
  CHECK(short_name("").empty());
  CHECK(short_name("void (anonymous namespace)::work<float>(float*)") == "work");
  CHECK(short_name("void a::b<c::d<int>, e(f)>::g<std::pair<h, i> >(j<k>*) const") == "g");
  CHECK(short_name("std::pair<int, long> ns::make<int, long>(int, long)") == "make");
  CHECK(short_name("foo(int) [clone .constprop.0]") == "foo");
  CHECK(short_name("main::{lambda(int)#1}::operator()(int) const") == "operator()");
  CHECK(short_name("f(g::operator()(int))") == "f");
  CHECK(short_name("void at::native::elementwise_kernel<128, 2, "
                   "at::native::copy(at::T&)::{lambda()#3}::operator()() const::{lambda()#1}>(int, "
                   "at::native::copy(at::T&)::{lambda()#3}::operator()() const::{lambda()#1})") ==
        "elementwise_kernel");
  CHECK(short_name("void my_operators(int)") == "my_operators");
  CHECK(short_name("void operators<int>(int)") == "operators");
  CHECK(short_name("void ns::apply<ns::Less, (ns::Mode)3>(int*, unsigned long)") == "apply");
  CHECK(short_name("void shift<(1 << 3)>(int)") == "shift");
  CHECK(short_name("void pick<(8 > 4)>(int)") == "pick");
  CHECK(short_name(")>}{<(").size() > 0);
}

TEST_CASE("operators keep their signs in the short name") {
  CHECK(short_name("V operator<< <int>(V, int)") == "operator<<");
  CHECK(short_name("bool ns::operator<(V const&, V const&)") == "operator<");
  CHECK(short_name("ns::V::operator->() const") == "operator->");
}
