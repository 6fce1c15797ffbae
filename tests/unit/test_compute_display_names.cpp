// Names of kernels for people, by those of a captured PyTorch run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libprof/compute/display_names.hpp"

using namespace gpuprof::compute;

namespace {

KernelName name(std::string short_form, std::string demangled, std::int64_t id = 1) {
  return {.id = id,
          .value = "_Z" + demangled,
          .demangled = std::move(demangled),
          .short_form = std::move(short_form)};
}

const std::string lambda = "{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::";

const std::vector<KernelName> torch{
    name("Kernel2",
         "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>("
         "cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)"),
    name("vectorized_elementwise_kernel",
         "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
         "launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, "
         "at::native::detail::ClampLimits)::" +
             lambda + "{lambda(float)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"),
    name("vectorized_elementwise_kernel",
         "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"),
    name("vectorized_elementwise_kernel",
         "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
         "std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)"),
    name(
        "vectorized_elementwise_kernel",
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
        "float, at::native::(anonymous namespace)::threshold_kernel_impl<float>("
        "at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}>, std::array<char*, 3ul> "
        ">(int, std::array<char*, 3ul>)"),
    name(
        "kernel",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, true, true, "
        "false, 7, cublasGemvParamsEx<int, float> >(cublasGemvParamsEx<int, float>)"),
    name("kernel",
         "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, true, "
         "false, "
         "false, 7, cublasGemvParamsEx<int, float> >(cublasGemvParamsEx<int, float>)"),
    name("reduce_kernel",
         "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >("
         "at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned "
         "int, float, 4, 4>)"),
    name("reduce_kernel",
         "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
         "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, "
         "4, 4> >()"),
    name("reduce_kernel",
         "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
         "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
         "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, "
         "4, 4> >()"),
    name("splitKreduce_kernel", "void cublasLt::splitKreduce_kernel<32, 16, int>(float*)"),
    {.id = 1, .value = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n", .demangled = "", .short_form = ""},
};

}  // namespace

TEST_CASE("display names: functors and arguments tell kernels of one template apart") {
  CHECK(display_names(torch) == std::vector<std::string>{
                                    "Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
                                    "vectorized_elementwise_kernel<…launch_clamp_scalar…>",
                                    "vectorized_elementwise_kernel<…FillFunctor<float>…>",
                                    "vectorized_elementwise_kernel<…FillFunctor<int>…>",
                                    "vectorized_elementwise_kernel<…BinaryFunctor…>",
                                    "kernel<…true…>",
                                    "kernel<…false…>",
                                    "reduce_kernel<…MeanOps…>",
                                    "reduce_kernel<512…sum_functor…>",
                                    "reduce_kernel<128…sum_functor…>",
                                    "splitKreduce_kernel",
                                    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n",
                                });
}

TEST_CASE("display names: what is alone is short") {
  CHECK(display_names(std::vector{torch[2]}) ==
        std::vector<std::string>{"vectorized_elementwise_kernel"});
  CHECK(display_names(std::vector<KernelName>{}).empty());
}

namespace {

KernelName in_c(std::string value, std::int64_t id = 1) {
  return {.id = id, .value = std::move(value), .demangled = "", .short_form = ""};
}

// cuBLAS's, which have no arguments but words.
std::string gemm(const std::string& layout, const std::string& tile, const std::string& warps) {
  return "sm80_xmma_gemm_f32f32_f32f32_f32_" + layout + "_n_tilesize" + tile + "_stage3_warpsize" +
         warps + "_ffma_aligna4_alignc4_execute_kernel__5x_cublas";
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

TEST_CASE("display names: long names of words are written with those in which they differ") {
  const std::vector<KernelName> gemms{
      in_c(gemm("tn", "128x64x8", "2x2x1")), in_c(gemm("nn", "128x64x8", "2x2x1")),
      in_c(gemm("nt", "128x64x8", "2x2x1")), in_c(gemm("tn", "32x32x8", "1x2x1")),
      in_c(gemm("tn", "64x32x8", "1x2x1")),
  };
  const std::vector<std::string> displays = display_names(gemms);
  CHECK(displays == std::vector<std::string>{
                        "sm80_xmma_gemm…tn…tilesize128x64x8…",
                        "sm80_xmma_gemm…nn…tilesize128x64x8…",
                        "sm80_xmma_gemm…nt…tilesize128x64x8…",
                        "sm80_xmma_gemm…tn…tilesize32x32x8…",
                        "sm80_xmma_gemm…tn…tilesize64x32x8…",
                    });
  for (const std::string& display : displays) CHECK(characters(display) <= 44);
  // Alone it has nothing to differ in.
  CHECK(display_names(std::vector{gemms[0]}) ==
        std::vector<std::string>{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n…"});
}

TEST_CASE("display names: however long names are, theirs are bounded, valid and differ") {
  std::vector<KernelName> names;
  std::string same = "triton";
  for (int i = 0; i < 100; ++i) same += "_add";
  for (int i = 0; i < 200; ++i) {
    names.push_back(in_c(std::string(3000, 'x') + std::to_string(i)));
    names.push_back(in_c(same + "_" + std::to_string(i) + same));
    names.push_back(in_c(std::string(static_cast<std::size_t>(i) + 400, '_')));
    std::string wide;
    for (int j = 0; j < 150 + i; ++j) wide += "ä_";
    names.push_back(in_c(wide));
    names.push_back(name("f", "void f<" + same + std::to_string(i) + ">()"));
  }
  for (std::size_t i = 0; i < names.size(); ++i) names[i].id = static_cast<std::int64_t>(i) + 1;
  const std::vector<std::string> displays = display_names(names);
  CHECK(std::set(displays.begin(), displays.end()).size() == names.size());
  for (const std::string& display : displays) {
    CHECK(!display.empty());
    CHECK(display.size() <= most_display_bytes);
    CHECK((static_cast<unsigned char>(display[0]) & 0xc0) != 0x80);
  }
}

TEST_CASE("display names: whatever the names are, no two are the same, in any order") {
  std::vector<KernelName> names = torch;
  const char* odd[][2] = {
      {"f", "void f<1, 2>()"},
      {"f", "void f<2, 1>()"},
      {"f", "void a::f<2, 1>()"},
      {"f", "void f<>"},
      {"f", "f"},
      {"", "f<((("},
      {"g", "void g(int)"},
      {"g", "void g(float)"},
      {"g", "void g(int, float)"},
      {"", ""},
      {"h", "void nothing()"},
      {"f", "void f<…1…>()"},
      {"f<1…>", "f<1…>"},
      {">>", ">> > )))"},
      {"f", "void f<>>>>"},
  };
  for (const auto& [short_form, demangled] : odd) names.push_back(name(short_form, demangled));
  names.push_back(names.back());  // the same texts with another id
  for (std::size_t i = 0; i < names.size(); ++i) names[i].id = static_cast<std::int64_t>(i) + 1;
  const std::vector<std::string> displays = display_names(names);
  CHECK(std::set(displays.begin(), displays.end()).size() == names.size());

  std::mt19937 random(3);
  std::vector<std::size_t> order(names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<KernelName> shuffled;
  for (const std::size_t i : order) shuffled.push_back(names[i]);
  const std::vector<std::string> again = display_names(shuffled);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(again[i] == displays[order[i]]);
}
